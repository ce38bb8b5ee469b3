"""Columns of several coders: find them, read their codes, and derive the agreed label.

N rows, R coders.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.config.dataset import Mapping as ColumnMapping
from engine.data.columns.label_sets import count_label_sets, parse_label_sets, parse_yes_no
from engine.data.columns.mapping import LABEL_WORDS, LABELS, label_columns, span_columns
from engine.data.columns.names import plain_name
from engine.data.columns.numbers import is_scale, parse_number
from engine.data.columns.placeholders import R_MISSING, find_uncoded
from engine.data.columns.scales import order_labels
from engine.data.columns.tags import split_tags
from engine.data.columns.text_spans import NO_SPANS, TextSpan, read_spans
from engine.errors import StudioError
from engine.phrases import join

CODERS = r"coder|rater|annotator|annot|judge|reviewer|expert|worker|labell?er|person|user|turker"
CODER_NAME = re.compile(rf"(?:^|[\W_])(?:{CODERS})[\W_]*\w{{0,3}}(?=$|[\W_])", re.IGNORECASE)
ENDING = re.compile(r"(.*?)[\W_]*(\d{1,2}|(?<=[\W_])[A-Za-z]|(?<=[a-z])[A-Z])", re.DOTALL)
STEMS = {*LABELS, *LABEL_WORDS, "code", "coding", "annotation", "rating"}  # label_A, label_B
MACHINE = re.compile(r"pred|model|auto|machine|bert|gpt|system|baseline", re.IGNORECASE)
MIN_SHARED = 0.5  # of the labels of the column with fewer
MAX_UNNAMED = 12  # columns of labels; more are the questions of a survey
MIN_AGREEMENT = 0.4  # beyond chance, of columns whose names do not say that they are coders'

Kind = Literal["classes", "numbers", "sets", "spans"]
Value = str | float | frozenset[str] | tuple[str, ...] | tuple[TextSpan, ...]
"""A class, a number, a set of labels, the tags of the words, or spans of characters."""


@dataclass(frozen=True)
class Codings:
    """The codes that several coders gave to the same rows."""

    coders: tuple[str, ...]
    kind: Kind
    values: tuple[Value, ...]  # distinct, in order
    cells: tuple[str, ...]  # a cell of each value
    codes: NDArray[np.int64]  # [N, R], index of a value; -1: not coded
    are_ordered: bool  # from the lowest to the highest

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The classes, or the labels of the sets, sorted."""
        if self.kind == "sets":
            return tuple(sorted({label for value in self.values for label in _labels(value)}))
        return self.cells if self.kind == "classes" else ()

    @property
    def has_text_spans(self) -> bool:
        """True if the values are spans of characters."""
        items = (item for value in self.values if isinstance(value, tuple) for item in value)
        return self.kind == "spans" and isinstance(next(items, None), TextSpan)

    @property
    def coded(self) -> NDArray[np.int64]:
        """Number of coders of each row, int64 [N]."""
        coded: NDArray[np.int64] = (self.codes >= 0).sum(axis=1)
        return coded

    @property
    def disputed(self) -> NDArray[np.bool_]:
        """The rows to which two coders gave different codes, bool [N]."""
        return differs(self.codes)

    def in_order(self, labels: Sequence[str]) -> Self:
        """The same codes with an order of all classes, from the lowest to the highest.

        Raises StudioError if one is missing.
        """
        missing = [cell for cell in self.cells if cell not in labels]
        if missing or self.kind != "classes":
            raise StudioError(
                "The order does not have all labels: {names}.",
                "List every label once, from the lowest to the highest; label sets have no order.",
                names=join(", ", [f"“{cell[:60]}”" for cell in (missing or self.labels)[:5]]),
            )
        order = [self.cells.index(label) for label in labels if label in self.cells]
        cells = tuple(self.cells[place] for place in order)
        places = np.append(np.argsort(order), -1)
        return replace(self, values=cells, cells=cells, codes=places[self.codes], are_ordered=True)

    def has_label(self, label: str) -> NDArray[np.bool_]:
        """The values that are or contain a label, bool [values]."""
        if self.kind == "sets":
            return np.array([label in _labels(value) for value in self.values], dtype=bool)
        return np.array([cell == label for cell in self.cells], dtype=bool)

    def majority(self) -> list[str]:
        """The most frequent cell of each row, or the mean of numbers; "" if two are as frequent."""
        rows, kinds = np.unique(self.codes, axis=0, return_inverse=True)
        cells = np.array([self._decide(row[row >= 0]) for row in rows], dtype=object)
        decided: list[str] = cells[kinds.reshape(-1)].tolist() if len(rows) else []
        return decided

    def _decide(self, codes: NDArray[np.int64]) -> str:
        if self.kind == "numbers":
            numbers = [float(str(self.values[code])) for code in codes]
            return f"{np.mean(numbers):.6g}" if numbers else ""
        (first, times), *others = [*Counter(codes.tolist()).most_common(2), (-1, 0)]
        return "" if first < 0 or others[0][1] == times else self.cells[first]


