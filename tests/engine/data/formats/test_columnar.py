"""Parquet and Arrow files give the rows that pyarrow wrote."""

import datetime as dt
import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Mapping, Reading
from engine.data.formats import columnar
from engine.data.formats.reading import preview, read, recognise, recognise_reading
from engine.errors import BadFile
from engine.progress import Cancelled
from tests.often import tries


def arrow_file(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


def arrow_stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "a.parquet": lambda table, path: pq.write_table(table, path, row_group_size=7),
    "a.pq": lambda table, path: pq.write_table(table, path, compression="zstd"),
    "a.arrow": arrow_file,
    "stream.arrow": arrow_stream,
    "a.feather": lambda table, path: pyarrow.feather.write_feather(table, str(path)),
}
VALUES = {
    "text": ["a fine day", None, "день", "a\nb", ""] * 5,
    "label": [1, 0, None, 3, -4] * 5,
    "score": [1.5, 0.1, float("nan"), 1e300, -2.0] * 5,
    "yes": [True, False, None, True, False] * 5,
    "tokens": [["a", "b"], [], None, ["“q”"], ["x"]] * 5,
    "answers": [{"text": ["a"], "answer_start": [0]}] * 25,
    "on": [dt.date(2026, 1, 31)] * 25,
}


def expected_cell(value: object) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("name", WRITERS)
def test_arrow_opens_no_python_file(name, packed, tmp_path, monkeypatch):
    """Its threads may release a file while the process exits, which aborts if the file belongs to
    Python."""
    path = tmp_path / name
    WRITERS[name](pa.table(VALUES), path)
    if packed:
        path = path.with_name(f"{name}.gz")
        path.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    opened: list[object] = []

    def recording(real: Callable[..., Any]) -> Callable[..., Any]:
        def record(file: object, *arguments: Any, **options: Any) -> Any:
            opened.append(file)
            return real(file, *arguments, **options)

        return record

    monkeypatch.setattr(pq, "ParquetFile", recording(pq.ParquetFile))
    monkeypatch.setattr(pa.ipc, "open_file", recording(pa.ipc.open_file))
    monkeypatch.setattr(pa.ipc, "open_stream", recording(pa.ipc.open_stream))
    assert sum(1 for _ in read(path, recognise(path).reading)) == 25
    assert opened
    assert not [file for file in opened if type(file) is not pa.OSFile]


@pytest.mark.parametrize("name", WRITERS)
def test_values_of_every_type_become_text(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](pa.table(VALUES), path)
    guess = recognise(path)
    table = read(path, guess.reading)
    assert table.columns == tuple(VALUES)
    expected = [tuple(map(expected_cell, row)) for row in zip(*VALUES.values(), strict=True)]
    assert [row.cells for row in table] == expected
    assert "“text” is null, read as an empty cell: 5 times, first in line 2." in table.notes
    assert [row.line for row in read(path, guess.reading)] == list(range(1, 26))
    assert len(preview(path, guess.reading).rows) == 25
    packed, zipped = tmp_path / f"{name}.gz", tmp_path / "a.zip"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.write(path, name)
    for other in (packed, zipped):
        assert [row.cells for row in read(other, recognise(other).reading)] == expected


@pytest.mark.parametrize("name", WRITERS)
def test_a_map_becomes_an_object_with_the_last_value_of_a_key(tmp_path, name):
    pairs = [[("a", 1), ("b", 2), ("a", 3)], [], None]
    facts = pa.array(pairs, type=pa.map_(pa.string(), pa.int64()))
    WRITERS[name](pa.table({"text": ["x", "y", "z"], "facts": facts}), tmp_path / name)
    with pytest.warns(UserWarning, match="already encountered"):
        rows = preview(tmp_path / name, recognise_reading(tmp_path / name)[0]).rows
    assert [row.cells[1] for row in rows] == ['{"a": 3, "b": 2}', "{}", ""]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=30))
@tries(40)
def test_any_text_round_trips(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("any") / "a.parquet"
    pq.write_table(pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}), path)
    assert [row.cells for row in read(path, Reading(format="parquet"))] == rows


def with_classes(values: dict[str, Any], features: dict[str, Any]) -> pa.Table:
    """A table with class names, as the `datasets` library writes it."""
    metadata = json.dumps({"info": {"features": features}})
    return pa.table(values).replace_schema_metadata({"huggingface": metadata})


