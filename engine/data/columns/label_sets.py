"""Several labels per row: in one cell, or as yes/no columns."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from engine.data.columns.lists import parse_texts
from engine.data.columns.numbers import are_ids, parse_number, row_name
from engine.errors import StudioError
from engine.phrases import phrase

SEPARATORS = ("|", ";", ",", "#")  # doccano writes “#”
YES_WORDS = (
    "true",
    "t",
    "yes",
    "y",
    "ja",
    "oui",
    "sí",
    "si",
    "sì",
    "sim",
    "да",
    "tak",
    "是",
    "はい",
)
YES = ("1", "1.0", "1.", *YES_WORDS)  # NumPy prints “1.”
NO_WORDS = ("false", "f", "no", "n", "nein", "nee", "non", "não", "нет", "nie", "否", "いいえ")
NO = ("0", "0.0", "0.", *NO_WORDS)
MARKS = ("x", "✓", "✔", "☑", "☒", "*")  # yes in a column whose other cells are empty
OTHER_SEPARATORS = ("/", "&", "+", "\n", "><", "、", "，", "；", " - ", " and ", " ")
"""Signs that separate labels only by choice of a fix: “R&D” and “very good” are one label."""
MIN_KNOWN = 0.9  # of the parts of labels occur alone
SAMPLE_CELLS = 5_000
MAX_LABEL_CHARACTERS = 60  # in a set


def parse_label_sets(cells: Iterable[str], known: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The distinct labels in each cell, in order; none in an empty cell.

    They are in a list, or one separator separates the labels of all cells (`find_separator`). A
    cell that is one of the `known` labels is not split. The labels of lists of yes or no
    (`are_yes_no_lists`) are the positions of yes, from 0.
    """
    texts = list(cells)
    lists = [(cell.strip(),) if cell.strip() in known else parse_texts(cell) for cell in texts]
    if are_yes_no_lists(lists):
        lists = [None if bits is None else _positions(bits) for bits in lists]
    rest = [cell for cell, labels in zip(texts, lists, strict=True) if labels is None]
    sep = find_separator(rest)
    return [
        _unique(([cell] if sep is None else cell.split(sep)) if labels is None else labels)
        for cell, labels in zip(texts, lists, strict=True)
    ]


def are_yes_no_lists(lists: Iterable[Sequence[str] | None]) -> bool:
    """True for lists of one length with only yes or no, such as [0, 1, 1, 0]: labels never repeat.

    [1, 0] is one only next to a list that repeats an item.
    """
    given = [bits for bits in lists if bits]
    return (
        any(len({*bits}) < len(bits) for bits in given)
        and len({*map(len, given)}) == 1
        and all(parse_yes_no(bit) is not None for bits in given for bit in bits)
    )


def _positions(bits: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(index) for index, bit in enumerate(bits) if parse_yes_no(bit))


def find_separator(cells: Sequence[str]) -> str | None:
    """The first of `SEPARATORS` in any cell; None without one.

    “#” separates labels only if it is always between two of them, unlike in “C#”.
    """
    found = (sep for sep in SEPARATORS if any(sep in cell for cell in cells))
    separator = next(found, None)
    if separator == "#" and not all(all(map(str.strip, cell.split("#"))) for cell in cells if cell):
        return None
    return separator


def mixed_separators(cells: Collection[str]) -> tuple[str, str, str] | None:
    """The separator of the cells, a second one, and a label that both leave whole; None for one.

    The parts that the second one separates nearly all occur alone in other cells.
    """
    first = find_separator([*cells])
    if first is None or len(cells) > SAMPLE_CELLS:
        return None
    labels = dict.fromkeys(label for found in parse_label_sets(cells) for label in found)
    for sign in SEPARATORS[SEPARATORS.index(first) + 1 :]:
        whole = [label for label in labels if sign in label]
        parts = [part for label in whole for part in split_labels(label, sign)]
        known = sum(part in labels for part in parts)
        if len(parts) > len(whole) and known >= MIN_KNOWN * len(parts):
            return first, sign, whole[0]
    return None


def mixture_note(cells: Collection[str]) -> str:
    """Say that labels are separated by two signs, of which one is read; “” if they are not."""
    found = mixed_separators(cells)
    if found is None:
        return ""
    first, second, label = found
    return phrase(
        "Labels are separated by “{first}” and by “{second}”, but only “{first}” is read as a "
        "separator: “{label}” is one label.",
        first=first,
        second=second,
        label=label[:60],
    )


def other_separator(labels: Collection[str]) -> str | None:
    """The first of `OTHER_SEPARATORS` whose parts nearly all occur alone in other labels."""
    alone = {label.strip() for label in labels}

    def separates(sign: str) -> bool:
        sets = [split_labels(label, sign) for label in alone if sign in label]
        parts = [part for labels in sets for part in labels]
        is_between = bool(sets) and all(len(labels) > 1 for labels in sets)
        return is_between and sum(part in alone for part in parts) >= MIN_KNOWN * len(parts)

    if len(labels) > SAMPLE_CELLS or find_separator([*labels]) is not None:
        return None
    return next(filter(separates, OTHER_SEPARATORS), None)


