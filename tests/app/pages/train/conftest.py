"""Small data sets and a model to choose from, created without torch."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton
from pytestqt.qtbot import QtBot
from safetensors.numpy import save_file

from app import library
from app.pages.train import requests as train_requests
from app.pages.train import state as train_state
from app.pages.train.choices import Step
from app.pages.train.pickers import PickList
from app.pages.train.requests import Requests
from app.pages.train.state import TrainState
from app.pages.train.view import TrainPage
from app.studio import Studio
from engine.config.dataset import DatasetSpec, Mapping, Reading, Split
from engine.data.datasets.importing import import_dataset
from engine.files.home import Home
from engine.tokenizers.tokenizer import Tokenizer
from tests.app.conftest import StubWorker
from tests.app.pages.train.examples import SENTENCE

TEXT = "a the film was very good bad and long or short but never dull at all"
WORDS = TEXT.split()
WIDTH, POSITIONS = 4, 128

MakeData = Callable[..., Path]


@cache
def train_tokenizer(pieces: int) -> Tokenizer:
    return Tokenizer.train([" ".join(WORDS[i : i + 5]) for i in range(len(WORDS))] * 3, pieces)


def write_model(folder: Path, pieces: int = 64) -> Path:
    """A checkpoint folder with one layer of zero weights."""
    folder.mkdir(parents=True)
    tokenizer = train_tokenizer(pieces)
    tokenizer.save(folder)
    config = {
        "model_type": "bert",
        "architectures": ["BertForMaskedLM"],
        "vocab_size": tokenizer.size,
        "hidden_size": WIDTH,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "intermediate_size": 8,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
    }
    (folder / "config.json").write_text(json.dumps(config))
    weights = {
        "bert.embeddings.word_embeddings.weight": np.zeros((tokenizer.size, WIDTH), np.float32),
        "cls.predictions.bias": np.zeros(tokenizer.size, np.float32),
    }
    save_file(weights, folder / "model.safetensors")
    return folder


@pytest.fixture(autouse=True)
def no_included_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the included models, so that these tests do not depend on them."""
    monkeypatch.setattr(library, "included_models", dict)


@pytest.fixture(scope="session")
def model_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "little")


@pytest.fixture
def model(home: Home, model_template: Path) -> Path:
    """An imported model."""
    return shutil.copytree(model_template, home.models / "little")


@pytest.fixture
def included(home: Home, model_template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An included model."""
    folder = shutil.copytree(model_template, home.root / "included")
    monkeypatch.setattr(library, "included_models", lambda: {"MiniLM": folder})
    for module in (train_requests, train_state):
        monkeypatch.setattr(module, "default_base_model", lambda pretrains: folder)
    return folder


def make_text(row: int) -> str:
    return " ".join(WORDS[(row * 7 + n) % len(WORDS)] for n in range(3 + row % 5))


@pytest.fixture
def make_data(home: Home, tmp_path: Path) -> MakeData:
    """`make_data("name", pair=…, label=…)` imports a data set and returns the folder of version 1.

    The first `holes` rows have no text, and the last `unlabelled` ones no label. With `kinds`,
    another column has labels.
    """

    def make(
        name: str, pair=False, label=True, rows=60, holes=0, unlabelled=0, kinds=False
    ) -> Path:
        columns = ["text", *(["other"] if pair else []), *(["label"] if label else [])]
        columns += ["kind"] if kinds else []
        lines = ["\t".join(columns)]
        for row in range(rows):
            cells = ["" if row < holes else make_text(row)]
            cells += [make_text(row + 1)] if pair else []
            name_ = "" if row >= rows - unlabelled else ("good", "bad", "dull")[row % 3]
            cells += [name_] if label else []
            cells += ["new" if row % 2 else "old"] if kinds else []
            lines.append("\t".join(cells))
        file = tmp_path / "source.tsv"
        file.write_text("\n".join(lines), encoding="utf-8")
        mapping = Mapping(
            text="text", pair="other" if pair else None, label="label" if label else None
        )
        folder = home.datasets / f"data{len(list(home.datasets.iterdir()))}" / "1"
        reading = Reading(format="tsv", delimiter="\t")
        import_dataset(name, {"all": file}, reading, mapping, Split(validation=0.2), folder)
        return folder

    return make


@pytest.fixture
def sentences(make_data: MakeData) -> Path:
    """60 sentences with three labels."""
    return make_data("films")


@pytest.fixture
def pairs(make_data: MakeData) -> Path:
    """60 pairs with three labels."""
    return make_data("pairs", pair=True)


def parse_spec(folder: Path) -> DatasetSpec:
    return DatasetSpec.model_validate_json((folder / "spec.json").read_bytes())


@pytest.fixture
def state(studio: Studio, qtbot: QtBot, sentences: Path, model: Path) -> TrainState:
    """A state that has read its lists: one data set and one model."""
    state = TrainState(studio, studio)
    with qtbot.waitSignal(state.lists.changed):
        state.lists.read()
    return state


@pytest.fixture
def requests(studio: Studio, state: TrainState) -> Requests:
    """Requests that change the state."""
    return Requests(studio, state)


def choose_all(state: TrainState, qtbot: QtBot) -> None:
    """Choose a fine-tuning of the model on the data set."""
    assert state.lists.datasets and state.lists.models
    state.choose_goal(SENTENCE)
    state.choose_data(next(d for d in state.lists.datasets if d.name == "films"))
    state.choose_model(next(m for m in state.lists.models if m.name == "little"))
    qtbot.waitUntil(lambda: state.preview.result is not None and not state.preview.is_reading)


@pytest.fixture
def page(
    studio: Studio, qtbot: QtBot, sentences: Path, model: Path, one_time_workers: list[StubWorker]
) -> TrainPage:
    """The visible wizard, with its lists read."""
    wizard = TrainPage(studio)
    qtbot.addWidget(wizard)
    wizard.resize(1180, 760)
    with qtbot.waitExposed(wizard):
        wizard.show()
    qtbot.waitUntil(lambda: wizard.state.lists.datasets is not None)
    return wizard


def press(qtbot: QtBot, button: QAbstractButton) -> None:
    assert button.isEnabled(), button.text()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def pick(qtbot: QtBot, picks: PickList, title: str) -> None:
    """Click the entry of this title."""
    model = picks.model()
    indexes = (model.index(row, 0) for row in range(model.rowCount()))
    point = picks.visualRect(next(index for index in indexes if index.data() == title)).center()
    qtbot.mouseClick(picks.viewport(), Qt.MouseButton.LeftButton, pos=point)


def go_to_review(qtbot: QtBot, page: TrainPage) -> None:
    """Choose everything for a fine-tuning and show the last step."""
    choose_all(page.state, qtbot)
    page._open_step(Step.REVIEW)
