"""Several labels per row: in one cell, or as yes/no columns."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from engine.data.columns.numbers import row_name
from engine.errors import StudioError

SEPARATORS = ("|", ";", ",")  # the first that occurs in any cell is used
YES = ("1", "1.0", "true", "yes")
NO = ("0", "0.0", "false", "no")
SAMPLE_CELLS = 5_000
MAX_LABEL_CHARACTERS = 60  # in a set


def parse_label_sets(cells: Iterable[str], known: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The distinct labels in each cell, in order; none in an empty cell.

    They are in a JSON list, or separated by “|”, “;” or “,”: the first of these in any cell
    separates the labels of all cells. A cell that is one of the `known` labels is not split.
    """
    texts = list(cells)
    lists = [(cell.strip(),) if cell.strip() in known else _parse_json_list(cell) for cell in texts]
    rest = [cell for cell, labels in zip(texts, lists, strict=True) if labels is None]
    sep = next((sep for sep in SEPARATORS if any(sep in cell for cell in rest)), None)
    return [
        (_unique([cell] if sep is None else cell.split(sep)) if labels is None else labels)
        for cell, labels in zip(texts, lists, strict=True)
    ]


def _parse_json_list(cell: str) -> tuple[str, ...] | None:
    """Parse a JSON list of labels; None for any other cell."""
    if not cell.strip().startswith("["):
        return None
    try:
        labels = json.loads(cell, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(label, str) for label in labels):
        return None
    return _unique(labels)


def _unique(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label.strip() for label in labels if label.strip()))


def join_labels(labels: Sequence[str]) -> str:
    """Join labels in one cell; the inverse of `parse_label_sets`."""
    plain = not any("|" in label or label.startswith("[") for label in labels)
    return "|".join(labels) if plain else json.dumps(list(labels), ensure_ascii=False)


def count_label_sets(cells: Mapping[str, int]) -> dict[str, int] | None:
    """Count the rows with each label from those with each cell; None if cells hold one label.

    Cells hold several labels if most labels that occur together also occur in other cells.
    """
    if not _hold_several(parse_label_sets(islice(cells, 0, None, 1 + len(cells) // SAMPLE_CELLS))):
        return None
    counts = Counter[str]()
    for labels, rows in zip(parse_label_sets(cells), cells.values(), strict=True):
        counts.update(dict.fromkeys(labels, rows))
    return dict(sorted(counts.items()))


def _hold_several(sets: Sequence[Sequence[str]]) -> bool:
    co_occurring = [label for labels in sets if len(labels) > 1 for label in labels]
    occurrences = Counter(label for labels in sets for label in labels)  # in distinct cells
    repeated = sum(occurrences[label] > 1 for label in co_occurring)
    if not co_occurring or repeated < len(co_occurring) / 2:
        return False
    return max(map(len, occurrences)) <= MAX_LABEL_CHARACTERS


def parse_flags(name: str, cells: Sequence[str], lines: Sequence[int] | None = None) -> list[bool]:
    """Yes or no for each cell of a column.

    Raises StudioError with the line if a cell is neither.
    """
    flags = [parse_yes_no(cell) for cell in cells]
    for index, yes in enumerate(flags):
        if yes is None:
            raise StudioError(
                "The column “{name}” is neither yes nor no in {place}: it contains “{cells}”.",
                "Use 1 or 0, true or false, yes or no.",
                name=name[:60],
                place=row_name(index, lines),
                cells=cells[index][:60],
            )
    return [bool(yes) for yes in flags]


def parse_yes_no(cell: str) -> bool | None:
    """Parse a common spelling of yes or no; None for any other cell."""
    folded = cell.strip().casefold()
    return True if folded in YES else False if folded in NO else None
