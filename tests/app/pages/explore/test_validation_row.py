"""Explore opens a model of a run with a row of the data that the run was evaluated on."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.pages.explore.model_input import TextInput
from app.pages.explore.page_parts import example_row
from app.pages.explore.view import EXAMPLE
from engine.config.dataset import Mapping, Reading, Source, Split, StoredData
from engine.data.datasets.importing import import_dataset
from engine.files.home import Home
from engine.models.heads import Heads
from engine.runs.folder import RunFolder
from tests.app.pages.explore.conftest import make_model
from tests.engine.runs import fake_worker

Wait = Callable[[Callable[[], Any]], None]
READING = Reading(format="jsonl")


def make_checkpoint(
    home: Home, mapping: Mapping, train: dict[str, Any], validation: dict[str, Any] | None
) -> Path:
    """The checkpoint of a run on a data set of these rows, a classifier of three classes."""
    sources: dict[Source, Path] = {}
    for name, row in (("train", train), ("validation", validation)):
        if row is not None:
            file = home.root / f"{name}.jsonl"
            file.write_text(json.dumps(row))
            sources[name] = file  # type: ignore[index]
    data = home.datasets / "films" / "1"
    import_dataset("films", sources, READING, mapping, Split(validation=0, test=0), data)
    job = fake_worker.job().model_copy(update={"data": StoredData(folder=data)})
    run = RunFolder.create(home.runs / "films", job)
    return make_model(run.checkpoint(20), Heads(outputs=3))


TEXT = Mapping(text="text", label="label")
PAIR = Mapping(text="text", pair="other", label="label")


def test_the_row_comes_from_the_validation_data(home):
    choice = Mapping(text="text", beginning="first", endings=("x", "y"), label="label")
    for mapping, row, expected in (
        (TEXT, {"text": "the cat", "label": "a"}, TextInput("the cat")),
        (PAIR, {"text": "a cat", "other": "a dog", "label": "b"}, TextInput("a cat", "a dog")),
        (
            Mapping(text="words", tags="tags"),
            {"words": '["the", "cat"]', "tags": '["O", "O"]'},
            TextInput("the cat"),
        ),
        (
            choice,
            {"text": "the cat", "first": "it", "x": "sat", "y": "is", "label": "0"},
            TextInput("the cat", "it"),
        ),
    ):
        train = {name: "O" if name == "tags" else "0" for name in row}
        assert example_row(make_checkpoint(home, mapping, train, row)) == expected
        shutil.rmtree(home.datasets / "films")
        shutil.rmtree(home.runs / "films")


def test_without_validation_data_it_is_a_training_row(home):
    checkpoint = make_checkpoint(home, TEXT, {"text": "the dog", "label": "a"}, None)
    assert example_row(checkpoint) == TextInput("the dog")
    shutil.rmtree(home.datasets / "films")
    assert example_row(checkpoint) is None, "the data is gone"
    assert example_row(home.models / "imported") is None, "it belongs to no run"


def test_the_row_is_shown_but_never_replaces_typed_text(make_page, home, model, wait):
    checkpoint = make_checkpoint(
        home, TEXT, {"text": "x", "label": "a"}, {"text": "the mat", "label": "a"}
    )
    page = make_page(model, EXAMPLE)
    page.arrive(checkpoint)
    wait(lambda: page.state.first.text == "the mat" and page.state.is_settled)
    assert page.text.toPlainText() == "the mat"
    page.text.set_text("my own")
    page.arrive(model)
    wait(lambda: page.state.first.checkpoint == model)
    page.arrive(checkpoint)
    wait(lambda: page.state.first.checkpoint == checkpoint and page._reading_row is None)
    assert page.text.toPlainText() == "my own"