def split_labels(label: str, sign: str) -> tuple[str, ...]:
    text = label.strip("<>") if sign == "><" else label
    return tuple(dict.fromkeys(part.strip() for part in text.split(sign) if part.strip()))


def _unique(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label.strip() for label in labels if label.strip()))


def join_labels(labels: Sequence[str], as_list: bool = False) -> str:
    """Join labels in one cell, perhaps as a list; the inverse of `parse_label_sets`.

    Only a list tells no label from a missing one, and one label in a set from one label.
    """
    plain = not as_list and not any("|" in label or label.startswith("[") for label in labels)
    return "|".join(labels) if plain else json.dumps(list(labels), ensure_ascii=False)


def count_label_sets(cells: Mapping[str, int]) -> dict[str, int] | None:
    """Count the rows with each label from those with each cell; None if cells hold one label.

    Cells hold several labels if all are lists, or if most labels that occur together also occur in
    other cells. Parts that never occur alone, always as many and each in one position, are one
    label: “Austin, TX”; and so are numbers with a decimal comma.
    """
    sample = list(islice(cells, 0, None, 1 + len(cells) // SAMPLE_CELLS))
    if not _hold_several(sample):
        return None
    counts = Counter[str]()
    for labels, rows in zip(parse_label_sets(cells), cells.values(), strict=True):
        counts.update(dict.fromkeys(labels, rows))
    return dict(sorted(counts.items()))


def _hold_several(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    sets = parse_label_sets(filled)
    occurrences = Counter(label for labels in sets for label in labels)  # in distinct cells
    if max(map(len, occurrences), default=0) > MAX_LABEL_CHARACTERS:
        return False
    if filled and all(parse_texts(cell) is not None for cell in filled):
        return True
    if all(parse_number(cell) is not None for cell in filled) and not are_ids(filled):
        return False  # with decimal commas
    co_occurring = [label for labels in sets if len(labels) > 1 for label in labels]
    repeated = sum(occurrences[label] > 1 for label in co_occurring)
    if not co_occurring or repeated < len(co_occurring) / 2:
        return False
    return find_separator(filled) != "," or not _are_columns(sets)


def _are_columns(sets: Sequence[Sequence[str]]) -> bool:
    """True if each set has as many labels, and each label one position."""
    positions = {(label, position) for labels in sets for position, label in enumerate(labels)}
    return len({len(labels) for labels in sets}) == 1 and len(positions) == len(
        {label for label, _ in positions}
    )


def parse_flags(name: str, cells: Sequence[str], lines: Sequence[int] | None = None) -> list[bool]:
    """Yes or no for each cell of a column; an empty cell is no in a column of marks.

    Raises StudioError with the line if a cell is neither.
    """
    flags = [parse_flag(cell, name) for cell in cells]
    blank_is_no = allows_blanks(cells, name)
    for index, yes in enumerate(flags):
        if yes is None and not (blank_is_no and not cells[index].strip()):
            raise StudioError(
                "The column “{name}” is neither yes nor no in {place}: it contains “{cells}”.",
                "Use 1 or 0, true or false, yes or no.",
                name=name[:60],
                place=row_name(index, lines),
                cells=cells[index][:60],
            )
    return [bool(yes) for yes in flags]


def is_mark(cell: str, name: str) -> bool:
    """True for a mark that means yes: “x”, or the option that the name of the column ends with.

    SurveyMonkey writes “Ducks” in the column “Which? – Ducks”.
    """
    return cell.strip().casefold() in MARKS or is_option(cell, name)


def is_option(cell: str, name: str) -> bool:
    """True if a cell is the option that its column is named by, perhaps after a question."""
    folded = cell.strip().casefold()
    return bool(folded) and f"– {name.casefold()}".endswith(f"– {folded}")


def parse_flag(cell: str, name: str) -> bool | None:
    """Parse yes, no or a mark in the column `name`; None for any other cell."""
    return True if is_mark(cell, name) else parse_yes_no(cell)


def allows_blanks(cells: Iterable[str], name: str) -> bool:
    """True if an empty cell of a column means no: others are marked, all are “Y”, or all empty."""
    filled = {cell.strip().casefold() for cell in cells if cell.strip()}
    return filled <= {*YES_WORDS} or any(is_mark(cell, name) for cell in filled)


def parse_yes_no(cell: str) -> bool | None:
    """Parse a common spelling of yes or no; None for any other cell."""
    folded = cell.strip().casefold()
    return True if folded in YES else False if folded in NO else None
