"""Spelling variants of labels: case, white space, numerals, typing errors."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from engine.data.columns.numbers import parse_number

MIN_TYPO_LETTERS = 4
MIN_TYPO_RATIO = 20  # between the frequencies of the correct and the misspelled label
MAX_COMPARED_LABELS = 1_000


class Spellings(NamedTuple):
    """Labels that may be the same: `usual` is the most frequent; `rows` counts the others."""

    usual: str
    others: tuple[str, ...]
    rows: int


def plain_label(label: str) -> str:
    """Common form of all spellings of a label: case, white space, numerals.

    1.0 and 1 are the same number; numbers with a comma, which may separate thousands, are kept.
    """
    number = None if "," in label else parse_number(label)
    if number is not None:
        return f"{number:.17g}"
    return " ".join(unicodedata.normalize("NFKC", label).casefold().split())


def by_plain_form(labels: Iterable[str]) -> dict[str, str]:
    """Labels by their plain form (`plain_label`), without those that share it."""
    forms = {label: plain_label(label) for label in labels}
    counts = Counter(forms.values())
    return {form: label for label, form in forms.items() if counts[form] == 1}


def find_spellings(labels: Mapping[str, int]) -> list[Spellings]:
    """Find labels in several spellings; `labels` has the rows by label."""
    by_form: dict[str, list[str]] = {}
    for label in labels:
        if label:
            by_form.setdefault(plain_label(label), []).append(label)
    rows = {plain: sum(labels[name] for name in group) for plain, group in by_form.items()}
    typos = _find_typos(rows)
    for typo, correct in typos.items():
        while correct in typos:
            correct = typos[correct]
        by_form[correct] += by_form.pop(typo)
    spellings = []
    for group in by_form.values():
        usual, *others = sorted(group, key=lambda label: (labels[label], label), reverse=True)
        if others:
            count = sum(labels[label] for label in others)
            spellings.append(Spellings(usual, tuple(sorted(others)), count))
    return spellings


def _find_typos(rows: Mapping[str, int]) -> dict[str, str]:
    """Rare labels that differ by one letter from a frequent one."""
    words = [
        label for label in rows if len(label) >= MIN_TYPO_LETTERS and not re.search(r"[\d_]", label)
    ]
    if len(words) > MAX_COMPARED_LABELS:
        return {}
    typos = {}
    for label in words:
        least = max(MIN_TYPO_RATIO * rows[label], 1)  # yes/no columns may have no row with yes
        frequent = (word for word in words if rows[word] >= least)
        correct = next((word for word in frequent if _is_one_letter_apart(label, word)), None)
        if correct is not None:
            typos[label] = correct
    return typos


def _is_one_letter_apart(word: str, other: str) -> bool:
    """True if a letter was changed, left out, doubled, or swapped with the next."""
    if abs(len(word) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    rest, other_rest = word[start:], other[start:]
    return (
        rest[1:] == other_rest[1:]
        or rest[1:] == other_rest
        or rest == other_rest[1:]
        or (rest[:2] == other_rest[:2][::-1] and rest[2:] == other_rest[2:])
    )


def match_labels(names: Iterable[str], known: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    """Map labels of a file to those of a model, and list those without a match.

    All labels of a file follow one convention: exact; other case or numerals; or, if no label of
    the model is a number, indices from 0. The convention that matches most labels is used.
    """
    labels = list(dict.fromkeys(names))
    has_numbers = any(parse_number(label) is not None for label in known)
    conventions = [
        {label: label for label in known},
        by_plain_form(known),
        {} if has_numbers else {str(number): label for number, label in enumerate(known)},
    ]
    keys: tuple[Callable[[str], str], ...] = (str, plain_label, plain_label)
    best: dict[str, str] = {}
    for convention, key in zip(conventions, keys, strict=True):
        matches = {label: convention[key(label)] for label in labels if key(label) in convention}
        if len(matches) > len(best):
            best = matches
    return best, [label for label in labels if label not in best]
