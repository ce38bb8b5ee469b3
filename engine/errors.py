"""Errors that the user can understand.

A `StudioError` is shown to the user; any other exception is a bug and is caught only at the edges.
A stop or a late answer is no exception.
"""

from pathlib import Path

from engine.phrases import Phrase, fill_template, join, phrase
from engine.visible import SENTENCE_CHARACTERS, concise, visible

MAX_DETAILS = 100_000  # characters


class StudioError(Exception):
    """An error that the user can understand and act on; both parts are whole sentences.

    Each is a `Phrase`, or a template of one that is filled in with `values`, so the window can
    translate it. Together they have at most 300 visible characters: long names are shortened, and
    then the full text is in `details`, which may hold further lines.
    """

    def __init__(self, problem: str, advice: str = "", details: str = "", **values: object) -> None:
        problem, advice = (fill_template(text, **values) for text in (problem, advice))
        self.problem, self.advice = concise(problem, advice)
        super().__init__(self.problem)
        full = visible(f"{problem} {advice}".strip())
        is_whole = len(full) <= SENTENCE_CHARACTERS
        self.details = "\n".join(filter(None, ("" if is_whole else full, details)))[:MAX_DETAILS]

    @property
    def phrase(self) -> Phrase:
        return join(" ", (part for part in (self.problem, self.advice) if part))

    def __str__(self) -> str:
        return str.__str__(self.phrase)


class MissingColumn(StudioError):
    """A dataset lacks a column that the task reads."""

    def __init__(self, column: str, columns: list[str]) -> None:
        super().__init__(
            phrase("The data set has no column “{column}”.", column=column),
            phrase("Choose one of its columns: {columns}.", columns=", ".join(columns)),
        )


class BadFile(StudioError):
    """A malformed file; `line` and `column` count from 1 and 0 means unknown."""

    def __init__(
        self, path: Path, problem: str, advice: str = "", line: int = 0, column: int = 0
    ) -> None:
        name = path.name or str(path)
        where: str = phrase("{name}, line {line}", name=name, line=line) if line else name
        where = phrase("{where}, column {column}", where=where, column=column) if column else where
        super().__init__(phrase("{where}: {problem}", where=where, problem=problem), advice)
        self.path, self.line, self.column = path, line, column


class BadCheckpoint(StudioError):
    """A checkpoint folder cannot be loaded."""


class DiskFull(StudioError):
    """The disk of `path` is full; `needed` bytes would be enough, and 0 means unknown."""

    def __init__(
        self, problem: str, advice: str = "", path: Path | None = None, needed: int = 0
    ) -> None:
        super().__init__(problem, advice)
        self.path, self.needed = path, needed


OUT_OF_MEMORY = (  # texts of torch, the last on a Mac
    *("not enough memory", "can't allocate memory", "out of memory", "Invalid buffer size"),
)


def is_out_of_memory(error: BaseException) -> bool:
    """True if memory ran out: torch raises a RuntimeError on the CPU, its own type on a GPU."""
    by_type = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return by_type or any(message in str(error) for message in OUT_OF_MEMORY)
