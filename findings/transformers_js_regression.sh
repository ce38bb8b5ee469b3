#!/usr/bin/env bash
# @huggingface/transformers 3.8.1 (Node): the pipeline says 1 for every text of a regression model.
#
# "text-classification" takes a softmax of the logits unless `problem_type` is
# "multi_label_classification"; of a single number, a softmax is 1. `num_labels` and
# `problem_type: "regression"` in config.json are not looked at, while the pipeline of transformers in
# Python gives the number itself. The logits of the model are right.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.19.1 tokenizers==0.22.1 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
import pathlib

import onnx
import tokenizers
from onnx import TensorProto, helper

folder = pathlib.Path("model")
(folder / "onnx").mkdir(parents=True)
# the number of tokens, as the only output
inputs = ["input_ids", "attention_mask", "token_type_ids"]
graph = helper.make_graph(
    [
        helper.make_node("Cast", ["attention_mask"], ["ones"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ones", "axes"], ["logits"], keepdims=1),
    ],
    "g",
    [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in inputs],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 1])],
    [helper.make_tensor("axes", TensorProto.INT64, [1], [1])],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
onnx.checker.check_model(model)
onnx.save(model, folder / "onnx" / "model.onnx")
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "film"]
tokenizer = tokenizers.BertWordPieceTokenizer({word: index for index, word in enumerate(words)})
tokenizer.save(str(folder / "tokenizer.json"))
(folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "model_max_length": 512}')
config = {"model_type": "bert", "num_labels": 1, "problem_type": "regression", "id2label": {"0": "LABEL_0"}}
(folder / "config.json").write_text(json.dumps(config))
PYTHON
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/transformers@3.8.1 > /dev/null 2>&1
cat > show.mjs <<'JAVASCRIPT'
import {AutoModelForSequenceClassification, AutoTokenizer, env, pipeline} from '@huggingface/transformers';

env.allowRemoteModels = false;
env.localModelPath = './';
const options = {dtype: 'fp32'};
const classify = await pipeline('text-classification', 'model', options);
const tokenizer = await AutoTokenizer.from_pretrained('model');
const model = await AutoModelForSequenceClassification.from_pretrained('model', options);
for (const text of ['good', 'good film film']) {
    const [{score}] = await classify(text);
    const {logits} = await model(await tokenizer(text));
    console.log(text, '| pipeline:', score, '| logits:', logits.data[0]);
    if (score !== 1 || logits.data[0] !== text.split(' ').length + 2) process.exit(1);
}
JAVASCRIPT
node show.mjs
# Output seen:
# good | pipeline: 1 | logits: 3
# good film film | pipeline: 1 | logits: 5
