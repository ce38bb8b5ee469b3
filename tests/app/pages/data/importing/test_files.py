"""Which of the chosen files are data, and which split each of them is."""

from pathlib import Path

import pytest

from app.drops import page_for
from app.pages.data.importing.files import data_files, guess_splits, suggested_name


@pytest.mark.parametrize(
    "names, splits",
    [
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
    ],
)
def test_names_tell_the_splits(names: list[str], splits: list[str | None]) -> None:
    assert guess_splits([Path(name) for name in names]) == splits


def test_a_folder_gives_its_data_and_not_its_readme(tmp_path: Path) -> None:
    for name in ("train.tsv", "README.txt", "LICENSE.txt", "model.bin", "test.tsv", "dev.conll"):
        (tmp_path / name).touch()
    found = ["dev.conll", "test.tsv", "train.tsv"]
    assert data_files([tmp_path]) == [tmp_path / name for name in found]


def test_a_file_that_is_named_outright_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    assert data_files([tmp_path / "strange.xyz"]) == [tmp_path / "strange.xyz"]


@pytest.mark.parametrize(
    "files, name",
    [
        (["data/reviews.csv"], "reviews"),
        (["sst2/train.tsv"], "sst2"),
        (["sst2/train.tsv", "sst2/dev.tsv"], "sst2"),
    ],
)
def test_the_name_is_that_of_the_file_or_of_the_folder_of_its_splits(
    files: list[str], name: str
) -> None:
    assert suggested_name([Path(file) for file in files]) == name


def test_a_folder_of_documents_stands_for_itself_or_for_its_splits(tmp_path: Path) -> None:
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


def test_texts_that_are_called_as_splits_are_no_documents(tmp_path: Path) -> None:
    names = ["dev.txt", "test.txt", "train.txt", "unlabelled.txt"]
    for name in names:
        (tmp_path / name).touch()
    assert data_files([tmp_path]) == [tmp_path / name for name in names]
