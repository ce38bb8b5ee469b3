"""The same masked sentences at every evaluation of pre-training, and what was predicted in them."""

from pathlib import Path

from pydantic import ValidationError

from engine.config import Spec

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
    """Add an evaluation to the folder of results of a run. Raises OSError on a disk error."""
    results.mkdir(exist_ok=True)
    with open(results / FILE, "ab") as file:
        file.write(filled.model_dump_json().encode("utf-8") + b"\n")


def read_filled(results: Path) -> list[Filled]:
    """All evaluations, by step. Of a repeated step, as after a resume, the last one counts.

    Lines that are damaged, or incomplete while they are written, are left out.
    """
    steps: dict[int, Filled] = {}
    try:
        lines = (results / FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        try:
            filled = Filled.model_validate_json(line)
        except ValidationError:
            continue
        steps[filled.step] = filled
    return [steps[step] for step in sorted(steps)]
