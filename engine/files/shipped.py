"""Included resources: three models and the sample data set in `resources/`."""

import sys
from pathlib import Path
from typing import Any

SAMPLE_TEST = 0.1  # fraction of the sample's rows held out for testing
FIRST_TRAINING: dict[str, Any] = {"epochs": 3.0, "batch_size": 16}
"""Settings of the first training that differ from the recommended ones, so that MiniLM learns the
sample in about a minute on two cores."""
FIRST_PRETRAINING: dict[str, Any] = {"epochs": 20.0}  # of the size “tiny”, as long


def resources() -> Path:
    """The folder `resources`, in a checkout or in the packaged program."""
    packaged = getattr(sys, "_MEIPASS", None)
    return (Path(packaged) if packaged else Path(__file__).resolve().parents[2]) / "resources"


def starter_model() -> Path:
    """A small, fast English BERT in the Hugging Face layout with an MLM head, pre-trained by this
    engine."""
    return resources() / "starter"


def minilm() -> Path:
    """MiniLM, an English encoder in the Hugging Face layout without an MLM head."""
    return resources() / "minilm"


def tiny_model() -> Path:
    """A very small English BERT, the last checkpoint of a run folder with snapshots.

    It only serves to show learning in Explore.
    """
    return resources() / "tiny" / "checkpoints" / "step-00002000"


def included_models() -> dict[str, Path]:
    """The included models by name."""
    return {"Starter": starter_model(), "MiniLM": minilm(), "Tiny": tiny_model()}


def included_name(folder: Path) -> str:
    """The name of an included model, also after the program was moved; “” for other models."""
    for name, path in included_models().items():
        parts = path.relative_to(resources().parent).parts
        if folder.parts[-len(parts) :] == parts:
            return name
    return ""


def default_base_model(pretrains: bool) -> Path:
    """The default base model.

    MiniLM is better for fine-tuning (its README has figures), and the starter model has the MLM
    head needed for further pre-training.
    """
    return starter_model() if pretrains else minilm()


def sample_data() -> Path:
    """A small labelled CSV for a first classification."""
    return resources() / "sample" / "topics.csv"
