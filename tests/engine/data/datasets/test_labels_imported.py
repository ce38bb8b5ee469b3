"""Data sets of numbers and of several labels are imported, split and searched."""

from pathlib import Path

import numpy as np
import pytest

from engine.config.dataset import Cleaning, Mapping, Split
from engine.config.tasks.multi_label import MultiLabel
from engine.config.tasks.regression import Regression
from engine.data.columns.fit import likely_task
from engine.data.columns.numbers import parse_numbers
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.errors import BadFile
from tests.engine.data.importing import import_files, write_lines


def import_file(folder: Path, file: Path, mapping: Mapping | None = None) -> Dataset:
    return import_files(file, folder / "data", Split(validation=0.2), mapping)


def write_table(folder: Path, header: str, rows: list[str]) -> Path:
    return write_lines(folder / "table.csv", header, *rows)


def test_numbers_are_split_evenly_over_their_scale(tmp_path):
    rows = [f"a film of the year {n},{n / 10}" for n in range(500)]
    dataset = import_file(tmp_path, write_table(tmp_path, "text,score", rows))
    assert dataset.spec.rows == {"train": 400, "validation": 100, "test": 0}
    assert not any("single row" in note for note in dataset.spec.notes)
    dev = parse_numbers(dataset.rows("validation").labels or [])
    assert np.histogram(dev, bins=10, range=(0, 50))[0].tolist() == [10] * 10
    assert isinstance(likely_task(dataset.spec.mapping, dataset.spec.labels), Regression)


def test_rows_with_several_labels_are_split_randomly(tmp_path):
    names = ["red", "green", "blue", "fast", "slow", "old"]
    label_sets = ["|".join(n for k, n in enumerate(names) if i >> k & 1) for i in range(1, 61)]
    rows = [f"a thing number {n},{labels}" for n, labels in enumerate(label_sets)]
    dataset = import_file(tmp_path, write_table(tmp_path, "text,label", rows))
    assert dataset.spec.rows["validation"] == 12  # although each set occurs once
    assert isinstance(likely_task(dataset.spec.mapping, dataset.spec.labels), MultiLabel)
    red = dataset.find(label="red")
    assert len(red) == sum("red" in labels for labels in label_sets)
    assert all("red" in row["label"].split("|") for row in dataset.take(red))


def test_yes_no_columns_are_counted_and_searched(tmp_path):
    rows = [f"a thing number {n},{n % 2},{'Yes' if n % 5 == 0 else 'no'}" for n in range(40)]
    file = write_table(tmp_path, "text,rude,long", rows)
    dataset = import_file(tmp_path, file, Mapping(text="text", flags=("rude", "long")))
    assert dataset.spec.labels == {"long": 8, "rude": 20}
    assert dataset.spec.rows["validation"] == 8
    assert len(dataset.find(label="long")) == 8 and len(dataset.find(label="rude")) == 20
    assert isinstance(likely_task(dataset.spec.mapping, dataset.spec.labels), MultiLabel)


def test_the_published_scores_are_imported(tmp_path, assets):
    source = assets / "datasets" / "stsb"
    names = {"train": "train", "validation": "dev", "test": "test"}
    files = {split: source / f"sts-{name}.csv" for split, name in names.items()}
    mapping = Mapping(text="column 6", pair="column 7", label="column 5")
    assert all(recognise(file).mapping == mapping for file in files.values())
    spec = import_files(files, tmp_path / "data").spec
    assert spec.rows == {"train": 5749, "validation": 1500, "test": 1379}
    assert isinstance(likely_task(mapping, spec.labels), Regression)
    numbers = parse_numbers(open_dataset(tmp_path / "data").rows("train").labels or [])
    assert (numbers.min(), numbers.max()) == (0, 5)
    assert float(numbers.mean()) == pytest.approx(2.701, abs=1e-3)


def test_variant_spellings_of_set_labels_and_span_types_are_reported(tmp_path):
    names = ["red", "green", "blue", "Red"]
    sets = ["|".join(n for k, n in enumerate(names) if i >> k & 1) for i in range(1, 16)]
    rows = [f"a thing number {n},{labels}" for n, labels in enumerate(sets * 2)]
    spec = import_file(tmp_path, write_table(tmp_path, "text,label", rows)).spec
    assert any("“red” and “Red” may be the same" in note for note in spec.notes)
    file = tmp_path / "names.conll"
    file.write_text("Ada\tB-person\nsaw\tO\nParis\tB-Person\n\n" * 9 + "Bo\tB-person\nis\tO\n")
    spec = import_files(file, tmp_path / "names").spec
    assert any("“person” and “Person” may be the same" in note for note in spec.notes)


def test_yes_no_rows_with_minus_one_are_unlabelled_and_can_be_left_out(tmp_path):
    rows = [f"a thing {n},{'-1,-1' if n < 8 else f'{n % 2},1'}" for n in range(40)]
    file = write_table(tmp_path, "text,rude,long", rows)
    mapping = Mapping(text="text", flags=("rude", "long"))
    dataset = import_file(tmp_path, file, mapping)
    assert dataset.unlabelled().tolist() == [*range(8)]
    assert dataset.spec.labels == {"long": 32, "rude": 16}
    assert any("“-1” in a yes/no column read as no label" in note for note in dataset.spec.notes)
    cleaning = Cleaning(skip_empty=mapping.flags)
    reading = dataset.spec.reading
    into = tmp_path / "2"
    left = import_dataset("x", {"all": file}, reading, mapping, Split(), into, cleaning=cleaning)
    assert sum(left.rows.values()) == 32 and not left.unlabelled
    partly = write_table(tmp_path, "text,rude,long", [*rows, "a last thing,1,"])
    with pytest.raises(BadFile, match="line 42: “” in the column “long” is neither"):
        import_files(partly, tmp_path / "3", mapping=mapping)
