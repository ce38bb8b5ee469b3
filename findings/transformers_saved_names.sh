#!/usr/bin/env bash
# transformers 5.24.0, torch 2.13.0: the file that save_pretrained writes has other tensors than
# state_dict.
#
# Version 5 renames, joins and splits tensors while it loads and undoes this while it saves. Of NomicBERT
# and GTE the query, key and value matrices are three tensors in state_dict and one in the file, and
# layers, norms and projections have other names there; of BERT file and state_dict are equal. So code
# that lists the keys of a model to know those of its file, or gives the file to load_state_dict, finds
# few of them, and strict=False leaves the layers at random without a word.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 transformers==5.24.0 2> /dev/null
cd "$folder"
cat > names.py <<'PYTHON'
import torch
import transformers
from safetensors.torch import load_file

sizes = dict(vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
for name, expected in (("Bert", (37, 37, 37)), ("NomicBert", (26, 22, 2)), ("Gte", (36, 26, 4))):
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}Model")(
        getattr(transformers, f"{name}Config")(**sizes), add_pooling_layer=False)
    model.save_pretrained(name)
    file, own = load_file(f"{name}/model.safetensors"), model.state_dict()
    counts = len(own), len(file), len(file.keys() & own.keys())
    other = type(model)(model.config, add_pooling_layer=False)
    other.load_state_dict(file, strict=False)
    same = sum(torch.equal(own[key], value) for key, value in other.state_dict().items())
    again = type(model).from_pretrained(name).state_dict()
    print(f"{name}: {counts[0]} tensors in state_dict, {counts[1]} in the file, {counts[2]} names in common;"
          f" equal after load_state_dict {same}, after from_pretrained"
          f" {sum(torch.equal(own[key], again[key]) for key in own)}")
    assert all(torch.equal(own[key], again[key]) for key in own)
    assert counts == expected and (same < counts[0]) == (name != "Bert")
PYTHON
venv/bin/python names.py 2> /dev/null
# Output seen:
# Bert: 37 tensors in state_dict, 37 in the file, 37 names in common; equal after load_state_dict 37, after from_pretrained 37
# NomicBert: 26 tensors in state_dict, 22 in the file, 2 names in common; equal after load_state_dict 12, after from_pretrained 26
# Gte: 36 tensors in state_dict, 26 in the file, 4 names in common; equal after load_state_dict 22, after from_pretrained 36
