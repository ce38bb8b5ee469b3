"""Tables with a row for each word are read as sentences, in every format."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from engine.data.formats.batches import rows_to_batches
from engine.data.formats.reading import read, recognise
from engine.data.formats.rows import Content, Remarks, Row
from engine.data.formats.word_rows import join_sentences

WORDS = ["Maria", "Keller", "lives", "in", "Bonn", "#", "Bonn", "is", "old"] * 3
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "O", "B-LOC", "O", "O"] * 3
IDS = [n for k in range(3) for n in [2 * k] * 5 + [2 * k + 1] * 4]
FIRST = [f"Sentence: {n}" if not k or IDS[k - 1] != n else None for k, n in enumerate(IDS)]
POS = ["N"] * len(WORDS)
TABLES: dict[str, dict[str, Any]] = {
    "simpletransformers": {"sentence_id": IDS, "words": WORDS, "labels": TAGS},
    "Kaggle": {"Sentence #": FIRST, "Word": WORDS, "POS": POS, "Tag": TAGS},
    "documents": {"doc_id": [n // 2 for n in IDS], "sent_id": [n % 2 for n in IDS]}
    | {"token": WORDS, "tag": TAGS},
    "parts of speech": {"id": IDS, "token": WORDS, "pos": POS, "split": ["train"] * len(IDS)},
}
SUFFIXES = (".csv", ".tsv", ".xlsx", ".parquet", ".jsonl")


def write(path: Path, columns: dict[str, Any]) -> Path:
    rows = [tuple(columns), *zip(*columns.values(), strict=True)]
    if path.suffix == ".xlsx":
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".jsonl":
        items = [dict(zip(columns, row, strict=True)) for row in rows[1:]]
        path.write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="," if path.suffix == ".csv" else "\t").writerows(rows)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", TABLES)
def test_rows_of_words_become_sentences(tmp_path, name, suffix):
    path = write(tmp_path / f"x{suffix}", TABLES[name])
    found = recognise(path)
    assert found.mapping is not None and found.mapping.tags is not None
    table = read(path, found.reading)
    indices = [table.columns.index(n) for n in (found.mapping.text, found.mapping.tags)]
    rows = [tuple(row.cells[n] for n in indices) for row in table]
    tags = TAGS if name != "parts of speech" else POS
    assert rows == [(" ".join(WORDS[a:b]), " ".join(tags[a:b])) for a, b in ((0, 5), (5, 9))] * 3
    assert any("joined to sentences" in note for note in table.notes)


@pytest.mark.parametrize(
    "columns",
    [
        {"word": WORDS, "label": TAGS},  # words without sentences
        {"id": range(len(WORDS)), "word": WORDS, "label": TAGS},  # a number for each row
        {"sentence_id": IDS, "text": ["two words"] * len(IDS), "label": POS},
    ],
)
def test_other_tables_keep_their_rows(tmp_path, columns):
    path = write(tmp_path / "x.csv", columns)
    assert len(list(read(path, recognise(path).reading))) == len(WORDS)


def test_batches_of_other_tables_stay_batches():
    lines = [Row(n, (str(n), "two words", "x")) for n in range(1, 2001)]
    content = Content(("id", "text", "label"), None, rows_to_batches(iter(lines)))
    joined = join_sentences(content, Remarks())
    assert joined.rows is None and joined.batches is not None
    assert [Row(*row) for batch in joined.batches for row in batch.rows()] == lines
