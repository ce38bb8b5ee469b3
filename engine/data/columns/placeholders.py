"""Labels that mean that a row has none."""

from collections.abc import Collection

from engine.data.columns.numbers import parse_number

# of SNLI, annotation tools, pandas and Excel
PLACEHOLDERS = ("-", "--", "?", "n/a", "#n/a", "<na>", "nan", "null", "unlabeled", "unlabelled")
UNKNOWN = "-1"  # of many published data sets, but also of scales from -1 to 1


def find_placeholders(labels: Collection[str]) -> list[str]:
    """Placeholders next to at least two labels with letters or digits, and to no others."""
    found = [label for label in labels if label.casefold() in PLACEHOLDERS]
    others = [label for label in labels if label and label not in found]
    is_clear = len(others) > 1 and all(any(map(str.isalnum, label)) for label in others)
    return found if is_clear else []


def has_unknown_class(labels: Collection[str]) -> bool:
    """True if `UNKNOWN` is the only negative number among at least three labels."""
    numbers = [number for label in labels if (number := parse_number(label)) is not None]
    return UNKNOWN in labels and len(labels) > 2 and sum(number < 0 for number in numbers) == 1
