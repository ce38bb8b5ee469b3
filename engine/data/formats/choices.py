"""Multiple choice as SWAG writes it: a context, endings of which one is right, and its number.

Tables and JSON lines are read (Zellers et al. 2018); the endings stand in a column each, or as a
list in one.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from engine.data.formats.jsonl import open_jsonl
from engine.data.formats.rows import Content, Remarks, Row
from engine.data.formats.table import open_table
from engine.data.lines import Lines
from engine.data.mapping import plain_name
from engine.errors import BadFile, MissingColumn, StudioError
from engine.spec.dataset import Reading

CONTEXTS = (
    *("sent1", "ctxa", "context", "ctx", "premise", "prompt", "questionprompt", "startphrase"),
    *("questionstem", "stem", "question", "article", "passage", "text"),
)
BEGINNINGS = ("sent2", "ctxb")
ENDING = re.compile(r"(ending|choice|option|answer|alternative|solution|sol)(\d{1,2}|[a-j])")
LISTS = ("endings", "choices", "options", "candidateanswers", "answers", "alternatives")
LABELS = (
    *("label", "gold", "goldlabel", "correct", "correctansweridx", "answeridx", "answerindex"),
    *("answer", "answerkey", "target"),
)
LOOKED_AT = 2_000  # rows by which columns are told apart


class ChoiceColumns(NamedTuple):
    """Which column holds what."""

    context: str
    beginning: str | None  # of every ending: the second sentence of SWAG as far as it is given
    endings: tuple[str, ...]  # a column each, or a single one with lists
    label: str | None  # None where nobody says which ending is right
    first: int = 0  # the number of the first ending in the label column


class Choices(NamedTuple):
    """One example. `line` counts from 1; `label` from 0, and None means that nobody says."""

    line: int
    context: str
    beginning: str
    endings: tuple[str, ...]
    label: int | None


def open_choices(
    lines: Lines, reading: Reading, remarks: Remarks, columns: ChoiceColumns | None = None
) -> Iterator[Choices]:
    """The examples of a file, read as they are asked for; `columns` None means recognised.

    Raises:
        BadFile: with the line, where endings or label make no choice, or as the format does.
        MissingColumn: where one of `columns` is not there.
        StudioError: where it is not clear which columns hold what.
    """
    if columns is None:
        reading = _with_header(lines, reading)
    content = _open(lines, reading, remarks)
    rows = list(islice(content.rows, LOOKED_AT))
    if columns is None:
        columns = guess_columns(content.columns, [row.cells for row in rows])
    if columns is None:
        raise StudioError(
            f"It is not clear which columns of {lines.path.name} hold a context and its endings.",
            f"Name them; the columns are {', '.join(c[:60] for c in content.columns[:20])}.",
        )
    used = (columns.context, columns.beginning, *columns.endings, columns.label)
    for name in used:
        if name is not None and name not in content.columns:
            raise MissingColumn(name, list(content.columns))
    return _choices(lines.path, Content(content.columns, chain(rows, content.rows)), columns)


def _open(lines: Lines, reading: Reading, remarks: Remarks) -> Content:
    match reading.format:
        case "jsonl":
            return open_jsonl(lines, reading, remarks)
        case "csv" | "tsv":
            return open_table(lines, reading, remarks)
        case _:
            raise BadFile(
                lines.path, "plain text holds no choices.", "Choose a table or JSON lines."
            )


def _with_header(lines: Lines, reading: Reading) -> Reading:
    """A first row that names a context and endings is a header, whatever it looks like."""
    if reading.header or reading.format not in ("csv", "tsv"):
        return reading
    first = next(_open(lines, reading, Remarks()).rows, None)
    named = first is not None and _by_names(first.cells, {}) is not None
    return reading.model_copy(update={"header": named})


def _choices(path: Path, content: Content, columns: ChoiceColumns) -> Iterator[Choices]:
    places = {name: number for number, name in enumerate(content.columns)}
    beginning = None if columns.beginning is None else places[columns.beginning]
    label = None if columns.label is None else places[columns.label]
    for row in content.rows:
        endings = _endings(path, row, [places[name] for name in columns.endings])
        yield Choices(
            line=row.line,
            context=row.cells[places[columns.context]],
            beginning="" if beginning is None else row.cells[beginning],
            endings=endings,
            label=None if label is None else _label(path, row, label, columns.first, len(endings)),
        )


def _endings(path: Path, row: Row, places: list[int]) -> tuple[str, ...]:
    if len(places) == 1:
        found = _list(row.cells[places[0]])
        if found is None:
            problem = "its endings are not a list of texts."
            raise BadFile(path, problem, "Write [“…”, “…”], in straight quotes.", line=row.line)
    else:
        found = tuple(row.cells[place] for place in places)
    if len(found) < 2:
        problem = f"there is a choice of {len(found)}, and two endings are needed at least."
        raise BadFile(path, problem, "Mend this row, or leave it out.", line=row.line)
    empty = next((n for n, ending in enumerate(found, start=1) if not ending.strip()), 0)
    if empty:
        problem = f"ending {empty} of {len(found)} is empty."
        raise BadFile(path, problem, "Mend this row, or leave it out.", line=row.line)
    return found


def _list(cell: str) -> tuple[str, ...] | None:
    """A JSON list of texts."""
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        return None
    return tuple(found)


def _label(path: Path, row: Row, place: int, first: int, count: int) -> int:
    cell = row.cells[place].strip()
    number = int(cell) - first if re.fullmatch(r"[0-9]{1,3}", cell) else -1
    if not 0 <= number < count:
        problem = f"the label “{cell[:60]}” is no number from {first} to {first + count - 1}."
        raise BadFile(path, problem, "Mend it, or choose another label column.", line=row.line)
    return number


def guess_columns(
    columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> ChoiceColumns | None:
    """The columns by their names, else by the numbers in the last one; None where neither tells."""
    cells = dict(zip(columns, zip(*rows, strict=True), strict=True)) if rows else {}
    return _by_names(columns, cells) or _by_numbers(columns, cells)


def _by_names(columns: tuple[str, ...], cells: dict[str, tuple[str, ...]]) -> ChoiceColumns | None:
    names = {plain_name(column): column for column in reversed(columns)}
    context = next((names[name] for name in CONTEXTS if name in names), None)
    endings = _named_endings(names) or _list_column(names, cells)
    if context is None or not endings:
        return None
    label = next((names[n] for n in LABELS if n in names and names[n] not in endings), None)
    count = len(endings)
    if count == 1:
        count = max((len(_list(cell) or ()) for cell in cells.get(endings[0], ())), default=0)
    return ChoiceColumns(
        context=context,
        beginning=next((names[name] for name in BEGINNINGS if name in names), None),
        endings=endings,
        label=label,
        first=0 if label is None else _first(cells.get(label, ()), count),
    )


def _named_endings(names: dict[str, str]) -> tuple[str, ...]:
    """The largest family of columns such as ending0, ending1, …, in their order."""
    families: dict[str, list[tuple[int, str]]] = {}
    for name, column in names.items():
        match = ENDING.fullmatch(name)
        if match:
            stem, mark = match.groups()
            order = int(mark) if mark.isdigit() else ord(mark)
            families.setdefault(stem, []).append((order, column))
    largest = max(families.values(), key=len, default=[])
    return tuple(column for _, column in sorted(largest)) if len(largest) > 1 else ()


def _list_column(names: dict[str, str], cells: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A column with a usual name that begins with a list."""
    found = (names[name] for name in LISTS if name in names)
    return next(((c,) for c in found if c in cells and _list(cells[c][0]) is not None), ())


def _by_numbers(
    columns: tuple[str, ...], cells: dict[str, tuple[str, ...]]
) -> ChoiceColumns | None:
    """A table without names: a context, its endings, and the number of the right one at the end."""
    last = cells.get(columns[-1], ()) if columns else ()
    if not last or not all(re.fullmatch(r"[0-9]{1,2}", cell.strip()) for cell in last):
        return None
    first = min(map(int, last))
    count = max(map(int, last)) - first + 1
    if first > 1 or count < 2 or len(columns) < count + 2:
        return None
    endings = columns[-1 - count : -1]
    if not all(cell.strip() for name in endings for cell in cells[name]):
        return None
    return ChoiceColumns(columns[-2 - count], None, endings, columns[-1], first)


def _first(labels: Sequence[str], count: int) -> int:
    """From which number the labels count the endings."""
    found = {label.strip() for label in labels}
    return 1 if str(count) in found and "0" not in found else 0
