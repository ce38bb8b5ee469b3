"""What comes with the program: the starter model and the sample data set in `resources/`."""

import sys
from pathlib import Path

from engine.spec.training import TrainingSpec


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


def first_training() -> TrainingSpec:
    """Settings with which the starter model learns the sample in about a minute on two cores."""
    return TrainingSpec(epochs=3, batch_size=16, learning_rate=3e-4, max_length=64)
