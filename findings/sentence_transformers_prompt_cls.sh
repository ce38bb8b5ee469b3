#!/usr/bin/env bash
# sentence-transformers 5.2.0 (transformers 4.57.3) and 6.2.0 (transformers 5.24.0), torch 2.13.0: one
# folder, two vectors.
#
# With pooling "cls" and include_prompt false, version 5 takes the vector of [CLS], as if the prompt were
# pooled; version 6 takes that of the first token behind the prompt. Version 5 also cuts white space at
# both ends of a text, and 6 does not, which a byte-level BPE sees. Neither is stated in the folder, whose
# files are read without a word by both.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for number in 5.2.0 6.2.0; do
  python3 -m venv "venv$number"
  transformers=$([ "$number" = 5.2.0 ] && echo 4.57.3 || echo 5.24.0)
  "venv$number/bin/pip" install -q torch==2.13.0 "sentence-transformers==$number" \
    "transformers==$transformers" 2> /dev/null
done
cat > write.py <<'PYTHON'
import json

import torch
import transformers
from sentence_transformers import SentenceTransformer, models

def bert(folder):
    open("vocab.txt", "w").write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ask", "a", "b"]))
    transformers.BertTokenizerFast("vocab.txt").save_pretrained(folder)
    return transformers.BertConfig(vocab_size=8), transformers.BertModel

def roberta(folder):
    letters = [*map(chr, range(33, 127)), "Ġ"]
    names = ["<s>", "<pad>", "</s>", "<unk>", *letters, "<mask>"]
    json.dump({name: n for n, name in enumerate(names)}, open("vocab.json", "w"))
    open("merges.txt", "w").write("#version: 0.2\n")
    transformers.RobertaTokenizerFast("vocab.json", "merges.txt").save_pretrained(folder)
    return transformers.RobertaConfig(vocab_size=len(names), type_vocab_size=1), transformers.RobertaModel

for folder, make, pooling in (("prompt", bert, "cls"), ("spaces", roberta, "mean")):
    config, kind = make(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    for name, value in {**sizes, "initializer_range": 1.0}.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    kind(config).save_pretrained(folder)
    parts = [models.Transformer(folder), models.Pooling(16, pooling, include_prompt=False)]
    prompts = {"prompts": {"query": "ask "}, "default_prompt_name": "query"} if folder == "prompt" else {}
    SentenceTransformer(modules=parts, device="cpu", **prompts).save(f"{folder}-saved")
PYTHON
cat > read.py <<'PYTHON'
import json
import sys

from sentence_transformers import SentenceTransformer

texts = {"prompt": "a b", "spaces": "a "}
found = {
    folder: SentenceTransformer(f"{folder}-saved", device="cpu").encode(text).tolist()
    for folder, text in texts.items()
}
json.dump(found, open(sys.argv[1], "w"))
PYTHON
venv5.2.0/bin/python write.py > /dev/null 2>&1
for number in 5.2.0 6.2.0; do "venv$number/bin/python" read.py "$number.json" 2> /dev/null; done
venv6.2.0/bin/python - <<'PYTHON'
import json

first, second = (json.load(open(f"{number}.json")) for number in ("5.2.0", "6.2.0"))
for folder in first:
    apart = max(abs(a - b) for a, b in zip(first[folder], second[folder]))
    print(f"{folder}: the vectors differ by {apart:.2f}")
    assert apart > 0.01
PYTHON
# Output seen:
# prompt: the vectors differ by 0.40
# spaces: the vectors differ by 0.51
