"""JSON documents with a list for each split of a data set."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from engine.config.dataset import Reading, Split
from engine.data.formats import lines, reading
from engine.data.formats.reading import read, recognise
from engine.data.formats.sources import list_parts
from engine.errors import BadFile
from tests.engine.data.importing import import_files

ROWS = [{"text": "a b", "label": "x"}, {"text": "c d", "label": "y"}]
SPLITS = {"version": 1, "train": ROWS, "validation": ROWS[1:], "test": []}


def write(path: Path, value: object = SPLITS, indent: int | None = None) -> Path:
    path.write_text(json.dumps(value, indent=indent))
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_lists_are_imported_as_splits(tmp_path, indent):
    file = write(tmp_path / "intents.json", indent=indent)
    train, dev = list_parts(file)
    assert (train, dev) == (file / "train", file / "validation"), "an empty list is no split"
    dataset = import_files({"train": train, "validation": dev}, tmp_path / "v", Split(test=0))
    assert dataset.spec.rows == {"train": 2, "validation": 1, "test": 0}
    assert dataset.rows("validation").texts == ["c d"]


def test_splits_are_read_from_compressed_files_and_archives(tmp_path):
    file = write(tmp_path / "intents.json")
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.write(file, "in/intents.json")
        target.writestr("in/other.txt", "a text")
    assert list_parts(packed) == [packed / "train", packed / "validation"]
    for part in (packed / "train", archive / "in" / "intents.json" / "train"):
        guess = recognise(part)
        assert guess.columns == ("text", "label")
        assert [row.cells for row in read(part, guess.reading)] == [("a b", "x"), ("c d", "y")]


def test_a_document_of_splits_is_refused_without_a_split_name(tmp_path):
    file = write(tmp_path / "intents.json")
    with pytest.raises(BadFile, match="train, validation are splits") as raised:
        recognise(file)
    assert "intents.json/train" in raised.value.advice


def test_an_unknown_split_is_refused_and_the_others_are_named(tmp_path):
    file = write(tmp_path / "intents.json")
    with pytest.raises(BadFile, match="no list “dev” in it") as raised:
        recognise(file / "dev")
    assert "train, validation" in raised.value.advice
    with pytest.raises(BadFile, match="no list “train” in it"):
        list(read(write(tmp_path / "rows.json", ROWS) / "train", Reading(format="json")))
    table = tmp_path / "table.csv"
    table.write_text("text,label\na b,x\n")
    with pytest.raises(BadFile, match="a file without parts"):
        recognise(table / "train")


def test_other_and_broken_documents_have_no_parts(tmp_path):
    single = write(tmp_path / "one.json", {"train": ROWS})
    mixed = write(tmp_path / "mixed.json", {"train": ROWS, "labels": ["x", "y"]})
    cut = tmp_path / "cut.json"
    cut.write_text('{"train": [{"text": "a b"}], "test": [{"te')
    empty = tmp_path / "empty.json"
    empty.touch()
    for file in (single, mixed, cut, empty, tmp_path / "missing.json"):
        assert list_parts(file) == [file]


def test_a_document_may_be_one_line_of_any_length(tmp_path, monkeypatch):
    """Only lines of other files are limited."""
    for module in (lines, reading):
        monkeypatch.setattr(module, "MAX_LINE_CHARACTERS", 200)
    spans = [[0, 1, "PER"]]
    for value in (ROWS * 20, [{"text": "a b", "label": spans}] * 20):
        file = write(tmp_path / "one.json", value)
        assert len([*read(file, recognise(file).reading)]) == len(value)


def test_the_only_list_of_an_answer_of_a_server_is_read(tmp_path):
    rows = [{"_id": "1", "_source": {"text": "a b", "tag": "x"}}] * 2  # of Elasticsearch
    answer = {"took": 3, "hits": {"total": {"value": 2}, "hits": rows}}
    file = write(tmp_path / "hits.json", answer, indent=1)
    guess = recognise(file)
    assert guess.columns == ("_id", "_source.text", "_source.tag")
    assert [row.cells for row in read(file, guess.reading)] == [("1", "a b", "x")] * 2
    file = write(tmp_path / "two.json", answer | {"more": {"rows": rows}}, indent=1)
    with pytest.raises(BadFile, match="not a table"):
        recognise(file)
