"""Multiple choice: the endings of each row and the correct one.

Each ending has a column, as in SWAG (Zellers et al. 2018), or all are in a list. The label is
an index from 0 or 1, a letter, or the text of the ending.
"""

import re
from collections.abc import Mapping as Columns
from collections.abc import Sequence

from engine.config.dataset import Mapping
from engine.data.columns.lists import parse_texts
from engine.data.columns.names import plain_name
from engine.data.columns.numbers import row_name
from engine.errors import StudioError
from engine.phrases import phrase

CONTEXTS = (
    *("sent1", "ctxa", "context", "ctx", "premise", "prompt", "questionprompt", "startphrase"),
    *("questionstem", "stem", "question", "article", "passage", "text", "goal", "sentence"),
)
BEGINNINGS = ("sent2", "ctxb")
PASSAGES = ("premise", "article", "passage", "context", "story", "paragraph", "document")
QUESTIONS = ("question", "questiontext", "query")
ENDING = re.compile(r"(ending|choice|option|op|answer|alternative|solution|sol)(\d{1,2}|[a-j])")
LISTS = ("endings", "choices", "choice", "options", "candidateanswers", "answers", "alternatives")
LABELS = (
    *("label", "gold", "goldlabel", "correct", "correctansweridx", "answeridx", "answerindex"),
    *("answer", "answerkey", "target", "cop", "correctanswerid", "correctindex", "correctoption"),
)
MIN_UNNAMED_CHOICES = 3  # endings of a table without column names
MAX_LENGTH_RATIO = 3.0  # between the text lengths of its columns
BETWEEN = "|"  # choices in one cell
NUMBER = re.compile(r"[0-9]{1,2}", re.ASCII)
CORRECT_ROW = phrase("Correct this row, or remove it.")


def parse_endings(
    cells: Sequence[tuple[str, ...]], lines: Sequence[int] | None = None
) -> list[tuple[str, ...]]:
    """The endings of each row, the same number in all rows.

    Raises StudioError with the line if a row has fewer than two, an empty one, or another number
    than the first row.
    """
    choices: list[tuple[str, ...]] = []
    for index, row in enumerate(cells):
        endings = row if len(row) > 1 else split_choices(row[0])
        if endings is None:
            raise StudioError(
                "The choices in {place} are not a list of texts.",
                "Write [“…”, “…”], in straight quotes, or “|” between the choices, or use one "
                "column per choice.",
                place=row_name(index, lines),
            )
        if len(endings) < 2:
            raise StudioError(
                "Only {n} choice(s) in {place}, but at least two are needed.",
                CORRECT_ROW,
                n=len(endings),
                place=row_name(index, lines),
            )
        if choices and len(endings) != len(choices[0]):
            raise StudioError(
                "There are {count} choices in {place}, but {count2} in {where}.",
                "All rows need the same number of choices: correct or remove those that differ.",
                count=len(endings),
                place=row_name(index, lines),
                count2=len(choices[0]),
                where=row_name(0, lines),
            )
        empty = next((n for n, ending in enumerate(endings, start=1) if not ending.strip()), 0)
        if empty:
            raise StudioError(
                "Choice {empty} of {count} is empty in {place}.",
                CORRECT_ROW,
                empty=empty,
                count=len(endings),
                place=row_name(index, lines),
            )
        choices.append(endings)
    return choices


def split_choices(cell: str) -> tuple[str, ...] | None:
    """The choices in one cell: a list of texts, or texts with “|” between them; else None."""
    texts = parse_texts(cell)
    if texts is None and BETWEEN in cell:
        return tuple(text.strip() for text in cell.split(BETWEEN))
    return texts


def parse_choice_labels(
    labels: Sequence[str],
    endings: Sequence[tuple[str, ...]],
    first: int | None = None,
    lines: Sequence[int] | None = None,
) -> list[int]:
    """Index of the correct ending of each row.

    `first` is the number of the first ending; by default it is inferred from the labels.

    Raises StudioError with the line if a label matches no ending.
    """
    if first is None:
        first = first_choice_number(labels, max(map(len, endings), default=0))
    rows = enumerate(zip(labels, endings, strict=True))
    return [
        _parse_label(label.strip(), texts, first, row_name(row, lines))
        for row, (label, texts) in rows
    ]


