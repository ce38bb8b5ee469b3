"""What comes with the program: the starter model and the sample data set in `resources/`."""

import sys
from pathlib import Path
from typing import Any

FIRST_TRAINING: dict[str, Any] = {"epochs": 3.0, "batch_size": 16}
"""What the first training has instead of the recommended settings: so the starter model learns the
sample in about a minute on two cores."""


def resources() -> Path:
    """The folder `resources`, in a checkout and in the packaged program."""
    packaged = getattr(sys, "_MEIPASS", None)
    return (Path(packaged) if packaged else Path(__file__).resolve().parents[1]) / "resources"


def starter_model() -> Path:
    """A small English BERT in the Hugging Face layout, pre-trained by this engine."""
    return resources() / "starter"


def sample_data() -> Path:
    """A small labelled CSV for a first classification."""
    return resources() / "sample" / "speeches.csv"
