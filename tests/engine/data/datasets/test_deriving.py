"""New versions without some rows or with other labels; the old version is unchanged."""

from pathlib import Path
from typing import Any

import pytest

from engine.config.dataset import Cleaning, DatasetSpec, Mapping, Reading, Split
from engine.config.tasks.regression import Regression
from engine.data.columns.fit import dataset_problems, likely_task, suitable_target
from engine.data.datasets.collecting import NO_CLEANING
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.progress import Cancelled
from tests.engine.data.importing import import_files, write_lines


def store(folder: Path, name: str, lines: list[str]) -> DatasetSpec:
    file = write_lines(folder / name, *lines)
    return import_files(file, folder / "x" / "1", Split(validation=0.25)).spec


def derive_version(folder: Path, *arguments: Any, **options: Any) -> DatasetSpec:
    """Derive version 2 from version 1."""
    return derive(folder / "x" / "1", folder / "x" / "2", 2, *arguments, **options)


def test_rows_are_skipped_and_the_others_keep_split_and_line(tmp_path):
    rows = [f"a film {n},{'' if n % 10 == 3 else n % 2}" for n in range(40)]
    old = store(tmp_path, "films.csv", ["text,label", *rows])
    assert old.empty == {"label": 4}
    assert sum(old.unlabelled.values()) == 4
    assert not dataset_problems(old, likely_task(old.mapping, old.labels))
    (tmp_path / "films.csv").unlink()  # not needed again
    cleaning = Cleaning(skip_empty=("label",))
    new = derive_version(tmp_path, cleaning)
    assert (new.version, new.cleaning, new.empty) == (2, cleaning, {})
    assert new.labels == {"0": 20, "1": 16} and new.fingerprint != old.fingerprint
    assert dataset_problems(new, likely_task(new.mapping, new.labels)) == []
    assert (new.made_from, old.made_from, old.changes) == (1, None, ())
    assert new.changes == ("4 rows removed.",)
    assert not new.unlabelled
    before, after = (open_dataset(tmp_path / "x" / version) for version in ("1", "2"))
    after.verify()
    assert after.spec == new and before.spec == old
    remaining = [row for row in before.page(0, 40) if row["label"]]
    assert after.page(0, 40) == remaining


def test_another_column_is_learned_without_another_import(tmp_path):
    rows = [f"a film {n},{('good', 'bad')[n % 2]},{n % 37 / 10} " for n in range(80)]
    old = store(tmp_path, "films.csv", ["text,label,score", *rows])
    assert old.mapping.label == "label" and suitable_target(old, Regression()) == "score"
    dataset = open_dataset(tmp_path / "x" / "1")
    view = dataset.with_target("score")
    assert likely_task(view.spec.mapping, view.spec.labels).kind == "regression"
    scores = [cell.strip() for cell in dataset.cells("train")["score"]]
    assert view.rows("train").labels == scores and len(view.find(label="0.1")) == 3
    assert view.spec.with_target("label") == old and view.spec.fingerprint == old.fingerprint
    with pytest.raises(StudioError, match="“title” is not a column of labels") as refused:
        dataset.with_target("title")
    assert refused.value.advice == "Choose one of label, score."


WAYS = {  # to split again, and the first change of the version
    "Split again: 80/10/10 at random (seed 7).": Split(test=0.1, seed=7),
    "Split again: 80/10/10 by “author”.": Split(test=0.1, column="author", by="group"),
    "Split again: 70/20/10 by the time in “day”.": Split(
        validation=0.2, test=0.1, column="day", by="time"
    ),
    "Split again by the column “part”.": Split(column="part"),
}


