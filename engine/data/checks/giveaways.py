"""Label leakage: a single word or an unused column that predicts the label almost alone.

Kaufman et al. 2012, “Leakage in data mining”, and Gururangan et al. 2018, “Annotation artifacts”.
"""

import re

import numpy as np
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Fix
from engine.data.checks.check_input import CheckInput, Labels
from engine.data.checks.groups import sorted_unique
from engine.data.checks.words import NON_WORD
from engine.data.columns.numbers import parse_number
from engine.data.columns.plain_texts import plain_text
from engine.data.columns.words import IDEOGRAPH
from engine.phrases import phrase

MIN_PRECISION, MIN_RECALL = 0.98, 0.5  # of a word as a predictor of a label
MIN_COLUMN_SCORE = 0.95  # fraction of the majority baseline's errors that the column gets right
MIN_ROWS = 20  # of a label or a word, to exclude chance
MAX_SAMPLED_ROWS = 100_000
MAX_DISTINCT_FRACTION = 0.2  # a column with more distinct values per row is an identifier
MAX_WORDS = 5  # that are reported
MAX_FIXED_ROWS = 200_000  # their cells are held in memory


def find(data: CheckInput) -> list[Finding]:
    labels = data.classes
    if labels is None or len(labels.names) < 2:
        return []
    rows = np.flatnonzero(labels.indices >= 0)
    rows = rows[:: -(-len(rows) // MAX_SAMPLED_ROWS)] if len(rows) else rows
    return [*_word_findings(data, labels, rows), *_column_findings(data, labels, rows)]


def _word_findings(data: CheckInput, labels: Labels, rows: NDArray[np.int64]) -> list[Finding]:
    """Words that are in half the rows of a label and almost never in others."""
    size, row_labels = len(data.vocabulary), labels.indices[rows].astype(np.int64)
    pairs = _row_words(data, rows)  # row index * vocabulary size + word id
    pair_rows, ids = pairs // size, pairs % size
    keys, counts = np.unique(ids * len(labels.names) + row_labels[pair_rows], return_counts=True)
    pair_words, pair_labels = keys // len(labels.names), keys % len(labels.names)
    totals = np.bincount(ids, minlength=size)[pair_words]
    label_totals = np.bincount(row_labels, minlength=len(labels.names))
    is_giveaway = (
        (counts >= MIN_ROWS)
        & (counts >= MIN_PRECISION * totals)
        & (counts >= MIN_RECALL * label_totals[pair_labels])
        # exclude a label that almost all rows have
        & (label_totals[pair_labels] <= MIN_PRECISION * len(rows) * 0.9)
    )
    best = np.flatnonzero(is_giveaway)[np.argsort(-counts[is_giveaway], kind="stable")][:MAX_WORDS]
    return [
        _word_finding(
            data, labels, int(pair_words[pair]), int(pair_labels[pair]), counts[pair] / totals[pair]
        )
        for pair in best
    ]


def _row_words(data: CheckInput, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distinct words of each row, as index into `rows` * vocabulary size + word id."""
    size = len(data.vocabulary)
    pairs = []
    for name in data.text_columns:
        words = data.words[name].take(rows)
        row = np.repeat(np.arange(len(rows)), words.counts)
        pairs.append(row * size + words.ids)
    return sorted_unique(np.concatenate(pairs))


def _word_finding(
    data: CheckInput, labels: Labels, word: int, label: int, precision: float
) -> Finding:
    has_word = np.zeros(data.rows, dtype=bool)
    for name in data.text_columns:
        words = data.words[name]
        has_word[np.repeat(np.arange(data.rows), words.counts)[words.ids == word]] = True
    rows = np.flatnonzero(has_word & (labels.indices == label))
    recall = len(rows) / max(int((labels.indices == label).sum()), 1)
    sentence = phrase(
        "The word “{word}” alone predicts the label “{label}”: {precision:.0%} of "
        "the texts with it have this label, and {recall:.0%} of its texts have the "
        "word. Leakage if the word was added with the label; otherwise a "
        "legitimate feature.",
        word=data.vocabulary[word][:40],
        label=labels.names[label][:40],
        precision=precision,
        recall=recall,
    )
    fixes = _removal_fix(data, data.vocabulary[word], np.flatnonzero(has_word))
    return Finding("giveaways", "note", len(rows), sentence, rows, fixes)


def _removal_fix(data: CheckInput, word: str, rows: NDArray[np.int64]) -> tuple[Fix, ...]:
    """Make a fix that removes a word from the texts that also have other words."""
    cells: dict[int, dict[str, str]] = {}
    for name in data.text_columns if len(rows) <= MAX_FIXED_ROWS else ():
        for row, cell in zip(rows.tolist(), data.cells(name, rows), strict=True):
            rest = without_word(cell, word)
            if rest != cell and any(map(str.isalnum, rest)):
                cells.setdefault(row, {})[name] = rest
    if not cells:
        return ()
    change = phrase("The word “{word}” removed from {n:,} row(s).", word=word[:40], n=len(cells))
    title = phrase("Remove “{word}”", word=word[:40])
    return (Fix(f"remove-{word}", title, change, cells=dict(sorted(cells.items()))),)


def without_word(text: str, word: str) -> str:
    """Remove a word in any case with its punctuation, or an ideograph everywhere."""
    if IDEOGRAPH.fullmatch(word):
        return text.replace(word, "")
    parts = re.findall(r"\s*\S+", text)  # words with the white space before them
    kept = [part for part in parts if NON_WORD.sub("", plain_text(part)) != word]
    return text if len(kept) == len(parts) else "".join(kept).strip()


def _column_findings(data: CheckInput, labels: Labels, rows: NDArray[np.int64]) -> list[Finding]:
    """Columns that the mapping does not use but that would give the label away."""
    findings = []
    for name in data.columns:
        if name in data.mapping.sources or name == data.split.column:
            continue
        column = data.encode(name)
        score = max(
            _value_score(column.indices[rows], labels.indices[rows]),
            _order_score(column, rows, labels.indices[rows]),
        )
        if score >= MIN_COLUMN_SCORE:
            sentence = phrase(
                "The column “{name}” alone predicts the label: it is correct in "
                "{score:.0%} of the rows that the majority baseline misclassifies. Do not "
                "use it as a text.",
                name=name[:60],
                score=score,
            )
            findings.append(Finding("giveaways", "note", 1, sentence))
    return findings


def _avoided_error_fraction(correct: int, labels: NDArray[np.int32]) -> float:
    """Fraction of the majority baseline's errors that a predictor with `correct` hits avoids."""
    majority = int(np.bincount(labels).max(initial=0))
    rest = len(labels) - majority
    return (correct - majority) / rest if rest >= MIN_ROWS else 0.0


def _value_score(values: NDArray[np.int32], labels: NDArray[np.int32]) -> float:
    """Score of predicting the most frequent label of a value; 0 if most values are distinct."""
    distinct_count = len(sorted_unique(values))
    if distinct_count > MAX_DISTINCT_FRACTION * len(values):
        return 0.0
    classes = int(labels.max(initial=0)) + 1
    pairs, counts = np.unique((values + 1).astype(np.int64) * classes + labels, return_counts=True)
    best = np.zeros(int(values.max(initial=0)) + 2, dtype=np.int64)
    np.maximum.at(best, pairs // classes, counts)
    return _avoided_error_fraction(int(best.sum()), labels)


def _order_score(column: Labels, rows: NDArray[np.int64], labels: NDArray[np.int32]) -> float:
    """Score of predicting the label of the next smaller number."""
    numbers = [parse_number(name) for name in (*column.names, "")]
    values = np.array([np.nan if number is None else number for number in numbers])
    values = values[column.indices[rows]]  # -1, an empty cell, takes the last NaN
    if not np.isfinite(values).all() or len(sorted_unique(values)) < 3:
        return 0.0
    order = np.argsort(values, kind="stable")
    sorted_values, sorted_labels = values[order], labels[order]
    if (np.diff(sorted_values) == 0).mean() > 1 - MAX_DISTINCT_FRACTION:
        return 0.0  # few distinct values: see `_value_score`
    if (np.diff(order) > 0).all():
        return 0.0  # row numbers of data sorted by label
    correct = int((sorted_labels[1:] == sorted_labels[:-1]).sum()) + 1
    return _avoided_error_fraction(correct, labels)
