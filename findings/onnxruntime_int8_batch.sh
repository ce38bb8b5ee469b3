#!/usr/bin/env bash
# onnxruntime 1.23.2, onnx 1.19.1: with dynamic int8, an answer depends on the other rows of its batch.
#
# quantize_dynamic scales the activations of a MatMul by the smallest and largest number of the whole
# tensor, with all rows of the batch, although the weights have a scale for each column
# (per_channel=True). A row with large numbers makes the others coarse: the same input has another
# output in another batch, so results depend on batch size and order. In float32 they do not.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnxruntime==1.23.2 onnx==1.19.1 numpy==2.3.5 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - 2> /dev/null <<'PYTHON'
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

rng = np.random.default_rng(0)
weights = rng.normal(0, 0.1, (64, 8)).astype(np.float32)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"])],
    "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])],
    [numpy_helper.from_array(weights, "w")],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
onnx.save(model, "float32.onnx")
quantize_dynamic("float32.onnx", "int8.onnx", per_channel=True, weight_type=QuantType.QInt8)
row = rng.normal(size=(1, 64)).astype(np.float32)
pair = np.concatenate([row, 8 * rng.normal(size=(1, 64)).astype(np.float32)])
for name in ("float32", "int8"):
    session = onnxruntime.InferenceSession(f"{name}.onnx")
    alone, among = (session.run(None, {"x": x})[0][0] for x in (row, pair))
    difference = float(np.abs(alone - among).max() / np.abs(alone).max())
    print(name, "largest difference of one row, alone and with another:", f"{difference:.1e}")
    assert difference < 1e-5 if name == "float32" else difference > 0.01
PYTHON
# Output seen:
# float32 largest difference of one row, alone and with another: 0.0e+00
# int8 largest difference of one row, alone and with another: 3.0e-02