@pytest.mark.parametrize("change", WAYS)
def test_a_version_is_split_again_without_its_files(tmp_path, change):
    """As an import with the same split would; notes on the old split do not stay."""
    lines = ["text,label,author,day,part"]
    for n in range(60):
        day, part = f"2026-{1 + n // 28:02}-{1 + n % 28:02}", ("train", "dev", "test")[n % 3]
        lines.append(f"film {n // 2},{n % 2},author {n % 10},{day},{part}")
    old = store(tmp_path, "films.csv", lines)
    assert any("have equal texts" in note for note in old.notes)
    imported = import_files(tmp_path / "films.csv", tmp_path / "y" / "1", WAYS[change])
    (tmp_path / "films.csv").unlink()
    new = derive_version(tmp_path, split=WAYS[change])
    before, after = (open_dataset(tmp_path / "x" / version) for version in ("1", "2"))
    after.verify()
    assert (after.splits == imported.splits).all()
    assert new.notes == imported.spec.notes and (new.made_from, new.split) == (1, WAYS[change])
    assert new.changes[0] == change and all("moved to" in moved for moved in new.changes[1:])
    assert sum(new.rows.values()) == 60 and new.rows["test"] > 0
    for row in before.page(0, 60):
        del row["_split"]
        assert row.items() <= after.page(row["_line"] - 2, 1)[0].items()
    again = tmp_path / "x" / "3"
    with pytest.raises(StudioError, match="already in this split"):
        derive(tmp_path / "x" / "2", again, 3, split=WAYS[change])
    assert not again.exists()


def test_files_of_splits_are_mixed_by_another_split(tmp_path):
    train = write_lines(tmp_path / "train.csv", "text,label", *(f"a {n},{n % 2}" for n in range(9)))
    test = write_lines(tmp_path / "test.csv", "text,label", *(f"b {n},{n % 2}" for n in range(9)))
    reading, mapping = Reading(), Mapping(text="text", label="label")
    sources = {"train": train, "test": test}
    import_dataset("x", sources, reading, mapping, Split(), tmp_path / "x" / "1")
    new = derive_version(tmp_path, split=Split(test=0.5, validation=0.0))
    assert new.rows == {"train": 9, "validation": 0, "test": 9}
    assert new.sources == {"all": (train, test)}
    texts = {row["text"][0] for row in open_dataset(tmp_path / "x" / "2").page(0, 18, "test")}
    assert texts == {"a", "b"}


def test_rows_are_edited_one_by_one(tmp_path):
    rows = [f"a film {n},{'good' if n % 2 else 'bad'}" for n in range(20)]
    store(tmp_path, "films.csv", ["text,label", *rows])
    before = open_dataset(tmp_path / "x" / "1").page(0, 20)
    edits = Edits(
        dropped={0, 7},
        cells={3: {"label": "bad"}, 4: {"text": "another film"}},
        splits={5: "test"},
    )
    new = derive_version(tmp_path, NO_CLEANING, edits)
    after = open_dataset(tmp_path / "x" / "2").page(0, 20)
    before[3]["label"], before[4]["text"], before[5]["_split"] = "bad", "another film", "test"
    assert after == [row for number, row in enumerate(before) if number not in (0, 7)]
    assert new.labels == {"bad": 10, "good": 8} and new.changes == (
        "2 rows removed.",
        "1 row relabelled: “good” → “bad” (1).",
        "“text” edited in 1 row.",
        "1 row moved to the test set.",
    )


def test_deriving_can_be_cancelled(tmp_path):
    store(tmp_path, "films.csv", ["text,label", *["a film,good", "one,bad"] * 4])
    progress: list[tuple[int, int]] = []
    with pytest.raises(Cancelled):
        derive_version(
            tmp_path,
            progress=lambda *now: progress.append(now),
            cancelled=lambda: True,
        )
    assert progress == [(0, 8)] and not (tmp_path / "x" / "2").exists()


def test_tags_are_recounted(tmp_path):
    sentence = "Ada\tB-person\nLovelace\tI-person\nsaw\tO\nParis\tB-place\n"
    old = store(tmp_path, "names.conll", ["\n".join([sentence] * 8)])
    new = derive_version(tmp_path, Cleaning())
    assert new.spans == old.spans == {"person": 8, "place": 8}


def test_a_version_without_training_rows_is_refused(tmp_path):
    old = store(tmp_path, "films.csv", ["text,note,label", *["a film,,good", "one,,bad"] * 4])
    with pytest.raises(StudioError, match="No training row is left"):
        derive_version(tmp_path, Cleaning(skip_empty=("note",)))
    assert old.rows["train"] and not (tmp_path / "x" / "2").exists()
