"""Rules over several fields of a spec."""

from typing import NamedTuple

from engine.phrases import join


class Problem(NamedTuple):
    """A broken rule, without a full stop; `fields` are paths as in `--set`."""

    text: str
    fields: tuple[str, ...]


class BrokenRules(ValueError):
    """Broken rules, passed on in the context of pydantic's error."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(join("; ", (problem.text for problem in problems)))
        self.problems = problems


def broken_rule(text: str, *fields: str) -> BrokenRules:
    """Make the error for one broken rule."""
    return BrokenRules([Problem(text, fields)])
