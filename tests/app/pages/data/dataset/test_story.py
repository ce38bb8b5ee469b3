"""Rows without a label, from the file to the version that is trained on."""

import pytest
from PySide6.QtCore import Qt

from app.pages.train.choices import Step
from app.pages.train.view import TrainPage
from engine.data.datasets.store import open_dataset
from engine.files.shipped import minilm
from tests.app.pages.data.dataset.test_view import open_view
from tests.app.pages.train.examples import SENTENCE

PATIENCE = 90_000  # ms; a worker loads torch first


@pytest.mark.usefixtures("in_threads")
def test_rows_are_labelled_with_the_default_model(qtbot, page, write):
    rows = [f"{('lovely', 'dull')[n % 2]} film {n},{'' if n % 3 else n % 2}" for n in range(60)]
    view = open_view(qtbot, page, write("films.csv", "text,label\n" + "\n".join(rows) + "\n"))
    card = view.editing.card
    qtbot.waitUntil(card.suggest.isVisible, timeout=PATIENCE)
    assert card.model.chosen().path in (minilm(), page._studio.home.models / "little")
    qtbot.mouseClick(card.suggest, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(card.end.isVisible, timeout=PATIENCE)
    assert card.result.text() == "40 rows have no label; 40 are listed."
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert card.decisions.text() == "2 labelled, 100.0 % as suggested"
    wizard = TrainPage(page._studio)
    qtbot.addWidget(wizard)
    wizard.state.choose_goal(SENTENCE)
    page._studio.navigate.connect(lambda key, argument: key == "train" and wizard.arrive(argument))
    versions = view.state.folder.parent
    qtbot.mouseClick(card.train, Qt.MouseButton.LeftButton)  # the only click
    state = wizard.state
    qtbot.waitUntil(lambda: state.choices.data is not None, timeout=PATIENCE)
    assert state.choices.data.source.folder.name == "2"
    saved = open_dataset(versions / "2").spec
    assert saved.labels[""] == 38 and sum(saved.rows.values()) == 60
    assert sum(state.choices.spec.rows.values()) == 60 - 38
    assert state.obstacle(Step.DATA) == "" and state.fixes(Step.DATA) == []
