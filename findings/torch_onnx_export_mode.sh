#!/usr/bin/env bash
# torch 2.13.0: torch.onnx.export leaves a wrapped model in training mode, so dropout becomes active.
#
# The exporter (dynamo=False) switches the module it gets to eval mode and then back to the mode that
# this module had. It sets all inner modules too. A wrapper that only renames inputs is made in
# training mode; the model in it was in eval mode before the export, and is in training mode after it.
# Its predictions are then random, without any message.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.13.0 numpy==2.3.5 onnx==1.23.2 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - 2> /dev/null <<'PYTHON'
import torch
from torch import nn


class Wrapper(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)


def export(wrapper: nn.Module) -> None:
    torch.onnx.export(wrapper, (torch.ones(1, 8),), "graph.onnx", dynamo=False)


for is_eval in (True, False):
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)).eval()
    wrapper = Wrapper(model)
    export(wrapper.eval() if is_eval else wrapper)
    first, second = (model(torch.ones(1, 8)) for _ in range(2))
    print(f"wrapper in eval mode: {is_eval}; model in training mode: {model.training}; "
          f"same outputs twice: {torch.equal(first, second)}")
    assert model.training is not is_eval and torch.equal(first, second) is is_eval
PYTHON
# Output seen:
# wrapper in eval mode: True; model in training mode: False; same outputs twice: True
# wrapper in eval mode: False; model in training mode: True; same outputs twice: False
