"""Rules over several fields of a spec: what is wrong, and which fields it is about."""

from typing import NamedTuple

from engine.phrases import join


class Problem(NamedTuple):
    """One thing that is wrong, without a full stop; `fields` are paths as in `--set`."""

    text: str
    fields: tuple[str, ...]


class BrokenRules(ValueError):
    """Rules that do not hold. Pydantic hands it on in the context of its error."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(join("; ", (problem.text for problem in problems)))
        self.problems = problems


def broken(text: str, *fields: str) -> BrokenRules:
    """One rule that does not hold."""
    return BrokenRules([Problem(text, fields)])
