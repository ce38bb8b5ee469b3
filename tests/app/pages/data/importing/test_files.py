"""Data files among chosen paths, and a preview whose cost does not depend on long cells."""

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from app.drops import page_for
from app.pages.data.importing.files import display_names, suggest_name
from app.pages.data.importing.preview import EXAMPLE_CHARACTERS, make_examples, preview_file
from engine.config.dataset import Mapping
from engine.data.formats import FORMATS
from engine.data.formats.reading import LONG_LINE_CHARACTERS, recognise
from engine.data.formats.sources import data_files, expand, guess_splits
from engine.tokenizers.tokenizer import Tokenizer
from tests.app.pages.train.conftest import write_model


def test_splits_and_data_set_names_are_guessed_from_file_names():
    for names, splits in [
        (["train.tsv", "dev.tsv", "test.tsv"], ["train", "validation", "test"]),
        (["sts-dev.csv", "sts-train.csv"], ["validation", "train"]),
        (["valid.jsonl", "training.jsonl"], ["validation", "train"]),
        (["a.csv", "b.csv"], ["train", "train"]),
        (["emma.txt", "hamlet.txt", "latest.txt"], ["train", "train", "train"]),
        (
            ["emerging.dev.conll", "emerging.test.annotated", "wnut17train.conll"],
            ["validation", "test", "train"],
        ),
        (["reviews.csv", "test.csv"], ["train", "test"]),
        (["train.csv", "train-2.csv", "dev.csv"], ["train", "train", "validation"]),
        (["dev_matched.tsv", "dev_mismatched.tsv"], ["validation", "validation"]),
        (["extra.csv", "train.csv", "testset.csv"], [None, "train", "test"]),
    ]:
        assert guess_splits([Path(name) for name in names]) == splits
    for files, name in [
        (["data/reviews.csv"], "reviews"),
        (["sst2/train.tsv"], "sst2"),
        (["sst2/train.tsv", "sst2/dev.tsv"], "sst2"),
    ]:
        assert suggest_name([Path(file) for file in files]) == name


def test_a_folder_yields_its_data_files_and_a_file_itself(tmp_path):
    for name in ("train.tsv", "README.txt", "LICENSE.txt", "model.bin", "test.tsv", "dev.conll"):
        (tmp_path / name).touch()
    files = ["dev.conll", "test.tsv", "train.tsv"]
    assert data_files([tmp_path]) == [tmp_path / name for name in files]
    assert data_files([tmp_path / "strange.xyz"]) == [tmp_path / "strange.xyz"]
    texts = [tmp_path / "texts" / f"{name}.txt" for name in ("dev", "test", "train", "unlabelled")]
    texts[0].parent.mkdir()
    for text in texts:
        text.touch()
    assert data_files([tmp_path / "texts"]) == texts, "they are named after splits"


def test_a_folder_of_documents_is_one_source_or_its_splits(tmp_path):
    for split in ("train", "test"):
        for label in ("neg", "pos"):
            (tmp_path / split / label).mkdir(parents=True)
            (tmp_path / split / label / "0.txt").touch()
    (tmp_path / "vocabulary.txt").touch()
    assert data_files([tmp_path]) == [tmp_path / "test", tmp_path / "train"]
    assert data_files([tmp_path / "train"]) == [tmp_path / "train"]
    assert guess_splits(data_files([tmp_path])) == ["test", "train"]
    assert page_for([tmp_path]) == page_for([tmp_path / "train"]) == "data"
    assert page_for([tmp_path / "train" / "neg"]) == ""


def test_sheets_and_archive_members_are_separate_sources(tmp_path):
    book = tmp_path / "reviews.xlsx"
    with xlsxwriter.Workbook(book) as workbook:
        for name in ("Notes", "Rows", "Empty"):
            sheet = workbook.add_worksheet(name)
            if name != "Empty":
                sheet.write_column("A1", ["text", "a b"])
    packed = tmp_path / "glue.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("dev.tsv", "train.tsv", "README.md"):
            archive.writestr(f"sst2/{name}", "text\nx")
    files = expand([book, packed])
    assert display_names(files[:2]) == ["Notes", "Rows"]
    assert display_names(files) == [
        *("reviews.xlsx / Notes", "reviews.xlsx / Rows"),
        *("glue.zip / sst2/dev.tsv", "glue.zip / sst2/train.tsv"),
    ]
    assert guess_splits(files[:2]) == ["train", None], "the second sheet may be anything"
    assert guess_splits(files[2:]) == ["validation", "train"]
    assert suggest_name(files) == "reviews" and suggest_name(files[2:]) == "glue"
    intents = tmp_path / "intents.json"
    intents.write_text('{"dev": [{"text": "a b"}],\n "train": [{"text": "c d"}]}')
    members = expand([intents])
    assert display_names(members) == ["dev", "train"] and suggest_name(members) == "intents"
    assert guess_splits(members) == ["validation", "train"]
    assert suggest_name([tmp_path / "a.csv.gz"]) == "a"
    assert page_for([packed]) == "data"
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("model/config.json", "{}")
    assert page_for([packed]) == "models"


