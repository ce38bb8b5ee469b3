"""Tables with a row for each word: their rows are joined to sentences.

Such a table has a column of words, a column of tags, and one with the sentence of each word, which
may be filled in the first row of a sentence alone, as in Kaggle's `ner_dataset.csv`.
"""

import re
from collections.abc import Iterator
from itertools import chain, groupby, islice

from engine.data.columns.mapping import TAGS
from engine.data.columns.names import plain_name
from engine.data.columns.tags import are_spans
from engine.data.columns.words import join_words
from engine.data.formats.conll import word_cell
from engine.data.formats.rows import Content, Remarks, Row
from engine.phrases import join, phrase

WORDS = ("word", "words", "token", "tokens", "form", "text")
SENTENCE = re.compile(
    r"(s|sent|sentence|doc|document|text|tweet|post|message|example)?(ids?|no|nr|num|number|idx|index)"
    r"|sentences?|sent"
)
SAMPLE_ROWS = 500
MIN_WORDS = 2  # of a sentence, in the mean


def join_sentences(content: Content, remarks: Remarks) -> Content:
    """Join the rows of a table of words to sentences; other content stays as it is.

    A column with the same cell in all rows of each sentence keeps that cell; of any other, the
    cells are joined.
    """
    columns = content.columns
    names = [plain_name(column) for column in columns]
    word = next((names.index(name) for name in WORDS if name in names), None)
    tags = [n for n, name in enumerate(names) if name in TAGS and n != word]
    others = [n for n in range(len(names)) if n not in (word, *tags)]
    keys = [n for n in others if SENTENCE.fullmatch(names[n])]
    if word is None or not tags or not keys:
        return content
    sample, content = look_ahead(content)
    keys = [key for key in keys if _are_sentences(sample, key)]
    is_word = all(len(row.cells[n].split()) <= 1 for row in sample for n in (word, *tags))
    has_spans = any(are_spans(_filled(sample, n)) for n in tags)
    is_known = has_spans or any(_is_unique(sample, key) for key in keys)
    if not keys or not is_word or not is_known:
        return content
    rows = content.rows or (Row(*row) for batch in content.batches or () for row in batch.rows())
    sentences = [[row.cells for row in rows] for rows in _groups(iter(sample), keys)]
    is_constant = [
        n not in (word, *tags)
        and (n in keys or all(len({cells[n] for cells in sentence}) == 1 for sentence in sentences))
        for n in range(len(columns))
    ]
    remarks.add_note(
        phrase(
            "Each row has one word; the rows were joined to sentences by {columns}.",
            columns=join(", ", [f"“{columns[key]}”" for key in keys]),
        )
    )

    def cell(cells: tuple[str, ...], is_same: bool, line: int) -> str:
        if is_same:
            return cells[0]
        return join_words([word_cell(cell.strip(), line, remarks) for cell in cells])

    def joined() -> Iterator[Row]:
        for group in _groups(rows, keys):
            words = [row for row in group if row.cells[word].strip()]
            line = group[0].line
            if len(words) < len(group):
                remarks.count(phrase("Row without a word skipped"), line, len(group) - len(words))
            if words:
                cells = zip(*(row.cells for row in words), strict=True)
                pairs = zip(cells, is_constant, strict=True)
                yield Row(line, tuple(cell(column, is_same, line) for column, is_same in pairs))

    return Content(columns, joined())


def look_ahead(content: Content, count: int = SAMPLE_ROWS) -> tuple[list[Row], Content]:
    """The first rows, and the content with them; its batches stay batches."""
    if content.batches is None:
        rows = content.rows or iter(())
        sample = list(islice(rows, count))
        return sample, Content(content.columns, chain(sample, rows))
    first, sample = [], list[Row]()
    for batch in content.batches:
        first.append(batch)
        sample += [Row(*row) for row in batch.slice(0, count - len(sample)).rows()]
        if len(sample) == count:
            break
    return sample, Content(content.columns, None, chain(first, content.batches))


def _are_sentences(rows: list[Row], key: int) -> bool:
    """True if consecutive rows have the same cell in a column, or an empty one below it."""
    count = sum(1 for _ in _groups(iter(rows), [key]))
    return count > 1 and MIN_WORDS * count <= len(rows) and bool(rows[0].cells[key].strip())


def _is_unique(rows: list[Row], key: int) -> bool:
    """True if no sentence continues below another one."""
    starts = [group[0].cells[key] for group in _groups(iter(rows), [key])]
    return len(set(starts)) == len(starts)


def _filled(rows: list[Row], column: int) -> set[str]:
    return {cell for row in rows if (cell := row.cells[column].strip())}


def _groups(rows: Iterator[Row], keys: list[int]) -> Iterator[list[Row]]:
    """Rows of each sentence; an empty cell belongs to the sentence above."""
    current: tuple[str, ...] = ("",) * len(keys)

    def sentence(row: Row) -> tuple[str, ...]:
        nonlocal current
        cells = (row.cells[key].strip() for key in keys)
        current = tuple(cell or above for cell, above in zip(cells, current, strict=True))
        return current

    return (list(group) for _, group in groupby(rows, sentence))
