"""What gives the label away: one word, or one other column, that predicts it nearly alone.

Kaufman et al. 2012, “Leakage in data mining”, and Gururangan et al. 2018, “Annotation artifacts”.
"""

import re

import numpy as np
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Fix
from engine.data.checks.check_input import CheckInput, Labels
from engine.data.checks.groups import distinct
from engine.data.checks.words import NO_WORD
from engine.data.columns.numbers import number_in
from engine.data.columns.plain_texts import plain_text
from engine.data.columns.words import IDEOGRAPH
from engine.phrases import phrase

PRECISION, RECALL = 0.98, 0.5  # of a word for a label
COLUMN_SCORE = 0.95  # of the rows that the most frequent label gets wrong, and a column right
FEW_ROWS = 20  # of a label or a word, below which chance is enough
SAMPLE = 100_000  # rows in which words are looked for
MAX_VALUES_SHARE = 0.2  # different values by rows, above which a column is an id
SHOWN = 5  # words
MAX_FIXED_ROWS = 200_000  # rows from which a word can be removed: all of them are kept in memory


def find(data: CheckInput) -> list[Finding]:
    labels = data.classes
    if labels is None or len(labels.names) < 2:
        return []
    rows = np.flatnonzero(labels.indices >= 0)
    rows = rows[:: -(-len(rows) // SAMPLE)] if len(rows) else rows
    return [*_words(data, labels, rows), *_columns(data, labels, rows)]


def _words(data: CheckInput, labels: Labels, rows: NDArray[np.int64]) -> list[Finding]:
    """A word that stands in half the rows of a label, and nearly nowhere else."""
    words, numbers = len(data.vocabulary), labels.indices[rows].astype(np.int64)
    stands = _stands_in(data, rows)  # row number times words, plus the word
    row, word = stands // words, stands % words
    keys, count = np.unique(word * len(labels.names) + numbers[row], return_counts=True)
    word_of, label_of = keys // len(labels.names), keys % len(labels.names)
    total = np.bincount(word, minlength=words)[word_of]
    of_label = np.bincount(numbers, minlength=len(labels.names))
    gives_away = (
        (count >= FEW_ROWS)
        & (count >= PRECISION * total)
        & (count >= RECALL * of_label[label_of])
        & (of_label[label_of] <= PRECISION * len(rows) * 0.9)  # no wonder with one label only
    )
    best = np.flatnonzero(gives_away)[np.argsort(-count[gives_away], kind="stable")][:SHOWN]
    return [
        _word(data, labels, int(word_of[one]), int(label_of[one]), count[one] / total[one])
        for one in best
    ]


def _stands_in(data: CheckInput, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each word of each row once: the place of the row in `rows` times words, plus the word."""
    size = len(data.vocabulary)
    found = []
    for name in data.text_columns:
        words = data.words(name).take(rows)
        row = np.repeat(np.arange(len(rows)), words.counts)
        found.append(row * size + words.ids)
    return distinct(np.concatenate(found))


def _word(data: CheckInput, labels: Labels, word: int, label: int, precision: float) -> Finding:
    has = np.zeros(data.rows, dtype=bool)
    for name in data.text_columns:
        words = data.words(name)
        has[np.repeat(np.arange(data.rows), words.counts)[words.ids == word]] = True
    rows = np.flatnonzero(has & (labels.indices == label))
    share = len(rows) / max(int((labels.indices == label).sum()), 1)
    sentence = phrase(
        "The word “{word}” gives the label “{label}” away: {precision:.0%} of the texts with it"
        " have this label, and {share:.0%} of its texts have the word.",
        word=data.vocabulary[word][:40],
        label=labels.names[label][:40],
        precision=precision,
        share=share,
    )
    fixes = _without(data, data.vocabulary[word], np.flatnonzero(has))
    return Finding("giveaways", "warning", len(rows), sentence, rows, fixes)


def _without(data: CheckInput, word: str, rows: NDArray[np.int64]) -> tuple[Fix, ...]:
    """The fix that removes a word from all texts that have others, too."""
    cells: dict[int, dict[str, str]] = {}
    for name in data.text_columns if len(rows) <= MAX_FIXED_ROWS else ():
        for row, cell in zip(rows.tolist(), data.cells(name, rows), strict=True):
            rest = without_word(cell, word)
            if rest != cell and any(map(str.isalnum, rest)):
                cells.setdefault(row, {})[name] = rest
    if not cells:
        return ()
    change = phrase("The word “{word}” removed from {n:,} row(s).", word=word[:40], n=len(cells))
    title, by = phrase("Remove “{word}”", word=word[:40]), f"remove-{word}"
    return (Fix(by, title, change, cells=dict(sorted(cells.items()))),)


def without_word(text: str, word: str) -> str:
    """The text without a word, in whatever case, and without the punctuation around it.

    A single ideograph is removed wherever it stands.
    """
    if IDEOGRAPH.fullmatch(word):
        return text.replace(word, "")
    parts = re.findall(r"\s*\S+", text)  # a word with the white space before it
    kept = [part for part in parts if NO_WORD.sub("", plain_text(part)) != word]
    return text if len(kept) == len(parts) else "".join(kept).strip()


def _columns(data: CheckInput, labels: Labels, rows: NDArray[np.int64]) -> list[Finding]:
    """A column that nobody reads: whoever uses it as a text would learn nothing but it."""
    found = []
    for name in data.columns:
        if name in data.mapping.columns or name == data.split.column:
            continue
        other = data.encoded(name)
        score = max(
            _score_of_values(other.indices[rows], labels.indices[rows]),
            _score_of_order(other, rows, labels.indices[rows]),
        )
        if score >= COLUMN_SCORE:
            sentence = phrase(
                "The column “{name}” gives the label away: alone it predicts {score:.0%} of what"
                " the most frequent label gets wrong. Do not use it as a text.",
                name=name[:60],
                score=score,
            )
            found.append(Finding("giveaways", "note", 1, sentence))
    return found


def _better_than_majority(right: int, labels: NDArray[np.int32]) -> float:
    """The share of the rows without the most frequent label that is right beyond it."""
    most = int(np.bincount(labels).max(initial=0))
    rest = len(labels) - most
    return (right - most) / rest if rest >= FEW_ROWS else 0.0


def _score_of_values(values: NDArray[np.int32], labels: NDArray[np.int32]) -> float:
    """How well the value of a column predicts the label, where values come again."""
    kinds = len(distinct(values))
    if kinds > MAX_VALUES_SHARE * len(values):
        return 0.0
    classes = int(labels.max(initial=0)) + 1
    pairs, counts = np.unique((values + 1).astype(np.int64) * classes + labels, return_counts=True)
    best = np.zeros(int(values.max(initial=0)) + 2, dtype=np.int64)
    np.maximum.at(best, pairs // classes, counts)
    return _better_than_majority(int(best.sum()), labels)


def _score_of_order(other: Labels, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> float:
    """How well a number predicts the label: as that of the next smaller one."""
    values = np.array([_number(name) for name in other.names] + [np.nan])
    values = values[other.indices[rows]]  # -1, an empty cell, is the last one
    if not np.isfinite(values).all() or len(distinct(values)) < 3:
        return 0.0
    order = np.argsort(values, kind="stable")
    sorted_values, sorted_labels = values[order], labels[order]
    if (np.diff(sorted_values) == 0).mean() > 1 - MAX_VALUES_SHARE:
        return 0.0  # few values: `_score_of_values` is about these
    if _is_order_of_rows(order):
        return 0.0  # rows that are sorted by label, and numbered: no column says more than that
    right = int((sorted_labels[1:] == sorted_labels[:-1]).sum()) + 1
    return _better_than_majority(right, labels)


def _is_order_of_rows(order: NDArray[np.int64]) -> bool:
    return bool((np.diff(order) > 0).all())


def _number(cell: str) -> float:
    number = number_in(cell)
    return np.nan if number is None else number
