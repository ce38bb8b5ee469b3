"""Names as people write them: of columns, and of the splits of a data set."""

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
    """A column name without case, spaces and signs, as lists of usual names have it."""
    return re.sub(r"[\W_]+", "", name.lower())


def split_from_name(name: str) -> SplitName | None:
    """The split that a file, a folder or a cell names, in one of its usual spellings."""
    return SPLIT_NAMES.get(name.strip().lower())
