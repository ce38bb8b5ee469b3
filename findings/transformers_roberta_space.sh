#!/usr/bin/env bash
# transformers 2.11.0 and 5.24.0, torch 2.13.0: the same RoBERTa folder, other tokens of the first word.
#
# RobertaTokenizer of 2.x put a space before a text whenever it added special tokens; since 3.0 it does so
# only with add_prefix_space. The folder that 2.x saves says nothing about it, so a model that was
# fine-tuned there reads every first word ("Ġthe") otherwise ("the") in all later versions. And 2.2 wrote
# neither model_type nor architectures: its RoBERTa folder looks like one of BERT.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv old
old/bin/pip install -q torch==2.13.0 numpy==1.26.4 regex requests tqdm filelock packaging six \
  sacremoses==0.1.1 sentencepiece tokenizers==0.13.3 boto3 2> /dev/null
python3 -m venv new
new/bin/pip install -q torch==2.13.0 transformers==5.24.0 2> /dev/null
cat > write.py <<'PYTHON'
import json
import os

from transformers import RobertaConfig, RobertaModel, RobertaTokenizer

letters = [*map(chr, range(33, 127)), "Ġ"]
names = ["<s>", "<pad>", "</s>", "<unk>", *letters, "<mask>"]
json.dump({name: n for n, name in enumerate(names)}, open("vocab.json", "w"))
open("merges.txt", "w").write("#version: 0.2\n")
os.makedirs("saved", exist_ok=True)
tokenizer = RobertaTokenizer("vocab.json", "merges.txt")
tokenizer.save_pretrained("saved")
config = RobertaConfig()
for name, value in {"vocab_size": len(names), "hidden_size": 8, "num_hidden_layers": 1,
                    "num_attention_heads": 2, "intermediate_size": 8}.items():
    setattr(config, name, value)
RobertaModel(config).save_pretrained("saved")
print(json.dumps(tokenizer.convert_ids_to_tokens(tokenizer.encode("the"))))
PYTHON
for number in 2.11.0 2.2.2; do
  old/bin/pip install -q --no-deps "transformers==$number" 2> /dev/null
  old/bin/python write.py 2> /dev/null | tail -n 1 > "$number.json"
  cp saved/config.json "config-$number.json"
done
new/bin/python - <<'PYTHON' 2> /dev/null
import json

from transformers import RobertaTokenizer

tokens = RobertaTokenizer.from_pretrained("saved").tokenize("the")
before = json.load(open("2.11.0.json"))
config = json.load(open("config-2.2.2.json"))
print("2.11.0:", before, "| 5.24.0:", tokens)
print("2.2.2 states:", [name for name in ("model_type", "architectures") if name in config])
assert "Ġ" in before and "Ġ" not in tokens
assert not {"model_type", "architectures"} & config.keys()
PYTHON
# Output seen:
# 2.11.0: ['<s>', 'Ġ', 't', 'h', 'e', '</s>'] | 5.24.0: ['t', 'h', 'e']
# 2.2.2 states: []
