"""Labels that mean that a row has none."""

from collections.abc import Collection

from engine.data.columns.numbers import parse_number

# of SNLI, annotation tools, pandas, MySQL, Stata and Excel
PLACEHOLDERS = (
    *("-", "--", "?", "n/a", "#n/a", "<na>", "nan", "nat", "null", "(null)", "\\n"),
    *("(blank)", "unlabeled", "unlabelled", "#div/0!", "#name?", "#null!", "#num!", "#ref!"),
    *("#value!", ".", *(f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")),
)
AMONG_NUMBERS = ("na", "none", "nil", "missing", "unknown")  # that may be classes otherwise
CODES = (-1, -9, -99, -100, -999, 99, 999, 9999)  # of published data sets, PyTorch and SPSS
R_MISSING = "NA"  # as R writes a missing cell
MIN_GAP = 10  # of a positive code to the largest other number


def find_placeholders(labels: Collection[str]) -> list[str]:
    """Placeholders next to at least two labels with letters or digits, and to no others."""
    given = [label for label in labels if label and label.casefold() not in PLACEHOLDERS]
    others = [label for label in given if label.casefold() not in AMONG_NUMBERS]
    if len(others) < 2 or any(parse_number(label) is None for label in others):
        others = given
    is_clear = len(others) > 1 and all(any(map(str.isalnum, label)) for label in others)
    kept = {"", *others}
    return [label for label in labels if label not in kept] if is_clear else []


def find_uncoded(cells: Collection[str]) -> list[str]:
    """Cells of coders that mean that a row was not coded: placeholders, and NA between labels."""
    others = [cell for cell in cells if cell != R_MISSING]
    found = find_placeholders(others)
    has_labels = len({*others} - {"", *found}) > 1
    return [*found, *([R_MISSING] if has_labels and R_MISSING in cells else [])]


def find_codes(labels: Collection[str]) -> list[str]:
    """Numbers such as -1, -99 or 99 that often mean that a row has no label.

    A negative one is next to no other negative number; a positive one is far above all others. At
    least two labels are none of them.
    """
    numbers = {label: n for label in labels if (n := parse_number(label)) is not None}
    codes = {label: number for label, number in numbers.items() if number in CODES}
    others = [number for label, number in numbers.items() if label not in codes]
    names = {label for label in labels if label} - codes.keys()
    is_far = len(others) == len(names) and all(number >= 0 for number in others)
    return [
        code
        for code, number in codes.items()
        if len(names) > 1
        and not any(label.startswith("+") for label in labels)
        and all(number >= 0 for number in others)
        and (number < 0 or (is_far and number > MIN_GAP * max(others)))
    ]
