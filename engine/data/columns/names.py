"""Common names of columns and splits."""

import re

from engine.config.dataset import SplitName

SPLIT_NAMES: dict[str, SplitName] = {
    **dict.fromkeys(("train", "training", "trn", "trainset"), "train"),
    **dict.fromkeys(
        ("dev", "development", "devset", "valid", "validation", "val", "valset", "eval"),
        "validation",
    ),
    **dict.fromkeys(("test", "testing", "tst", "testset", "heldout", "held-out"), "test"),
}


def plain_name(name: str) -> str:
    """Column name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name.lower())


def split_from_name(name: str) -> SplitName | None:
    """The split that a file, folder or cell is named after, if any."""
    return SPLIT_NAMES.get(name.strip().lower())
