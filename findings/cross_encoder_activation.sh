#!/usr/bin/env bash
# sentence-transformers 6.2.0, transformers 5.24.0, torch 2.13.0: two files of one CrossEncoder state
# different activations.
#
# A cross-encoder of version 4 states its activation in config.json. Version 6 writes it into
# config_sentence_transformers.json and leaves the old entry in config.json as it was. So a model that
# was loaded with another activation and saved says Sigmoid in one file and Identity in the other; the
# second counts for version 6, the first for everything that reads config.json. And the pipeline of
# transformers reads neither: with one output it applies a sigmoid unless problem_type is "regression".
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 sentence-transformers==6.2.0 transformers==5.24.0 2> /dev/null
cd "$folder"
cat > activation.py <<'PYTHON'
import json

import torch
import transformers
from sentence_transformers import CrossEncoder

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
with open("vocab.txt", "w") as file:
    file.write("\n".join(words))
torch.manual_seed(0)
config = transformers.BertConfig(vocab_size=len(words), hidden_size=16, num_hidden_layers=1,
    num_attention_heads=2, intermediate_size=16, num_labels=1, initializer_range=1.0)
config.sentence_transformers = {"activation_fn": "torch.nn.modules.activation.Sigmoid"}
transformers.BertForSequenceClassification(config).save_pretrained("old")
transformers.BertTokenizer("vocab.txt").save_pretrained("old")
CrossEncoder("old", activation_fn=torch.nn.Identity(), device="cpu").save_pretrained("new")
stated = json.load(open("new/config.json"))["sentence_transformers"]["activation_fn"]
saved = json.load(open("new/config_sentence_transformers.json"))["activation_fn"]
print("config.json:", stated, "| config_sentence_transformers.json:", saved)
assert stated.endswith("Sigmoid") and saved.endswith("Identity")
number = float(CrossEncoder("new", device="cpu").predict([("a", "b")])[0])
pipe = transformers.pipeline("text-classification", model="new", device="cpu")
score = pipe({"text": "a", "text_pair": "b"})["score"]
print(f"CrossEncoder {number:.3f}, pipeline {score:.3f}, sigmoid of the first {torch.tensor(number).sigmoid():.3f}")
assert abs(score - number) > 0.01 and abs(score - float(torch.tensor(number).sigmoid())) < 1e-5
PYTHON
venv/bin/python activation.py 2> /dev/null
# Output seen:
# config.json: torch.nn.modules.activation.Sigmoid | config_sentence_transformers.json: torch.nn.modules.linear.Identity
# CrossEncoder 1.675, pipeline 0.842, sigmoid of the first 0.842
