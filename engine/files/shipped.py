"""What comes with the program: three models and the sample data set in `resources/`."""

import sys
from pathlib import Path
from typing import Any

SAMPLE_TEST = 0.1  # of the rows of the sample that no training sees
FIRST_TRAINING: dict[str, Any] = {"epochs": 3.0, "batch_size": 16}
"""What the first training has instead of the recommended settings: so MiniLM learns the sample in
about a minute on two cores."""


def resources() -> Path:
    """The folder `resources`, in a checkout and in the packaged program."""
    packaged = getattr(sys, "_MEIPASS", None)
    return (Path(packaged) if packaged else Path(__file__).resolve().parents[2]) / "resources"


def starter_model() -> Path:
    """A small English BERT in the Hugging Face layout, pre-trained by this engine.

    It predicts masked tokens, and is quick.
    """
    return resources() / "starter"


def minilm() -> Path:
    """MiniLM, an English encoder in the Hugging Face layout; it has no head for masked tokens."""
    return resources() / "minilm"


def tiny_model() -> Path:
    """A very small English BERT, the last checkpoint of a run folder with snapshots.

    Explore shows how it learned; it is good for nothing else.
    """
    return resources() / "tiny" / "checkpoints" / "step-00002000"


def included_models() -> dict[str, Path]:
    """The models that come with the program, by name."""
    return {"Starter": starter_model(), "MiniLM": minilm(), "Tiny": tiny_model()}


def included_name(folder: Path) -> str:
    """The name of one of them, also where the program lay elsewhere then; “” for other models."""
    for name, path in included_models().items():
        inside = path.relative_to(resources().parent).parts
        if folder.parts[-len(inside) :] == inside:
            return name
    return ""


def usual_base_model(pretrains: bool) -> Path:
    """What a training begins with where nothing else is chosen.

    Of the two, MiniLM is the better one for fine-tuning (its README has figures), and the starter
    model the one that can be pre-trained further, since it has the head.
    """
    return starter_model() if pretrains else minilm()


def sample_data() -> Path:
    """A small labelled CSV for a first classification."""
    return resources() / "sample" / "topics.csv"
