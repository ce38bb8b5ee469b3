"""The rows of one split, as tasks read them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Columns
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import Mapping
from engine.data.columns.joined import with_joined
from engine.data.columns.label_sets import allows_blanks
from engine.data.columns.text_spans import (
    SpannedWords,
    marks_characters,
    read_spans,
    spanned_words,
    tag_spans,
)
from engine.data.columns.words import join_list, join_words, parse_words, split_words


class TaggedRows(NamedTuple):
    """Words of each row, and a tag for each, as cells; `remarks` count what spans lost."""

    words: Sequence[str]
    tags: Sequence[str] | None
    remarks: Counter[str]


@dataclass(frozen=True)
class Rows:
    """Rows of one split in source order; None for roles that are not mapped.

    Cells are unparsed. A column is a list or is read lazily from disk; `texts` may be a
    `StoredTexts` if a task only iterates over them.
    """

    texts: Sequence[str]
    pairs: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    flags: Columns[str, Sequence[str]] | None = None  # by label
    tags: Sequence[str] | None = None
    answers: Sequence[str] | None = None
    beginnings: Sequence[str] | None = None
    negatives: Sequence[str] | None = None
    endings: list[tuple[str, ...]] | None = None  # of each row
    words: Sequence[str] | None = None  # of the texts, if these are lists of words without tags
    lines: list[int] | None = field(default=None, compare=False)  # of the source, from 1
    numbers: list[int] | None = field(default=None, compare=False)  # index in the stored split

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def is_labelled(self) -> bool:
        """True if the rows have targets."""
        return any(x is not None for x in (self.labels, self.flags, self.tags, self.answers))

    def labelled(self, roles: Sequence[str]) -> list[int]:
        """Rows in which a cell of these roles is filled; all if the rows have no such roles."""
        by_role = {"label": self.labels, "tags": self.tags}
        columns = [cells for role, cells in by_role.items() if role in roles and cells is not None]
        if "flags" in roles:
            flags = (self.flags or {}).items()
            columns += [cells for name, cells in flags if not allows_blanks(cells, name)]
        return [
            row
            for row in range(len(self))
            if not columns or any(cells[row].strip() for cells in columns)
        ]

    @property
    def plain_texts(self) -> Sequence[str]:
        """The texts, those of tagged words joined by spaces."""
        if self.tags is None or self.has_text_spans:
            return self.texts
        return [" ".join(split_words(cell)) for cell in self.texts]

    @cached_property
    def has_text_spans(self) -> bool:
        """True if the tags are spans of characters, not tags of words."""
        pairs = zip(self.texts, self.tags or (), strict=False)
        return any(marks_characters(*pair) for pair in pairs)

    @cached_property
    def tagged(self) -> "TaggedRows":
        """The words and their tags, as a tagger learns them."""
        if self.tags is None or not self.has_text_spans:
            return TaggedRows(self.texts, self.tags, Counter())
        rows = [
            tag_spans(text, read_spans(cell) or ())
            for text, cell in zip(self.texts, self.tags, strict=True)
        ]
        return TaggedRows(
            [join_words(row.words) for row in rows],
            [join_words(row.tags) for row in rows],
            Counter(remark for row in rows for remark in row.remarks),
        )

    @cached_property
    def spanned(self) -> list[SpannedWords]:
        """The words of each row and all spans of them; without tags there are no spans."""
        return [*map(spanned_words, self.texts, self.tags or ("",) * len(self))]

    def all_texts(self) -> Sequence[str]:
        """All texts, second texts, and endings with their beginnings."""
        texts = self.plain_texts
        if self.pairs is None and self.endings is None and self.negatives is None:
            return texts
        endings = [ending for row in self.endings or () for ending in row]
        others = (self.pairs, self.beginnings, self.negatives)
        return [*texts, *(text for column in others for text in column or ()), *endings]

    def take(self, indices: Sequence[int] | NDArray[np.int64]) -> Self:
        """Select rows by index."""

        def select(cells: Any) -> Any:
            if isinstance(cells, dict):
                return {label: select(column) for label, column in cells.items()}
            return None if cells is None else [cells[index] for index in indices]

        return type(self)(**{item.name: select(getattr(self, item.name)) for item in fields(self)})

    def without_targets(self) -> Self:
        """The same rows without targets."""
        has_words = self.tags is not None and not self.has_text_spans
        words = self.texts if has_words else self.words
        return replace(self, labels=None, flags=None, tags=None, answers=None, words=words)

    @classmethod
    def from_columns(
        cls, mapping: Mapping, cells: Columns[str, Sequence[str]], lines: list[int] | None = None
    ) -> Self:
        """Build rows from the mapped columns; lists of words without tags become texts.

        Raises MissingColumn for a template with an unknown column.
        """
        cells = with_joined(mapping, cells)

        def column(name: str | None) -> Sequence[str] | None:
            return None if name is None else cells[name]

        def text(name: str | None) -> Sequence[str] | None:
            given = column(name)
            is_read = isinstance(given, list) and mapping.tags is None
            return [*map(join_list, given)] if is_read and given is not None else given

        given, texts = cells[mapping.text], text(mapping.text) or ()
        are_lists = isinstance(given, list) and given != texts
        endings = [cells[name] for name in mapping.endings]
        return cls(
            texts=texts,
            pairs=text(mapping.pair),
            labels=column(mapping.label),
            flags={name: cells[name] for name in mapping.flags} or None,
            tags=column(mapping.tags),
            answers=column(mapping.answers),
            beginnings=column(mapping.beginning),
            negatives=text(mapping.negative),
            words=[join_words(parse_words(cell)) for cell in given] if are_lists else None,
            endings=list(zip(*endings, strict=True)) if endings else None,
            lines=lines,
        )


class StoredColumn(Sequence[str]):
    """A column of one split, read from disk on first access.

    A run with cached token ids never reads it.
    """

    def __init__(self, count: int, read: Callable[[], list[str]]) -> None:
        self._count, self._read = count, read

    @cached_property
    def _cells(self) -> list[str]:
        return self._read()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        return self._cells[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._cells == list(other)

    __hash__ = None  # type: ignore[assignment]  # unhashable, as a list
