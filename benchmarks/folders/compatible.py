"""Let old versions of transformers run with newer libraries; imported before them."""

import importlib.metadata
import os

import torch

torch.optim.lr_scheduler.SAVE_STATE_WARNING = ""  # type: ignore[attr-defined]  # they import it
if pretended := os.environ.get("PRETENDED_TOKENIZERS"):  # they ask for one without a wheel
    real_version = importlib.metadata.version
    importlib.metadata.version = lambda name: (
        pretended if name == "tokenizers" else real_version(name)
    )
