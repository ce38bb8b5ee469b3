"""The same masked sentences at every evaluation of pre-training, and what was predicted in them."""

from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from engine.config import Spec
from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.regular_file import read_regular

FILE = "sentences.jsonl"  # in the folder of results, a line for each evaluation


class Guess(Spec):
    """A predicted token and its probability."""

    token: str
    probability: float


class Sentence(Spec):
    """A sentence with one masked token, and its predictions.

    Args:
        before: the text to the left of the token.
        after: the text to its right; not read by a left-to-right model.
        truth: the masked token.
        rank: of the truth among all tokens, from 1.
        guesses: the most probable tokens, the best first.
    """

    before: str
    after: str
    truth: str
    rank: int
    guesses: tuple[Guess, ...]


class Filled(Spec):
    """The sentences at one step of the training."""

    step: int
    sentences: tuple[Sentence, ...]


def append_filled(results: Path, filled: Filled) -> None:
    """Add an evaluation to the folder of results of a run, in place of those at its or later steps.

    Those are of an attempt that was resumed before them. Raises DiskFull or OSError.
    """
    earlier = [item for item in read_filled(results) if item.step < filled.step]
    lines = (item.model_dump_json().encode("utf-8") + b"\n" for item in (*earlier, filled))
    with disk_errors_for(results):
        results.mkdir(exist_ok=True)
        write_file(results / FILE, b"".join(lines))


def read_filled(results: Path) -> list[Filled]:
    """All evaluations, by step; those that are damaged are left out."""
    try:
        lines = read_regular(results / FILE).splitlines()
    except OSError:
        return []
    filled = []
    for line in lines:
        with suppress(ValidationError):
            filled.append(Filled.model_validate_json(line))
    return filled
