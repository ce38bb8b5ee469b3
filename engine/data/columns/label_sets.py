"""Several labels of one row: in one cell, or as columns that say yes or no."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from engine.data.columns.numbers import row_name
from engine.errors import StudioError
from engine.phrases import phrase

SEPARATORS = ("|", ";", ",")  # the first that stands in any cell is taken
YES = ("1", "1.0", "true", "yes")
NO = ("0", "0.0", "false", "no")
SAMPLE = 5_000  # different cells, by which is decided whether they hold several labels
MAX_LABEL_CHARACTERS = 60  # characters, of what is taken for one of several labels by its looks


def parse_label_sets(cells: Iterable[str], known: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The labels in each cell, each once, in their order; an empty cell has none.

    They stand in a JSON list, or between “|”, “;” or “,”: the first of these signs that is found
    in any of the cells parts all of them. A cell that is one of the `known` labels stays whole.
    """
    given = list(cells)
    lists = [(cell.strip(),) if cell.strip() in known else _list_in(cell) for cell in given]
    rest = [cell for cell, labels in zip(given, lists, strict=True) if labels is None]
    sign = next((sign for sign in SEPARATORS if any(sign in cell for cell in rest)), None)
    return [
        _parted(cell, sign) if labels is None else labels
        for cell, labels in zip(given, lists, strict=True)
    ]


def _list_in(cell: str) -> tuple[str, ...] | None:
    """The labels of a JSON list; None where the cell is none."""
    if not cell.strip().startswith("["):
        return None
    try:
        found = json.loads(cell, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(label, str) for label in found):
        return None
    return _each_once(found)


def _parted(cell: str, sign: str | None) -> tuple[str, ...]:
    return _each_once([cell] if sign is None else cell.split(sign))


def _each_once(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label.strip() for label in labels if label.strip()))


def join_labels(labels: Sequence[str]) -> str:
    """Labels as one cell, from which `parse_label_sets` gives them back."""
    plain = not any("|" in label or label.startswith("[") for label in labels)
    return "|".join(labels) if plain else json.dumps(list(labels), ensure_ascii=False)


def count_label_sets(cells: Mapping[str, int]) -> dict[str, int] | None:
    """How many rows have each label, from how many have each cell; None where cells hold one each.

    They hold several where most of the labels that stand in company stand in other cells too; of
    many different cells, some are looked at.
    """
    if not _hold_several(parse_label_sets(islice(cells, 0, None, 1 + len(cells) // SAMPLE))):
        return None
    counts = Counter[str]()
    for labels, rows in zip(parse_label_sets(cells), cells.values(), strict=True):
        counts.update(dict.fromkeys(labels, rows))
    return dict(sorted(counts.items()))


def _hold_several(sets: Sequence[Sequence[str]]) -> bool:
    company = [label for labels in sets if len(labels) > 1 for label in labels]
    stands = Counter(label for labels in sets for label in labels)  # in so many different cells
    again = sum(stands[label] > 1 for label in company)
    if not company or again < len(company) / 2:
        return False
    return max(map(len, stands)) <= MAX_LABEL_CHARACTERS


def parse_flags(name: str, cells: Sequence[str], lines: Sequence[int] | None = None) -> list[bool]:
    """Whether each cell of a column says yes.

    Raises:
        StudioError: with the line, where one says neither yes nor no.
    """
    said = [parse_yes_no(cell) for cell in cells]
    for place, yes in enumerate(said):
        if yes is None:
            raise StudioError(
                phrase(
                    "The column “{name}” is neither yes nor no in {place}: it contains “{cells}”.",
                    name=name[:60],
                    place=row_name(place, lines),
                    cells=cells[place][:60],
                ),
                phrase("Use 1 or 0, true or false, yes or no."),
            )
    return [bool(yes) for yes in said]


def parse_yes_no(cell: str) -> bool | None:
    """What a cell says in one of the usual spellings; None where it says neither."""
    folded = cell.strip().casefold()
    return True if folded in YES else False if folded in NO else None