def _parse_label(label: str, endings: tuple[str, ...], first: int, line: str) -> int:
    if NUMBER.fullmatch(label) and 0 <= int(label) - first < len(endings):
        return int(label) - first
    if len(label) == 1 and 0 <= (index := ord(label.upper()) - ord("A")) < len(endings):
        return index
    if label in endings:
        return endings.index(label)
    last = chr(ord("A") + len(endings) - 1)
    raise StudioError(
        "The label “{label}” in {line} is not one of the choices.",
        "Use a number from {first} to {first2}, a letter from A to {last}, or the choice "
        "itself; or choose another label column.",
        label=label[:60],
        line=line,
        first=first,
        first2=first + len(endings) - 1,
        last=last,
    )


def first_choice_number(labels: Sequence[str], endings: int) -> int:
    """0 or 1: the number of the first ending, which is 1 if the last number occurs."""
    stripped = {label.strip() for label in labels}
    return 1 if str(endings) in stripped and "0" not in stripped else 0


def write_choice_label(index: int, endings: tuple[str, ...], labels: Sequence[str]) -> str:
    """The label of the ending at `index` (from 0), written like the other labels of its column."""
    stripped = [label.strip() for label in labels if label.strip()]
    first = first_choice_number(stripped, len(endings))
    letter = chr(ord("A") + index)
    if all(map(NUMBER.fullmatch, stripped)):
        return str(first + index)
    if all(len(label) == 1 and "A" <= label.upper() <= "Z" for label in stripped):
        return letter.lower() if all(map(str.islower, stripped)) else letter
    text = endings[index]  # which could also be the number or the letter of another ending
    return text if parse_choice_labels([text], [endings], first) == [index] else letter


def guess_choices(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Mapping | None:
    """Guess the columns by name, or by the numbers in the last column; None if neither fits."""
    cells = dict(zip(columns, zip(*rows, strict=True), strict=True)) if rows else {}
    return _from_names(columns, cells) or _from_numbers(columns, cells)


def _from_names(columns: tuple[str, ...], cells: Columns[str, tuple[str, ...]]) -> Mapping | None:
    names = {plain_name(column): column for column in reversed(columns)}
    context, beginning, passage, question = (
        next((names[name] for name in known if name in names), None)
        for known in (CONTEXTS, BEGINNINGS, PASSAGES, QUESTIONS)
    )
    if beginning is None and passage and question:
        context, beginning = passage, question  # RACE, CosmosQA: the passage, then the question
    endings = named_endings(names) or _list_column(names, cells)
    if context is None or not endings:
        return None
    return Mapping(
        text=context,
        beginning=beginning,
        endings=endings,
        label=next((names[n] for n in LABELS if n in names and names[n] not in endings), None),
    )


def named_endings(names: dict[str, str]) -> tuple[str, ...]:
    """The largest family of columns such as ending0, ending1, …, in order."""
    families: dict[str, list[tuple[int, str]]] = {}
    for name, column in names.items():
        match = ENDING.fullmatch(name)
        if match:
            stem, mark = match.groups()
            order = int(mark) if mark.isdigit() else ord(mark)
            families.setdefault(stem, []).append((order, column))
    largest = max(families.values(), key=len, default=[])
    return tuple(column for _, column in sorted(largest)) if len(largest) > 1 else ()


def _list_column(names: dict[str, str], cells: Columns[str, tuple[str, ...]]) -> tuple[str, ...]:
    """A column with a known name whose first cell is a list of at least two texts."""
    named = (names[name] for name in LISTS if name in names)
    return next(
        ((c,) for c in named if c in cells and len(split_choices(cells[c][0]) or ()) > 1), ()
    )


def _from_numbers(columns: tuple[str, ...], cells: Columns[str, tuple[str, ...]]) -> Mapping | None:
    """Guess the columns of a table without names: context, endings, correct number or letter."""
    labels = {cell.strip() for cell in cells.get(columns[-1], ())} if columns else set[str]()
    letters = [ord(label) - ord("A") for label in labels if len(label) == 1 and label.isupper()]
    if not labels or not (len(letters) == len(labels) or all(map(NUMBER.fullmatch, labels))):
        return None
    numbers = sorted(letters or map(int, labels))
    count = numbers[-1] - numbers[0] + 1
    if numbers[0] > 1 or not MIN_UNNAMED_CHOICES <= count == len(numbers) <= len(columns) - 2:
        return None
    context, *endings = columns[-2 - count : -1]
    if not all(cell.strip() for name in endings for cell in cells[name]):
        return None
    lengths = [sum(map(len, cells[name])) for name in endings]
    has_words = all(
        any(" " in cell.strip() for cell in cells[name]) for name in (context, *endings)
    )
    if not has_words or max(lengths) > MAX_LENGTH_RATIO * min(lengths):
        return None
    return Mapping(text=context, endings=tuple(endings), label=columns[-1])
