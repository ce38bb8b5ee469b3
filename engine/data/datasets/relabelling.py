"""Import corrected labels, tags or answers from a table as row edits."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import SPLITS, SplitName
from engine.data.columns.answers import AnswerMismatch, format_answers, parse_answers
from engine.data.columns.label_sets import count_label_sets, parse_label_sets
from engine.data.columns.numbers import is_scale, parse_number
from engine.data.columns.tags import spans_from_tags, tags_from_spans
from engine.data.columns.words import join_words, split_words
from engine.data.datasets.editing import PendingEdits, RowEdit
from engine.data.datasets.store import Dataset
from engine.data.formats.reading import read, recognise
from engine.errors import BadFile, StudioError
from engine.files.spreadsheet import escape_cell
from engine.phrases import phrase

ROW, NEW_LABEL = "row", "new_label"
NO_ANSWERS = "[]"
MAX_DIGITS = 18
SHOWN = 20  # labels named in an error


def read_corrections(
    file: Path,
    dataset: Dataset,
    column: str | None = None,
    part: SplitName | None = None,
    encoding: str | None = None,
) -> PendingEdits:
    """Read labels of a file that differ from those of a version.

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
    row_at, label_at = table.columns.index(ROW), table.columns.index(chosen)
    texts = [name for name in mapping.texts if name in table.columns and name != chosen]
    rows, known = _Rows(file, dataset, part), _known_label(dataset)
    new: dict[int, str] = {}
    numbers, cells, lines = [], [], []
    for row in table:
        numbers.append(rows.number(row.cells[row_at], row.line))
        cells.append([row.cells[table.columns.index(name)] for name in texts])
        lines.append(row.line)
        if cell := row.cells[label_at].strip():
            try:
                new[numbers[-1]] = known(cell, numbers[-1])
            except StudioError as error:
                raise BadFile(file, error.problem, error.advice, row.line) from error
    _refuse_other_texts(file, dataset, texts, numbers, cells, lines)
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
            "Write the new labels into the column “{column}”.",
            name=file.name,
            column=chosen,
        )
    return PendingEdits(fingerprint=dataset.spec.fingerprint, rows=edits)


class _Rows:
    """Row indices as a file names them, each at most once."""

    def __init__(self, file: Path, dataset: Dataset, part: SplitName | None) -> None:
        self._file, self._part = file, part
        self._numbers: NDArray[np.int64] = (
            np.arange(len(dataset), dtype=np.int64)
            if part is None
            else np.flatnonzero(dataset.splits == SPLITS.index(part))
        )
        self._seen: dict[int, int] = {}  # line, by row

    def number(self, cell: str, line: int) -> int:
        """Row index in the version."""
        text = cell.strip()
        is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
        if not (is_number and int(text) < len(self._numbers)):
            where = phrase("the data set") if self._part is None else self._part
            raise BadFile(
                self._file,
                phrase("no row has the number “{cell}”.", cell=text[:60]),
                phrase(
                    "Rows of {where} have the numbers 0 to {last}.",
                    where=where,
                    last=len(self._numbers) - 1,
                ),
                line,
            )
        number = int(text)
        if number in self._seen:
            raise BadFile(
                self._file,
                phrase("row {n} is also in line {line}.", n=number, line=self._seen[number]),
                phrase("Name each row once."),
                line,
            )
        self._seen[number] = line
        return int(self._numbers[number])


Known = Callable[[str, int], str]
"""Cell of the version for the cell of a file and a row; raises StudioError if it does not fit."""


def _known_label(dataset: Dataset) -> Known:
    if dataset.spec.mapping.label is not None:
        return _known_class(dataset.spec.labels)
    return _known_tags(dataset) if dataset.spec.mapping.tags is not None else _known_answer(dataset)


def _known_class(labels: dict[str, int]) -> Known:
    """Labels of the version; scores may have any value."""
    sets, are_numbers = count_label_sets(labels), is_scale(labels)
    known = [name for name in (labels if sets is None else sets) if name]

    def check(cell: str, _row: int) -> str:
        if are_numbers:
            if parse_number(cell) is not None:
                return cell
            advice = phrase("Write a number.")
        else:
            names = (cell,) if sets is None else parse_label_sets([cell], known)[0]
            if set(names) <= set(known):
                return cell
            some = ", ".join(name[:60] for name in known[:SHOWN])
            more = ", …" if len(known) > SHOWN else ""
            advice = phrase("Use one of {names}.", names=f"{some}{more}")
        raise StudioError("no row has the label “{cell}”.", advice, cell=cell[:60])

    return check


def _known_tags(dataset: Dataset) -> Known:
    """Tags of the words of a row, converted to BIO if they name spans."""
    mapping, types = dataset.spec.mapping, set(dataset.spec.spans)
    assert mapping.tags is not None
    column = () if types else dataset.column(mapping.tags).to_pylist()
    known = types or {tag for cell in column for tag in split_words(cell or "")}

    def check(cell: str, row: int) -> str:
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
                    names=", ".join(name[:60] for name in sorted(known)[:SHOWN]),
                )
        return join_words(tags_from_spans(spans, len(words), "BIO") if types else tags)

    return check


def _known_answer(dataset: Dataset) -> Known:
    """Answers that are in the passage of a row, with their positions."""
    passage = dataset.spec.mapping.pair
    assert passage is not None  # answers have a passage

    def check(cell: str, row: int) -> str:
        if cell == NO_ANSWERS:
            return ""
        try:
            return format_answers(parse_answers(cell, dataset.page(row, 1)[0][passage]))
        except AnswerMismatch as unfit:
            raise StudioError(
                phrase("{problem}.", problem=unfit.args[0]),
                phrase("Copy the answer from the passage."),
            ) from unfit

    return check


def _refuse_other_texts(
    file: Path,
    dataset: Dataset,
    names: list[str],
    numbers: list[int],
    cells: list[list[str]],
    lines: list[int],
) -> None:
    """Raise BadFile if the texts of the rows differ from those of the version."""
    indices = np.array(numbers, dtype=np.int64)
    for at, name in enumerate(names):
        ours = dataset.column(name).take(indices).to_pylist()
        for text, theirs, line in zip(ours, cells, lines, strict=True):
            if theirs[at] not in (text or "", escape_cell(text or "")):
                raise BadFile(
                    file,
                    phrase("the row has another text in the data set."),
                    phrase(
                        "Name the version that the file was made from, and --part where its rows"
                        " are counted within one."
                    ),
                    line,
                )
