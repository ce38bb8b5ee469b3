"""Runs and models by name, on every command that takes one."""

import inspect
import re
import typing
from importlib import import_module
from pathlib import Path

import pytest

from app.__main__ import COMMANDS as WINDOW_COMMANDS
from engine.cli import COMMANDS, naming
from engine.errors import StudioError
from engine.files.shipped import starter_model
from engine.runs.folder import RunFolder
from tests.engine.training import small

ASKS = re.compile(r"\b(runs?|models?|encoder|checkpoint)\b", re.IGNORECASE)
NEW_FILES = {"to", "into", "out", "save"}
OWN_NAMES = {("lineage", "item"), ("export-runs", "runs")}  # names of the record, and of data
OTHER_FILES = {"import-model", "import-runs", "queue"}  # folders and files from elsewhere
OTHER = {("job", "tokenizer"), ("calibrate", "predictions")}


def test_every_command_takes_a_run_or_a_model_by_name():
    asked = set()
    for command, target in {**COMMANDS, **WINDOW_COMMANDS}.items():
        module, _, function = target.partition(":")
        found = getattr(import_module(module), function)
        hints = typing.get_type_hints(found, include_extras=True)
        signature = getattr(found, "__signature__", None)
        if signature is not None:
            hints = {p.name: p.annotation for p in signature.parameters.values()}
        for name, hint in hints.items():
            option = getattr(hint, "__metadata__", (None,))[0]
            is_path = "Path" in str(getattr(hint, "__origin__", ""))
            if not is_path or name in NEW_FILES or command in OTHER_FILES:
                continue
            if (command, name) in OWN_NAMES | OTHER or not ASKS.search(option.help):
                continue
            asked.add(command)
            assert inspect.getmodule(option.callback) is naming, f"{command} {name}"
    assert {"predict", "evaluate", "resume", "report", "fill", "export", "job"} <= asked
    assert len(asked) > 20


@pytest.fixture
def runs(home, tmp_path) -> dict[str, RunFolder]:
    job = small.classifying(tmp_path)
    names = {"reviews": "reviews", "reviews-2": "Reviews again", "other": "Twins", "twin": "Twins"}
    return {
        folder: RunFolder.create(home.runs / folder, job.model_copy(update={"name": name}))
        for folder, name in names.items()
    }


def test_a_name_is_that_of_the_folder_or_of_the_job(runs, home):
    assert naming.find_run(Path("reviews")) == runs["reviews"].path
    assert naming.find_run(Path("REVIEWS AGAIN")) == runs["reviews-2"].path
    assert naming.find_run(Path("nothing")) == Path("nothing"), "the command says what it lacks"
    assert naming.find_run(Path("runs/reviews")) == Path("runs/reviews"), "a path is no name"
    assert naming.find_runs([Path("other"), Path("reviews")]) == [
        runs["other"].path,
        runs["reviews"].path,
    ]
    assert naming.find_checkpoint(Path("starter")) == starter_model()
    (home.models / "mine").mkdir()
    assert naming.find_folder(Path("Mine")) == home.models / "mine"


def test_an_ambiguous_name_is_refused_with_the_folders(runs, home, refusal):
    with pytest.raises(StudioError) as refused:
        naming.find_run(Path("twins"))
    assert all(str(runs[name].path) in refused.value.advice for name in ("other", "twin"))
    (home.models / "reviews").mkdir()
    error = refusal("predict", "x.csv", "--model", "reviews", "--out", "y.csv")
    assert "Several runs or models are called reviews." in error
    assert str(home.models / "reviews") in error and str(runs["reviews"].path) in error


def test_a_path_comes_before_a_name(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews").mkdir()
    assert naming.find_run(Path("reviews")) == Path("reviews")


def test_a_command_works_on_a_run_by_name(runs, output):
    assert "reproducible" in output("reproducibility", "reviews again")


def test_lineage_refuses_a_title_of_several_runs(runs, refusal):
    error = refusal("lineage", "Twins")
    assert "Several items are called Twins." in error
    assert all(str(runs[name].path) in error for name in ("other", "twin"))