def differs(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The rows to which two coders gave different codes, bool [N], for [N, R]; −1 is no code."""
    highest = codes.max(axis=1, initial=-1, keepdims=True)
    found: NDArray[np.bool_] = ((codes >= 0) & (codes != highest)).any(axis=1)
    return found


def read_codings(
    read: Callable[[str], "pa.ChunkedArray[Any]"],
    mapping: ColumnMapping,
    no_label: Collection[str] = (),
    spellings: Mapping[str, str] | None = None,
) -> Codings:
    """Read the codes of the coders of a mapping.

    Args:
        read: reads a column of all rows, string [N].
        mapping: with at least two coders.
        no_label: cells that mean that a row has no label; by default those that are recognised.
        spellings: labels that are read as another one.
    """
    columns = [_encoded(read(name)) for name in mapping.coders]
    given = {cell for cells, _ in columns for cell in cells}
    usual = {cell: cell for cell in given} | dict(spellings or {})
    usual |= dict.fromkeys(("", *(no_label or find_uncoded(given))), "")
    counts = Counter[str]()
    for cells, indices in columns:
        rows = np.bincount(indices, minlength=len(cells)).tolist()
        for cell, count in zip(cells, rows, strict=True):
            counts[usual[cell]] += count
    filled = sorted(filter(None, counts), key=_sort_key)
    kind = _kind(Counter({cell: counts[cell] for cell in filled}), mapping.tags is not None)
    values = dict(zip(filled, _values(filled, kind), strict=True))
    shown: dict[Value, str] = {}
    for cell, value in values.items():
        shown.setdefault(value, cell)
    places = {value: place for place, value in enumerate(shown)}
    codes = {cell: places[values[usual[cell]]] if usual[cell] else -1 for cell in given}
    table = [np.array([codes[cell] for cell in cells])[indices] for cells, indices in columns]
    codings = Codings(
        mapping.coders,
        kind,
        values=(*shown,),
        cells=(*shown.values(),),
        codes=np.column_stack(table).astype(np.int64),
        are_ordered=kind != "sets" and all(parse_number(cell) is not None for cell in filled),
    )
    is_named = kind == "classes" and not codings.are_ordered and len(shown) > 2
    order = order_labels(codings.cells) if is_named else ()
    return codings.in_order(order) if order else codings


def agreed_cells(
    columns: Sequence[Sequence[str]], are_tags: bool = False, uncoded: Collection[str] = ()
) -> list[str]:
    """The code of each row on which all its coders agree, "" for others.

    Label sets in another order, and numbers in another spelling, agree.

    Args:
        columns: the cells of each coder, R lists of N.
        are_tags: the cells have a tag for each word.
        uncoded: cells that mean that a row was not coded.
    """
    none = {"", *uncoded}

    def value(cell: str) -> Value:
        if are_tags:
            return _tags_or_spans(cell)
        number = parse_number(cell)
        return frozenset(parse_label_sets([cell])[0]) if number is None else number

    known: dict[tuple[str, ...], str] = {}
    for cells in zip(*columns, strict=True):
        if cells not in known:
            given = [cell.strip() for cell in cells if cell.strip() not in none]
            known[cells] = given[0] if len({*map(value, given)}) == 1 else ""
    return [known[cells] for cells in zip(*columns, strict=True)]


def find_coders(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], mapping: ColumnMapping
) -> tuple[str, ...]:
    """The columns that seem to be labels of one thing by several coders; () for none.

    They share most of their labels. Their names say so (“coder 1”, “label_A”, “label_B”), or they
    agree far more often than by chance, as columns of people do: “Anna”, “Ben”. Columns of spans
    are named so.
    """
    if mapping.answers or mapping.endings:
        return ()
    if mapping.tags:
        marked = span_columns(columns, rows, mapping.text)
        return tuple(next(iter(_named_groups(marked)), ()))
    likely = {*label_columns(columns, rows, mapping), *mapping.flags}
    places = {name: columns.index(name) for name in likely}
    cells = {name: [row[n].strip() for row in rows] for name, n in places.items()}
    cells = {n: ["" if c == R_MISSING else c for c in column] for n, column in cells.items()}
    names = [name for name in columns if name in cells and not MACHINE.search(name)]
    others = [] if mapping.flags or len(names) > MAX_UNNAMED else [names]
    for group in (*_named_groups(names), *others):
        is_named = group is not names
        for first in group:
            peers = [first]
            for name in group[group.index(first) + 1 :]:
                if all(_are_peers(cells[name], cells[peer], is_named) for peer in peers):
                    peers.append(name)
            if len(peers) > 1:
                return tuple(peers)
    return ()


def _named_groups(names: Sequence[str]) -> list[list[str]]:
    """Columns named after coders, then labels that differ in a number or letter at the end."""
    stems: dict[str, list[str]] = {}
    for name in names:
        ending = ENDING.fullmatch(name)
        if ending is not None and plain_name(ending[1]) in STEMS:
            stems.setdefault(plain_name(ending[1]), []).append(name)
    groups = [[name for name in names if CODER_NAME.search(name)], *stems.values()]
    return [group for group in groups if len(group) > 1]


def _are_peers(first: Sequence[str], second: Sequence[str], is_named: bool) -> bool:
    """True if two columns share most labels and, unless they are named so, agree."""
    labels = [{*filter(None, cells)} for cells in (first, second)]
    if len(labels[0] | labels[1]) < 2 or not all(labels):
        return False
    if len(labels[0] & labels[1]) < MIN_SHARED * min(map(len, labels)):
        return False
    if is_named:
        return True
    every = labels[0] | labels[1]
    if all(parse_yes_no(label) is not None or parse_number(label) is not None for label in every):
        return False  # marks of several labels, or ratings of several properties
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a and b]
    if not pairs:
        return False
    agreed = sum(a == b for a, b in pairs) / len(pairs)
    counts, others = (Counter(side) for side in zip(*pairs, strict=True))
    chance = sum(counts[label] * others[label] for label in counts) / len(pairs) ** 2
    return chance < 1 and (agreed - chance) / (1 - chance) >= MIN_AGREEMENT


def _encoded(column: "pa.ChunkedArray[Any]") -> tuple[list[str], NDArray[np.int64]]:
    """Distinct cells, trimmed, and the index of each row's cell."""
    encoded: Any = column.cast(pa.string()).combine_chunks().fill_null("").dictionary_encode()
    return [*map(str.strip, encoded.dictionary.to_pylist())], encoded.indices.to_numpy()


def _kind(cells: Counter[str], are_tags: bool) -> Kind:
    if are_tags:
        return "spans"
    if count_label_sets(cells) is not None:
        return "sets"
    return "numbers" if is_scale(cells) else "classes"


def _values(cells: Sequence[str], kind: Kind) -> Sequence[Value]:
    match kind:
        case "sets":
            return [*map(frozenset, parse_label_sets(cells))]
        case "spans":
            return [*map(_tags_or_spans, cells)]
    numbers = {cell: parse_number(cell) for cell in cells}
    return [cell if (number := numbers[cell]) is None else number for cell in cells]


def _tags_or_spans(cell: str) -> tuple[str, ...] | tuple[TextSpan, ...]:
    spans = [] if cell == NO_SPANS else read_spans(cell)
    return tuple(split_tags(cell)) if spans is None else tuple(sorted({*spans}))


def _labels(value: Value) -> frozenset[str]:
    return value if isinstance(value, frozenset) else frozenset()


def _sort_key(cell: str) -> tuple[float, str]:
    number = parse_number(cell)
    return (float("inf") if number is None else number, cell)
