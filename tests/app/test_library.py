"""Listing of models and data sets, damaged ones with their problem."""

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from app import library
from engine.config.dataset import FileData, Mapping, Reading, Split
from engine.config.families.bert import bert
from engine.config.job import FromCheckpoint, FromScratch, JobSpec
from engine.config.tasks.text_classification import TextClassification
from engine.data.datasets.importing import import_dataset
from engine.messages import now
from engine.messages.events import Saved, Started
from engine.record.rebuild import refill
from engine.runs.folder import RunFolder
from engine.runs.lineage import read_lineage, read_runs
from tests.engine.checkpoints.test_info import CONFIG, TENSORS, safetensors
from tests.engine.faults import without_root_privileges


def make_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(str(CONFIG).replace("'", '"'))
    (folder / "model.safetensors").write_bytes(safetensors(TENSORS))
    (folder / "manifest.json").write_text('{"files": {}}')
    return folder


@pytest.fixture(autouse=True)
def no_starter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the included models."""
    monkeypatch.setattr(library, "included_models", lambda: {"Starter": tmp_path / "starter"})


def test_an_unreadable_folder_is_listed_with_its_reason(home, tmp_path):
    closed = (make_model(home.models / "closed"), home.datasets / "shut" / "1")
    make_model(home.models / "open")
    closed[1].mkdir(parents=True)
    (closed[1] / "spec.json").write_text("{}")
    for folder in closed:
        folder.chmod(0)
    with without_root_privileges():
        models = {m.name: m.problem for m in library.home_models(home)}
        (data,) = library.datasets(home)
    assert models["open"] == "" and models["closed"]
    assert data.folder == closed[1] and "permission" in data.problem


def test_models_are_sorted_by_name_and_damaged_ones_have_a_problem(home, tmp_path):
    (make_model(home.models / "broken") / "config.json").unlink()
    (entry,) = library.home_models(home)
    assert entry.info is None and "config.json" in entry.problem
    make_model(home.models / "zebra")
    make_model(home.models / "Ape")
    make_model(home.models / ".Ape.tmp-0")
    shutil.rmtree(home.models / "broken")
    assert [(m.name, m.origin) for m in library.home_models(home)] == [
        ("Ape", "imported"),
        ("zebra", "imported"),
    ]
    make_model(tmp_path / "starter")
    assert [m.origin for m in library.home_models(home)] == ["included", "imported", "imported"]


def test_data_sets_are_listed_newest_first(home, tmp_path):
    table = tmp_path / "reviews.csv"
    table.write_text("text,label\n" + "good,1\nbad,0\n" * 20)
    for name, version in (("first", 1), ("second", 1), ("second", 2)):
        import_dataset(
            name,
            {"all": table},
            Reading(),
            Mapping(text="text", label="label"),
            Split(),
            home.datasets / name / str(version),
            version,
        )
    datasets = library.datasets(home)
    assert [(d.name, d.version) for d in datasets] == [("second", 2), ("second", 1), ("first", 1)]
    (home.datasets / "first" / "1" / "spec.json").write_text("{")
    damaged = next(d for d in library.datasets(home) if d.folder.parent.name == "first")
    assert damaged.spec is None and "damaged" in damaged.problem


def test_leftovers_of_an_interrupted_import_are_removed(home):
    leftover = home.models / ".Ape.tmp-12ab"
    make_model(leftover)
    in_dataset = home.datasets / "reviews" / ".1.tmp-12ab"
    in_dataset.mkdir(parents=True)
    library.remove_leftovers(home)
    assert not leftover.exists() and not in_dataset.exists()


def test_the_best_and_last_checkpoints_of_a_run_are_offered(qtbot, studio):
    job = JobSpec(
        name="My run",
        task=TextClassification(),
        base_model=FromScratch(model=bert(2, 128)),
        data=FileData(path=Path("reviews.csv")),
    )
    folder = RunFolder.create(studio.home.runs / "run-1", job)
    folder.append(Started(at=now(), pid=1))
    for step in (10, 20, 30):
        make_model(folder.checkpoint(step))
        folder.append(Saved(step=step, folder=f"checkpoints/step-{step:08d}", best=step == 20))
    refill(studio.record, studio.home)
    models = [(m.name, m.step, m.best, m.run) for m in studio.models()]
    assert models == [("My run", 20, True, "run-1"), ("My run", 30, False, "run-1")]
    later = job.model_copy(update={"base_model": FromCheckpoint(path=folder.checkpoint(20))})
    tuned = RunFolder.create(studio.home.runs / "run-2", later)
    tuned.append(Started(at=now(), pid=1))
    make_model(tuned.checkpoint(5))
    tuned.append(Saved(step=5, folder="checkpoints/step-00000005", best=True))
    refill(studio.record, studio.home)
    bases = {model.run: model.base for model in studio.models()}
    assert bases == {"run-1": None, "run-2": folder.checkpoint(20)}


def test_a_saved_checkpoint_is_announced(qtbot, studio):
    studio.running.refresh()
    with qtbot.waitSignal(studio.running._delay.timeout):
        pass
    qtbot.waitUntil(lambda: studio.running._checkpoints is not None)
    test_the_best_and_last_checkpoints_of_a_run_are_offered(qtbot, studio)
    with qtbot.waitSignal(studio.models_changed):
        studio.dispatcher.run_changed.emit("run-1")


class Vanishing:
    """Delete `folder` at one call of the operating system, counted from 0."""

    def __init__(self, folder: Path, call: int) -> None:
        self.folder, self.left = folder, call

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == -1:
                self.folder.rename(self.folder.with_name(f"{self.folder.name}-deleted"))
            return function(*arguments, **options)

        return called

    @property
    def was_deleted(self) -> bool:
        return self.left < 0


LISTS = {
    "models": library.home_models,
    "external": lambda home: library.external_models(str(home.models)),
    "data sets": library.datasets,
    "lineage": lambda home: read_lineage(home, read_runs(home)),
}


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.parametrize("kind", ["models", "datasets"])
def test_a_folder_may_be_deleted_while_it_is_listed(home, monkeypatch, listed, kind):
    for call in count():
        folder = getattr(home, kind) / f"item-{call}"
        (make_model(folder) / "model.safetensors").unlink()  # other weights are looked for
        (make_model(folder / "1") / "spec.json").write_text("{}")
        vanishing = Vanishing(folder, call)
        with monkeypatch.context() as patch:
            for name in ("stat", "listdir", "open"):
                patch.setattr(os, name, vanishing.wrap(getattr(os, name)))
            LISTS[listed](home)
        if not vanishing.was_deleted:
            assert call > 0  # the list called the system
            return
        shutil.rmtree(folder.with_name(f"{folder.name}-deleted"))
