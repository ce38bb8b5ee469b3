"""Columnar counts equal those of single rows."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.config.dataset import Cleaning, Mapping, Split
from engine.data.columns.plain_texts import plain_cells, plain_text
from engine.data.columns.text_spans import SpanCounts
from engine.data.datasets import row_writer
from engine.data.datasets.row_writer import UNASSIGNED, RowWriter
from engine.data.formats import batches
from engine.data.formats.batches import blank_rows, rows_to_batches
from engine.data.formats.rows import Remarks
from engine.errors import BadFile
from tests.often import tries

COLUMNS = ("text", "other", "label", "flag", "split")
TEXTS = [
    *("A  cat", "a cat", "", " ", "\x1c", "\u3000", "\u3042", "ﬁ", "fi", "x\0y", "\t", "é"),
    *("ab", "a b"),
]
LABELS = ["yes", " yes", "Yes", "", "no ", "\u00a0no", "no"]
ROWS = st.tuples(
    st.sampled_from(TEXTS),
    st.sampled_from(TEXTS),
    st.sampled_from(LABELS),
    st.sampled_from(["1", "0", "true", "No"]),
    st.sampled_from(["train", "dev", "test"]),
)
CLEANING = Cleaning(skip_empty=("other",), spellings={"Yes": "yes"})


def write(path, rows, mapping, split, cleaning):
    remarks = Remarks()
    with RowWriter(path, COLUMNS, mapping, split, cleaning) as writer:
        writer.begin(path, remarks)
        for batch in rows_to_batches(enumerate(rows, start=2)):
            kept_rows = writer.filled_rows(batch, remarks)
            writer.append(batch if kept_rows is None else batch.filter(kept_rows), UNASSIGNED)
    return writer.finish({}, [], SpanCounts()), remarks.sentences()


@given(st.lists(ROWS, min_size=1, max_size=30), st.booleans(), st.booleans(), st.booleans())
@tries(200)
def test_columns_are_counted_like_single_rows(tmp_path_factory, rows, has_pair, has_split, skips):
    path = tmp_path_factory.getbasetemp() / "rows.parquet"
    mapping = Mapping(text="text", pair="other" if has_pair else None, label="label")
    mapping = mapping.model_copy(update={"flags": ("flag",)})
    split = Split(column="split") if has_split else Split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_writer, "GROUP_ROWS", 4)
        patch.setattr(row_writer, "GROUP_BYTES", 60)
        patch.setattr(batches, "MAX_ROWS", 7)
        result, notes = write(path, rows, mapping, split, CLEANING if skips else Cleaning())
    kept_rows = [(n, row) for n, row in enumerate(rows, start=2) if row[1].strip() or not skips]
    plain = [row[2].strip() for _, row in kept_rows]
    plain = ["yes" if skips and label == "Yes" else label for label in plain]
    table = pq.read_table(path)
    assert table.column("_line").to_pylist() == [n for n, _ in kept_rows]
    assert table.column("label").to_pylist() == plain
    for column in (0, 1, 3, 4):
        assert table.column(COLUMNS[column]).to_pylist() == [row[column] for _, row in kept_rows]
    groups = pq.read_metadata(path)
    assert all(groups.row_group(n).num_rows <= 4 for n in range(groups.num_row_groups))
    assert list(result.labels.items()) == list(Counter(plain).items())
    assert [list(result.labels)[n] for n in result.label_indices] == plain
    assert result.flags == {"flag": sum(row[3] in ("1", "true") for _, row in kept_rows)}
    names = {"train": 0, "dev": 1, "test": 2}
    assert result.splits.tolist() == [
        names[row[4]] if has_split else UNASSIGNED for _, row in kept_rows
    ]
    for name, column in (("text", 0), ("label", 2), ("other", 1)):
        if name in mapping.columns:
            empty = [n for n, (_, row) in enumerate(kept_rows) if not row[column].strip()]
            assert result.empty.get(name, np.zeros(0)).tolist() == empty
    texts = (0, 1) if has_pair else (0,)
    keys = [tuple(plain_text(row[column]) for column in texts) for _, row in kept_rows]
    row_keys = [key if any(key) else n for n, key in enumerate(keys)]
    assert _groups(row_keys) == _groups(result.text_keys.tolist())
    assert [row[2] for row in result.first_rows] == plain
    assert [row[:2] for row in result.first_rows] == [row[:2] for _, row in kept_rows]
    assert list(notes) == _notes(rows, kept_rows, skips)


def _groups(keys):
    """The index of the first row with the same key, for each row."""
    return [keys.index(key) for key in keys]


def _notes(rows, kept_rows, skips):
    """Remarks in the order of their first line."""
    lines_by_remark = {}

    def add(remark, line):
        lines_by_remark.setdefault(remark, []).append(line)

    for line, row in enumerate(rows, start=2):
        if skips and not row[1].strip():
            add("Row without “other” skipped", line)
    for line, row in kept_rows:
        label = row[2]
        if label != label.strip():
            add("Label with white space around it, which was removed", line)
        if skips and label.strip() == "Yes":
            add("Label “Yes” read as “yes”", line)
    for line, row in kept_rows:
        if not row[0].strip():
            add("Row without text", line)
    return [
        f"{name}: {len(lines)} times, first in line {lines[0]}."
        if len(lines) > 1
        else f"{name}: once, in line {lines[0]}."
        for name, lines in sorted(lines_by_remark.items(), key=lambda item: item[1][0])
    ]


@pytest.mark.parametrize("flag, split, cell", [("maybe", "train", "maybe"), ("1", "some", "some")])
def test_a_wrong_cell_is_refused_with_its_line(tmp_path, flag, split, cell):
    mapping = Mapping(text="text", flags=("flag",))
    good = ("a", "b", "c", "1", "train")
    rows = [good, good, ("a", "b", "c", flag, split), ("a", "b", "c", flag, "none")]
    with pytest.raises(BadFile, match=f"line 4: “{cell}”"):
        write(tmp_path / "x", rows, mapping, Split(column="split"), Cleaning())


@given(
    st.lists(
        st.text(st.sampled_from("a \t\x1c\x85\xa0\u1680\u2003\u3000\u3042é\u200b"), max_size=3)
    )
)
@tries(400)
def test_blank_rows_agree_with_str_strip(cells):
    (batch,) = rows_to_batches([(n, (cell,)) for n, cell in enumerate(["x", *cells])])
    column = batch.cells[0].slice(1)
    assert blank_rows(column).tolist() == [n for n, cell in enumerate(cells) if not cell.strip()]


TEXT_LISTS = st.lists(st.text(st.sampled_from("aB \t\n\0\x1céßẞ\u00a0ﬁ"), max_size=6), max_size=8)


@given(TEXT_LISTS)
@example(["a b", " A ", "", "c\0d"])
@example([])
@tries(300)
def test_plain_texts_of_a_batch_equal_those_of_single_texts(texts):
    cells = pa.array(["before", *texts, "behind"], type=pa.string()).slice(1, len(texts))
    assert plain_cells(cells) == [plain_text(text) for text in texts]
