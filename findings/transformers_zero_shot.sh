#!/usr/bin/env bash
# transformers 5.24.0, torch 2.13.0: the zero-shot pipeline takes the first or the last output of an
# NLI model for contradiction, whatever its name.
#
# Entailment is found by its name in label2id. Contradiction is output 0, or the last one if
# entailment is output 0. For a model with the labels entailment, contradiction, neutral, several
# labels (multi_label=True) are therefore scored against “neutral”, without a warning. If no label
# begins with “entail”, as with LABEL_0, LABEL_1, LABEL_2, the last output counts as entailment, and
# a line in the log says so.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 transformers==5.24.0 2> /dev/null
cd "$folder"
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON' 2> /dev/null
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertTokenizerFast,
    pipeline,
)

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "is", "wet", "dry", "it"]
with open("vocab.txt", "w", encoding="utf-8") as file:
    file.write("\n".join(words) + "\n")
tokenizer = BertTokenizerFast("vocab.txt", model_max_length=32)
found = {}
for labels in (
    ("contradiction", "neutral", "entailment"),
    ("entailment", "contradiction", "neutral"),
    ("LABEL_0", "LABEL_1", "LABEL_2"),
):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, initializer_range=0.5, id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
    )  # fmt: skip
    model = BertForSequenceClassification(config).eval()
    pipe = pipeline("zero-shot-classification", model=model, tokenizer=tokenizer)
    score = pipe("rain is wet", ["it is wet"], hypothesis_template="{}", multi_label=True)["scores"][0]
    with torch.no_grad():
        logits = model(**tokenizer("rain is wet", "it is wet", return_tensors="pt")).logits[0]
    by_pair = {
        f"{labels[a]} against {labels[b]}": float(torch.softmax(logits[[a, b]], 0)[0])
        for a in range(3)
        for b in range(3)
        if a != b
    }
    used = [names for names, p in by_pair.items() if abs(p - score) < 1e-6]
    print(", ".join(labels), "->", round(float(score), 4), "is", " or ".join(used))
    found[labels] = used
assert found["contradiction", "neutral", "entailment"] == ["entailment against contradiction"]
assert found["entailment", "contradiction", "neutral"] == ["entailment against neutral"]
assert found["LABEL_0", "LABEL_1", "LABEL_2"] == ["LABEL_2 against LABEL_0"]
PYTHON
# Output seen:
# contradiction, neutral, entailment -> 0.589 is entailment against contradiction
# entailment, contradiction, neutral -> 0.411 is entailment against neutral
# LABEL_0, LABEL_1, LABEL_2 -> 0.589 is LABEL_2 against LABEL_0
