"""Token lengths of a data set, measured on a sample of its rows."""

from collections.abc import Mapping as Cells
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from engine.config.dataset import Mapping, Reading
from engine.data.columns.choices import split_choices
from engine.data.coverage import scripts_note
from engine.data.datasets.store import Dataset
from engine.data.formats.reading import read
from engine.tokenizers.tokenizer import Tokenizer

PAGE_ROWS, SAMPLE_PAGES = 64, 8
MAX_TOKENS = 8192  # longer inputs count as this

Texts = tuple[str, str | None]  # of one row: the text, and the second text or None


@dataclass(frozen=True)
class Lengths:
    """Tokens of each sampled input, with [CLS] and [SEP]."""

    sample: tuple[int, ...]  # sorted
    unknown: float = 0.0  # fraction of their tokens that are [UNK]
    scripts: str = ""  # of their letters, as in `scripts_note`

    @property
    def percentile_99(self) -> int:
        """The 99th percentile, in tokens."""
        return self.sample[min(len(self.sample) - 1, int(0.99 * len(self.sample)))]

    def fraction_above(self, length: int) -> float:
        """Fraction of inputs longer than `length`."""
        return sum(size > length for size in self.sample) / len(self.sample)

    def fraction_unread(self, length: int) -> float:
        """Fraction of all tokens that are never read if inputs are truncated to `length`."""
        return sum(max(size - length, 0) for size in self.sample) / max(1, sum(self.sample))


def lengths_in_dataset(dataset: Dataset, tokenizer: Tokenizer) -> Lengths | None:
    """Sample rows across the training set; None if it is empty."""
    total, mapping = dataset.spec.rows.get("train", 0), dataset.spec.mapping
    step = max(PAGE_ROWS, total // SAMPLE_PAGES)
    pages = (dataset.page(first, PAGE_ROWS, "train") for first in range(0, total, step))
    return _lengths([row_texts(cells, mapping) for page in pages for cells in page], tokenizer)


def lengths_in_file(
    path: Path, reading: Reading, mapping: Mapping, tokenizer: Tokenizer
) -> Lengths | None:
    """Sample the first rows of a file; None if it has none. Raises BadFile."""
    table = read(path, reading, head_only=True)
    rows = islice(table, PAGE_ROWS * SAMPLE_PAGES)
    cells = (dict(zip(table.columns, row.cells, strict=False)) for row in rows)
    return _lengths([row_texts(row, mapping) for row in cells], tokenizer)


def row_texts(cells: Cells[str, Any], mapping: Mapping) -> Texts:
    """The texts of a row; the second is the longest of several choices."""
    text = str(cells[mapping.text])
    if not mapping.endings:
        return text, None if mapping.pair is None else str(cells[mapping.pair])
    endings = [str(cells[name]) for name in mapping.endings]
    choices = endings if len(endings) > 1 else split_choices(endings[0]) or endings
    beginning = "" if mapping.beginning is None else str(cells[mapping.beginning])
    return text, f"{beginning} {max(choices, key=len)}".strip()


def _lengths(rows: Sequence[Texts], tokenizer: Tokenizer) -> Lengths | None:
    if not rows:
        return None
    pairs = None if rows[0][1] is None else [second or "" for _, second in rows]
    encoded = tokenizer.encode_many([first for first, _ in rows], pairs, max_length=MAX_TOKENS)
    ids = [token for ids, _ in encoded for token in ids]
    unknown = ids.count(tokenizer.unknown) / max(len(ids), 1)
    scripts = scripts_note(text for row in rows for text in row if text)
    return Lengths(tuple(sorted(len(ids) for ids, _ in encoded)), unknown, scripts)
