"""Import corrected labels, tags or answers from a table as row edits."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import SPLITS, DatasetSpec, SplitName
from engine.data.columns.answers import AnswerMismatch, format_answers, parse_answers
from engine.data.columns.label_sets import join_labels, parse_label_sets
from engine.data.columns.numbers import is_scale, parse_number
from engine.data.columns.spellings import by_plain_form, plain_label
from engine.data.columns.tag_column import SPANS_ADVICE
from engine.data.columns.tags import spans_from_tags, tags_from_spans
from engine.data.columns.text_spans import NO_SPANS, format_spans, read_spans, valid_spans
from engine.data.columns.words import join_words, split_words
from engine.data.datasets.codebooks import codebook_of
from engine.data.datasets.editing import PendingEdits, RowEdit
from engine.data.datasets.store import Dataset
from engine.data.formats.reading import read, recognise
from engine.errors import BadFile, StudioError
from engine.files.spreadsheet import escape_cell
from engine.phrases import phrase

ROW, NEW_LABEL = "row", "new_label"
NO_ANSWERS = "[]"
MAX_ROW_DIGITS = 18
MAX_QUOTED_LABELS = 20


def read_corrections(
    file: Path,
    dataset: Dataset,
    column: str | None = None,
    part: SplitName | None = None,
    encoding: str | None = None,
) -> PendingEdits:
    """Read the labels of a file that differ from a version.

    Column “row” has the row index in the version, or in its `part`. The new label is in `column`,
    or “new_label”, or the label column. An empty cell keeps the label; “[]” means no answer. If the
    file has the texts of the rows, they must be equal to those of the version.

    Raises:
        BadFile: with the line: unknown or repeated row, other text, unknown label, tags that do not
            match the words, or an answer that is not in the passage.
        StudioError: if a column is missing, or no label differs.
    """
    mapping = dataset.spec.mapping
    label = mapping.label or mapping.tags or mapping.answers
    if label is None:
        raise StudioError(
            "The rows have no column of labels.",
            "Choose a data set in which each row has a label, tags or answers.",
        )
    reading = recognise(file, encoding=encoding).reading.model_copy(update={"header": True})
    table = read(file, reading)
    chosen = column or (NEW_LABEL if NEW_LABEL in table.columns else label)
    for name in (ROW, chosen):
        if name not in table.columns:
            raise BadFile(
                file,
                phrase("there is no column “{column}”.", column=name[:60]),
                phrase("Its columns are {columns}.", columns=", ".join(table.columns[:20])),
            )
    row_column, label_column = table.columns.index(ROW), table.columns.index(chosen)
    texts = [name for name in mapping.texts if name in table.columns and name != chosen]
    rows, parse = _RowNumbers(file, dataset, part), _label_parser(dataset)
    new: dict[int, str] = {}
    row_indices, cells, lines = [], [], []
    for row in table:
        row_indices.append(rows.parse(row.cells[row_column], row.line))
        cells.append([row.cells[table.columns.index(name)] for name in texts])
        lines.append(row.line)
        if cell := row.cells[label_column].strip():
            try:
                new[row_indices[-1]] = parse(cell, row_indices[-1])
            except StudioError as error:
                raise BadFile(file, error.problem, error.advice, row.line) from error
    _check_texts(file, dataset, texts, row_indices, cells, lines)
    indices = np.array(list(new), dtype=np.int64)
    before = dataset.column(label).take(indices).to_pylist()
    edits = {
        number: RowEdit(cells={label: name})
        for (number, name), old in zip(new.items(), before, strict=True)
        if name != (old or "")
    }
    if not edits:
        raise StudioError(
            "No label in {name} differs from the data set.",
            "Write the new labels in the column “{column}”.",
            name=file.name,
            column=chosen,
        )
    return PendingEdits(fingerprint=dataset.spec.fingerprint, rows=edits)


class _RowNumbers:
    """Parses the row numbers of a file, each of which may occur once."""

    def __init__(self, file: Path, dataset: Dataset, part: SplitName | None) -> None:
        self._file, self._part = file, part
        self._indices: NDArray[np.int64] = (
            np.arange(len(dataset), dtype=np.int64)
            if part is None
            else np.flatnonzero(dataset.splits == SPLITS.index(part))
        )
        self._lines: dict[int, int] = {}  # line, by row

    def parse(self, cell: str, line: int) -> int:
        """Parse the number of a row; returns its index in the version."""
        text = cell.strip()
        is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_ROW_DIGITS
        if not (is_number and int(text) < len(self._indices)):
            where = phrase("the data set") if self._part is None else self._part
            raise BadFile(
                self._file,
                phrase("no row has the number “{cell}”.", cell=text[:60]),
                phrase(
                    "Rows of {where} have the numbers 0 to {last}.",
                    where=where,
                    last=len(self._indices) - 1,
                ),
                line,
            )
        number = int(text)
        if number in self._lines:
            raise BadFile(
                self._file,
                phrase("row {n} is also in line {line}.", n=number, line=self._lines[number]),
                phrase("List each row once."),
                line,
            )
        self._lines[number] = line
        return int(self._indices[number])


CellParser = Callable[[str, int], str]
"""Converts the cell of a file for a row of the version; raises StudioError if it does not fit."""


def _label_parser(dataset: Dataset) -> CellParser:
    if dataset.spec.mapping.label is not None:
        return _class_parser(dataset.spec)
    return (
        _tag_parser(dataset) if dataset.spec.mapping.tags is not None else _answer_parser(dataset)
    )


def _class_parser(spec: DatasetSpec) -> CellParser:
    """Accept the labels of the version and its codebook, any if it has none; scores may have any
    value."""
    book, is_coded = codebook_of(spec), spec.mapping.label in spec.codebooks
    are_numbers = is_scale(spec.labels) and not is_coded
    has_sets = book is not None and book.kind == "labels"
    codes = () if book is None else book.active if book.kind == "number" else book.codes
    known = [code.label for code in codes] or [name for name in spec.labels if name]
    numbers = by_plain_form(known) if book is not None and book.kind == "number" else {}

    def parse(cell: str, _row: int) -> str:
        cell = numbers.get(plain_label(cell), cell)
        if are_numbers:
            if parse_number(cell) is not None:
                return cell
            advice = phrase("Write a number.")
        else:
            names = parse_label_sets([cell], known)[0] if has_sets else (cell,)
            if not known or {*names} <= {*known}:  # the first labels of a data set
                return join_labels(names, as_list=True) if is_coded and has_sets else cell
            shown = ", ".join(name[:60] for name in known[:MAX_QUOTED_LABELS])
            more = ", …" if len(known) > MAX_QUOTED_LABELS else ""
            advice = phrase("Use one of {names}.", names=f"{shown}{more}")
        if is_coded:
            raise StudioError("the codebook has no label “{cell}”.", advice, cell=cell[:60])
        raise StudioError("no row has the label “{cell}”.", advice, cell=cell[:60])

    return parse


def _tag_parser(dataset: Dataset) -> CellParser:
    """Accept one tag of the version per word, converted to BIO if tags name spans."""
    mapping, types = dataset.spec.mapping, set(dataset.spec.spans)
    assert mapping.tags is not None
    if dataset.spec.has_text_spans:
        return _span_parser(dataset)
    column = () if types else dataset.column(mapping.tags).to_pylist()
    known = types or {tag for cell in column for tag in split_words(cell or "")}

    def parse(cell: str, row: int) -> str:
        tags, words = split_words(cell), split_words(dataset.page(row, 1)[0][mapping.text])
        if len(tags) != len(words):
            raise StudioError(
                "the row has {n} word(s) and needs as many tags, not {tags}.",
                "Write one tag for each word, with blanks between them.",
                n=len(words),
                tags=len(tags),
            )
        spans = spans_from_tags(tags) if types else []
        for tag in [span.type for span in spans] if types else tags:
            if tag not in known:
                raise StudioError(
                    "no row has the tag “{tag}”.",
                    "Use one of {names}.",
                    tag=tag[:60],
                    names=", ".join(name[:60] for name in sorted(known)[:MAX_QUOTED_LABELS]),
                )
        return join_words(tags_from_spans(spans, len(words), "BIO") if types else tags)

    return parse


def _span_parser(dataset: Dataset) -> CellParser:
    """Accept spans with labels of the codebook that are within the text of their row."""
    book, text = codebook_of(dataset.spec), dataset.spec.mapping.text
    known = [code.label for code in book.codes] if book is not None else []

    def parse(cell: str, row: int) -> str:
        spans, lost = [] if cell == NO_SPANS else read_spans(cell), list[str]()
        if spans is None:
            raise StudioError(phrase("“{cell}” is no list of spans.", cell=cell[:60]), SPANS_ADVICE)
        valid_spans(dataset.page(row, 1)[0][text], spans, lost)
        if lost:
            raise StudioError(phrase("{problem}.", problem=lost[0]), phrase("Correct this span."))
        for span in spans:
            if known and span.label not in known:
                raise StudioError(
                    "the codebook has no label “{cell}”.",
                    "Use one of {names}.",
                    cell=span.label[:60],
                    names=", ".join(name[:60] for name in known[:MAX_QUOTED_LABELS]),
                )
        return format_spans(spans)

    return parse


def _answer_parser(dataset: Dataset) -> CellParser:
    """Accept answers that are in the passage of the row, and add their positions."""
    passage = dataset.spec.mapping.pair
    assert passage is not None  # answers have a passage

    def parse(cell: str, row: int) -> str:
        if cell == NO_ANSWERS:
            return ""
        try:
            return format_answers(parse_answers(cell, dataset.page(row, 1)[0][passage]))
        except AnswerMismatch as mismatch:
            raise StudioError(
                phrase("{problem}.", problem=mismatch.args[0]),
                phrase("Copy the answer from the passage."),
            ) from mismatch

    return parse


def _check_texts(
    file: Path,
    dataset: Dataset,
    names: list[str],
    row_indices: list[int],
    cells: list[list[str]],
    lines: list[int],
) -> None:
    """Raise BadFile if the texts of the rows differ from those of the version."""
    indices = np.array(row_indices, dtype=np.int64)
    for index, name in enumerate(names):
        stored = dataset.column(name).take(indices).to_pylist()
        for text, imported, line in zip(stored, cells, lines, strict=True):
            if imported[index] not in (text or "", escape_cell(text or "")):
                raise BadFile(
                    file,
                    phrase("the row has another text in the data set."),
                    phrase(
                        "Choose the version that the file was made from, and --part if its rows"
                        " are counted within one part."
                    ),
                    line,
                )
