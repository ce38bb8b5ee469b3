#!/usr/bin/env bash
# transformers 4.57.3 and 5.24.0: a model saved with pruned heads does not load in the next version.
#
# prune_heads of 4.57.3 makes the matrices of a layer narrower, and save_pretrained writes the removed
# heads to config.json as pruned_heads; from_pretrained loads the folder with the same outputs.
# 5.24.0 has no prune_heads and ignores pruned_heads: it builds all heads and refuses the same
# folder, whose matrices are too narrow. num_attention_heads cannot say it either: it is one number
# for all layers, and the size of a head is hidden_size / num_attention_heads. What loads in both is
# a narrower model, or one whose output columns of the pruned heads are zero.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
cd "$folder"
cat > try.py <<'PYTHON'
import os

import torch
import transformers
from transformers import BertConfig, BertModel

ids = torch.tensor([[1, 2, 3]])
if not os.path.isdir("./pruned"):
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = BertModel(BertConfig(vocab_size=30, intermediate_size=32, **sizes)).eval()
    model.prune_heads({0: [1, 2]})
    model.save_pretrained("./pruned")
    torch.save(model(ids).last_hidden_state, "outputs.pt")
try:
    model = BertModel.from_pretrained("./pruned").eval()
    loads = torch.allclose(model(ids).last_hidden_state, torch.load("outputs.pt"))
except RuntimeError:
    loads = False
print(f"transformers {transformers.__version__}: prune_heads: "
      f"{hasattr(BertModel, 'prune_heads')}; loads with the same outputs: {loads}")
assert loads is transformers.__version__.startswith("4.")
PYTHON
"$folder/venv/bin/pip" install -q torch==2.13.0 numpy==2.3.5 transformers==4.57.3 2> /dev/null
"$folder/venv/bin/python" try.py 2> /dev/null
"$folder/venv/bin/pip" install -q transformers==5.24.0 2> /dev/null
"$folder/venv/bin/python" try.py 2> /dev/null
# Output seen:
# transformers 4.57.3: prune_heads: True; loads with the same outputs: True
# transformers 5.24.0: prune_heads: False; loads with the same outputs: False