@pytest.mark.parametrize("name", WRITERS)
def test_class_numbers_become_class_names(tmp_path, name):
    tags = {"names": ["O", "B-LOC", "I-LOC"], "_type": "ClassLabel"}
    table = with_classes(
        {"tokens": [["in", "Rome"], ["no"]], "ner_tags": [[0, 1], [0]], "label": [1, -1]},
        {
            "tokens": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"},
            "ner_tags": {"feature": tags, "_type": "List"},
            "label": {"num_classes": 2, "names": ["neg", "pos"], "_type": "ClassLabel"},
        },
    )
    WRITERS[name](table, tmp_path / name)
    guess = recognise(tmp_path / name)
    rows = [row.cells for row in read(tmp_path / name, guess.reading)]
    assert rows == [('["in", "Rome"]', '["O", "B-LOC"]', "pos"), ('["no"]', '["O"]', "")]
    assert guess.mapping == Mapping(text="tokens", tags="ner_tags")


def test_columns_without_text_are_left_out_and_noted(tmp_path):
    values = {"text": ["a", "b"], "image": [{"bytes": b"\xff", "path": "a.png"}] * 2}
    pq.write_table(pa.table(values | {"__index_level_0__": [0, 1]}), tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", Reading(format="parquet"))
    assert table.columns == ("text",) and table.notes == (
        "The column “image” holds bytes and was left out.",
    )
    pq.write_table(pa.table({"image": [b"x"]}), tmp_path / "b.parquet")
    with pytest.raises(BadFile, match="no columns with texts"):
        recognise(tmp_path / "b.parquet")


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_file_raises_only_bad_file(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](pa.table(VALUES), path)
    original = path.read_bytes()
    refused = 0
    for index in range(8, len(original), max(1, len(original) // 25)):
        for content in (original[:index], original[:index] + b"\xff\x7f" + original[index + 2 :]):
            path.write_bytes(content)
            try:
                for row in read(path, recognise(path).reading):
                    "".join(row.cells).encode("utf-8")
            except BadFile:  # anything else is a bug
                refused += 1
    assert refused


def test_a_small_file_of_long_texts_takes_little_memory(tmp_path):
    text = "the " + "x" * 1_000_000
    pq.write_table(pa.table({"text": [text] * 100}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 1 << 20
    before = pa.total_allocated_bytes()
    rows = read(tmp_path / "a.parquet", Reading(format="parquet"))
    result = {id(row.cells[0]) for row in rows}
    assert len(result) == 1, "equal texts share one object"
    assert pa.total_allocated_bytes() - before < 30 << 20


def test_reading_reports_progress_and_can_be_cancelled(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a text"] * 40_000}), path)
    progress: list[tuple[int, int]] = []
    list(read(path, Reading(format="parquet"), lambda done, total: progress.append((done, total))))
    assert (
        len(progress) > 5
        and progress == sorted(progress)
        and progress[-1] == (path.stat().st_size,) * 2
    )
    with pytest.raises(Cancelled):
        list(read(path, Reading(format="parquet"), cancelled=lambda: True))


@given(st.lists(st.tuples(texts, st.none() | st.integers(0, 3)), min_size=1, max_size=30))
@tries(80)
def test_batches_equal_rows(tmp_path_factory, rows):
    cells, numbers = zip(*rows, strict=True)
    nullable = [text if number else None for text, number in rows]
    table = pa.table(
        {
            "plain": pa.array(cells, pa.string()),
            "large": pa.array(cells, pa.large_string()),
            "nullable": pa.array(nullable, pa.string()),
            "shared": pa.array(cells, pa.string()).dictionary_encode(),
            "number": pa.array(numbers, pa.int64()),
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columnar, "MAX_PART_BYTES", 20)
        for name, write in WRITERS.items():
            path = tmp_path_factory.getbasetemp() / f"columns-{name}"
            write(table, path)
            reading = recognise(path).reading
            by_batch, by_row = read(path, reading), read(path, reading)
            result = [row for batch in by_batch.batches() for row in batch.rows()]
            assert result == [(row.line, row.cells) for row in by_row]
            assert by_batch.notes == by_row.notes