def test_hub_and_datasets_library_folders_yield_their_splits(tmp_path):
    hub = tmp_path / "datasets--stanfordnlp--imdb"
    blob = hub / "blobs" / "0a1b"
    names = ["test-00000-of-00001.parquet", "train-00000-of-00002.parquet"]
    names.append("train-00001-of-00002.parquet")
    for number, version in enumerate(("old", "new")):
        folder = hub / "snapshots" / version / "plain_text"
        folder.mkdir(parents=True)
        blob.parent.mkdir(exist_ok=True)
        blob.write_text("x")
        for name in names if number else names[:1]:
            (folder / name).symlink_to(blob)
        os.utime(hub / "snapshots" / version, (number, number))
    files = data_files([hub])
    assert [file.name for file in files] == names and {f.parent.parent.name for f in files} == {
        "new"
    }
    assert guess_splits(files) == ["test", "train", "train"]
    saved = tmp_path / "saved"
    for split in ("train", "validation"):
        (saved / split).mkdir(parents=True)
        (saved / split / "state.json").touch()
        (saved / split / "data-00000-of-00001.arrow").write_text("x")
    (saved / "dataset_dict.json").write_text("{}")
    files = data_files([saved])
    assert [file.parent.name for file in files] == ["train", "validation"]
    assert guess_splits(files) == ["train", "validation"]


def test_a_whole_disk_is_not_walked(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.sources.MAX_FOLDERS", 5)
    deep = tmp_path.joinpath(*"abcdefgh")
    deep.mkdir(parents=True)
    (deep / "rows.csv").write_text("text\nx\n")
    assert data_files([tmp_path]) == []
    assert data_files([tmp_path / "a" / "b" / "c" / "d"]) == [deep / "rows.csv"]


CELL_LENGTH = 200_000


def test_a_tokenizer_gets_only_the_start_of_a_long_cell(tmp_path, monkeypatch):
    lengths: list[int] = []
    encode = Tokenizer.encode

    def record_lengths(self: Tokenizer, text: str, pair: str | None = None, *rest: int) -> Any:
        lengths.extend(map(len, (text, pair or "")))
        return encode(self, text, pair, *rest)

    monkeypatch.setattr(Tokenizer, "encode", record_lengths)
    file = tmp_path / "long.csv"
    words = "word and other things " * (CELL_LENGTH // 22)
    file.write_text(f"text,pair,label\n{'x' * CELL_LENGTH},{words},a\na b,{words},b\n")
    preview = preview_file(file, recognise(file).reading)
    tokenizer = Tokenizer.from_folder(write_model(tmp_path / "model"))
    first, second = make_examples(
        preview, Mapping(text="text", pair="pair", label="label"), tokenizer
    )
    assert max(lengths) == EXAMPLE_CHARACTERS
    assert first.truncated and second.truncated and first.label == "a"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl", "a.conll"])
def test_a_format_is_guessed_without_reading_long_lines_in_full(tmp_path, monkeypatch, name):
    lengths: list[int] = []
    lines = {
        "a.csv": ["text,label", "{},a", '"b, {}",c'],
        "a.tsv": ["text\tlabel", "{}\ta", "b {}\tc"],
        "a.txt": ["{}", "a b"],
        "a.jsonl": ['{{"text": "{}", "label": "a"}}'],
        "a.conll": ["Ada\tB-x", "{}\tO", "", "Paris\tB-x"],
    }[name]
    short, long = tmp_path / "short" / name, tmp_path / name
    short.parent.mkdir()
    short.write_text("\n".join(line.format("a word " * 100) for line in lines) + "\n")
    long.write_text("\n".join(line.format("a word " * (CELL_LENGTH // 7)) for line in lines) + "\n")
    expected = recognise(short).reading
    for format_ in FORMATS.values():

        def record_lengths(sample: list[str], *rest: Any, guess: Any = format_.guess) -> Any:
            lengths.extend(map(len, sample))
            return guess(sample, *rest)

        monkeypatch.setitem(FORMATS, format_.name, format_._replace(guess=record_lengths))
    assert recognise(long).reading == expected
    assert 0 < max(lengths) < LONG_LINE_CHARACTERS
