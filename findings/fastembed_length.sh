#!/usr/bin/env bash
# fastembed 0.9.1: a model whose tokenizer_config.json states no length cannot be loaded.
#
# fastembed truncates by `model_max_length` of tokenizer_config.json and does not fall back to
# `max_position_embeddings` of config.json. A folder without it raises a ValueError, and so does one
# with 1e30, which transformers itself writes where the length is unknown. If there is a `max_length`
# too, as some tokenizers keep of their last call, the smaller one counts. The same folders are read
# by transformers, which then truncates nothing.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q fastembed==0.9.1 onnx==1.19.1 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - 2> /dev/null <<'PYTHON'
import json
import pathlib

import onnx
import tokenizers
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from onnx import TensorProto, helper

folder = pathlib.Path("model")
folder.mkdir()
# the vector of a text is its number of tokens
inputs = ["input_ids", "attention_mask", "token_type_ids"]
graph = helper.make_graph(
    [
        helper.make_node("Cast", ["attention_mask"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ones", "axes"], ["vector"], keepdims=1),
    ],
    "g",
    [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in inputs],
    [helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["n", 1])],
    [helper.make_tensor("axes", TensorProto.INT64, [1], [1])],
)
onnx.save(
    helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
    folder / "model.onnx",
)
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
backend = tokenizers.BertWordPieceTokenizer({word: index for index, word in enumerate(words)})
backend.save(str(folder / "tokenizer.json"))
config = {"model_type": "bert", "pad_token_id": 0, "max_position_embeddings": 512}
(folder / "config.json").write_text(json.dumps(config))
(folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}))
TextEmbedding.add_custom_model(
    "own/model",
    pooling=PoolingType.DISABLED,
    normalization=False,
    sources=ModelSource(hf="own/model"),
    dim=1,
    model_file="model.onnx",
)
lengths = ({}, {"model_max_length": 10**30}, {"model_max_length": 512}, {"model_max_length": 512, "max_length": 128})
seen = []
for length in lengths:
    (folder / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[PAD]", **length}))
    try:
        model = TextEmbedding("own/model", specific_model_path=str(folder))
        seen.append(int(next(iter(model.embed(["a " * 1000])))[0]))
    except ValueError as error:
        seen.append(str(error).partition(" for ")[0])
    print(length, "->", seen[-1])
assert seen == ["Could not determine the maximum context length"] * 2 + [512, 128]
PYTHON
# Output seen:
# {} -> Could not determine the maximum context length
# {'model_max_length': 1000000000000000000000000000000} -> Could not determine the maximum context length
# {'model_max_length': 512} -> 512
# {'model_max_length': 512, 'max_length': 128} -> 128
