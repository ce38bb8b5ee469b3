#!/usr/bin/env bash
# SetFit 1.2.0 (sentence-transformers 6.2.0, transformers 5.24.0, torch 2.13.0): a model saved in fp16 is
# trained in fp16.
#
# Since transformers 5 a folder loads in the precision of its file; in version 4 it was fp32. SetFit
# passes these weights to AdamW without a copy in fp32, a scaler or a word. At its default rate of 2e-5
# a step can be less than half the distance of neighbouring fp16 numbers, and is lost: after 16 steps a
# tenth of the weights are as they were. With `model.model_body.float()` before the training all learn.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 transformers==5.24.0 sentence-transformers==6.2.0 \
  setfit==1.2.0 datasets==5.2.0 2> /dev/null
cd "$folder"
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" -W ignore - 2> /dev/null <<'PYTHON' | grep ^result
import torch
from datasets import Dataset
from setfit import SetFitModel, Trainer, TrainingArguments
from transformers import BertConfig, BertModel, BertTokenizerFast

open("vocab.txt", "w").write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]))
BertTokenizerFast("vocab.txt").save_pretrained("model")
torch.manual_seed(0)
sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
BertModel(BertConfig(vocab_size=13, initializer_range=0.1, **sizes)).half().save_pretrained("model")
rows = Dataset.from_dict({"text": ["a b", "a c", "d e", "f g"], "label": [0, 0, 1, 1]})
changed = {}
for name in ("as loaded", "with float()"):
    model = SetFitModel.from_pretrained("model")
    if name == "with float()":
        model.model_body.float()
    layers = {n: p for n, p in model.model_body.named_parameters() if "layer.0" in n and p.ndim == 2}
    before = {n: p.detach().clone() for n, p in layers.items()}
    arguments = TrainingArguments(
        output_dir="out", num_iterations=8, batch_size=4, report_to="none", save_strategy="no"
    )
    Trainer(model=model, args=arguments, train_dataset=rows).train()
    after = {n: p for n, p in model.model_body.named_parameters() if n in before}
    count = sum(p.numel() for p in before.values())
    same = sum(int((after[n].cpu() == p).sum()) for n, p in before.items())
    precision = next(model.model_body.parameters()).dtype
    changed[name] = 1 - same / count
    print(f"result: {name}: {precision}, {changed[name]:.0%} of the weights of the layer changed")
assert changed["as loaded"] < 0.95 < changed["with float()"]
PYTHON
# Output seen:
# result: as loaded: torch.float16, 89% of the weights of the layer changed
# result: with float(): torch.float32, 100% of the weights of the layer changed
