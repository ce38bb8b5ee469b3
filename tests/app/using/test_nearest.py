"""The rows nearest to a typed text, with a tiny sentence encoder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from app import background
from app.studio import Studio
from app.using.nearest_state import NearestState
from app.using.nearest_view import NearestView
from app.using.tab import UseTab
from engine.config.dataset import Split
from engine.data.datasets.importing import import_dataset
from engine.data.formats.reading import recognise
from engine.messages.question import Refused, Working
from tests.app.accessible import assert_accessible

PATIENCE = 90_000  # ms; workers load torch first
TEXTS = ("a lovely warm film", "a dull cold film", "i loved this story\nand its end")


@pytest.fixture
def tab(qtbot, in_threads, tab: UseTab, tuned) -> UseTab:
    tab.show_model(tuned("sentence_similarity").checkpoint, "films")
    qtbot.waitUntil(lambda: tab.nearest_view is not None)
    return tab


@pytest.fixture
def add_data(studio: Studio, tmp_path: Path) -> Callable[[], Path]:
    def add() -> Path:
        file, into = tmp_path / "films.csv", studio.home.datasets / "films" / "1"
        lines = "".join(f'"{text}",{n % 2}\n' for n, text in enumerate(TEXTS * 10))
        file.write_text("text,label\n" + lines)
        source = recognise(file)
        assert source.mapping is not None
        split = Split(validation=0.0)
        import_dataset("films", {"all": file}, source.reading, source.mapping, split, into)
        studio.datasets_changed.emit()
        return into

    return add


def test_the_nearest_rows_are_updated_while_typing(qtbot, tab, studio, add_data):
    view = tab.nearest_view
    assert isinstance(view, NearestView) and tab.try_view is not None
    assert "Add a data set" in view.status.text() and not view.compute.isEnabled()
    add_data()
    qtbot.waitUntil(lambda: view.data.count() == 1)
    assert view.data.currentText() == "films · 1" and view.part.count() == len(view.state.parts)
    assert "are computed once" in view.status.text()
    qtbot.mouseClick(view.compute, Qt.MouseButton.LeftButton)
    assert view.stop.isVisible() and view.bar.isVisible() and not view.compute.isVisible()
    qtbot.waitUntil(lambda: "Type a text" in view.status.text(), timeout=PATIENCE)
    assert view.state.has_vectors
    qtbot.keyClicks(tab.try_view.text, TEXTS[0])
    qtbot.waitUntil(lambda: view.model.index(0, 0).data() == "1.000", timeout=PATIENCE)
    assert view.table.isVisible() and view.model.index(0, 2).data() == TEXTS[0]
    cosines = [float(view.model.index(n, 0).data()) for n in range(view.model.rowCount())]
    assert cosines == sorted(cosines, reverse=True)
    assert all("\n" not in view.model.index(n, 2).data() for n in range(view.model.rowCount()))
    assert_accessible(tab)
    tab.try_view.text.clear()
    qtbot.waitUntil(lambda: not view.table.isVisible())


def test_a_computation_can_be_stopped_and_refusals_are_shown(qtbot, tab, studio, add_data):
    add_data()
    state: NearestState = tab.nearest_view.state
    qtbot.waitUntil(lambda: state.data is not None)
    state.compute()
    state._on_working(Working(stage="Computing vectors", done=1, total=4))
    assert tab.nearest_view.bar.value() == 250
    assert tab.nearest_view.status.text() == "Computing vectors …"
    qtbot.mouseClick(tab.nearest_view.stop, Qt.MouseButton.LeftButton)
    assert state.working is None and not state.has_vectors
    state._on_refused(Refused(problem="The disk is full.", advice="Free some space."))
    assert "The disk is full." in tab.nearest_view.status.text()
    assert tab.nearest_view.compute.isVisible()


def test_a_classifier_has_no_nearest_rows(qtbot, studio, tuned):
    tab = UseTab(studio)
    qtbot.addWidget(tab)
    tab.show_model(tuned("text_classification").checkpoint, "films")
    qtbot.waitUntil(lambda: tab.try_view is not None)
    assert tab.nearest_view is None
    background.finish()
