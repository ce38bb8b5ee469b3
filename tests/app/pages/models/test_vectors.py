"""Word vectors on the Models page: import, facts, and deletion."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel

from app.drops import page_for
from app.widgets.text.numbers import size
from engine.data.word_vectors.facts import read_facts
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.asking import question

FILE = Path(__file__).parents[3] / "engine" / "data" / "word_vectors" / "small.txt"


def titles(page) -> list[str]:
    return [entry.title for entry in page.list.list.cards.rows]


@pytest.mark.usefixtures("in_threads")
def test_a_file_is_imported_opened_explored_and_deleted(qtbot, page, studio, trash):
    """Six actions: Word vectors, the file, Import, Open, Explore; and Delete."""
    qtbot.mouseClick(page.list.vectors_button, Qt.MouseButton.LeftButton)  # 1
    dialog = page.findChild(QFileDialog)
    dialog.fileSelected.emit(str(FILE))  # 2
    dialog.close()
    asked = question(qtbot)
    assert not page.state.is_importing and "60 words of 8 numbers" in texts(asked)
    qtbot.mouseClick(asked.buttons["import"], Qt.MouseButton.LeftButton)  # 3
    qtbot.waitUntil(lambda: page.state.imported is not None)
    folder = studio.home.vectors / "small"
    assert page.importing.title.text() == "“small” was imported"
    assert "then in lower case" in texts(page.importing)
    assert_accessible(page)
    page.importing.opened.emit(folder)  # 4
    qtbot.waitUntil(lambda: page.vectors is not None and page.vectors.isVisible())
    facts = page.vectors.facts.values
    assert (facts["File"].text(), facts["Form"].text()) == ("small.txt", "word2vec, text")
    assert facts["On disk"].text() == size(read_facts(folder).bytes) and page.place() == folder
    assert_accessible(page)
    assert_distinct_keys(page.vectors)
    asked_for = []
    studio.navigate.connect(lambda key, argument: asked_for.append((key, argument)))
    qtbot.mouseClick(page.vectors.explore, Qt.MouseButton.LeftButton)  # 5
    assert asked_for == [("explore", {"panel": "vectors", "vectors": folder})]
    qtbot.mouseClick(page.vectors.delete, Qt.MouseButton.LeftButton)  # 6
    qtbot.mouseClick(question(qtbot).buttons["delete"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.stack.currentWidget() is page.list and "small" not in titles(page))
    assert [entry.name for entry in trash.iterdir()] == ["small"]
    studio.notices.shown[-1].act()
    qtbot.waitUntil(lambda: "small" in titles(page))
    page.list.search.setText("Word vectors GloVe")
    assert not titles(page)
    page.list.search.setText("word vectors word2vec")
    assert titles(page) == ["small"]


def texts(widget) -> str:
    return " ".join(label.text() for label in widget.findChildren(QLabel))


def test_damaged_files_are_refused_and_damaged_copies_listed(qtbot, page, studio, tmp_path):
    damaged = tmp_path / "prose.vec"
    damaged.write_text("Some prose.\n")
    page.import_vectors(damaged)
    qtbot.waitUntil(lambda: bool(studio.notices.shown))
    assert "neither a word with its numbers" in studio.notices.shown[-1].problem
    folder = studio.home.vectors / "broken"
    folder.mkdir()
    studio.models_changed.emit()
    qtbot.waitUntil(lambda: "broken" in titles(page))
    page.open(folder)
    assert "damaged. Import their file again." in texts(page.vectors)
    assert not page.vectors.explore.isEnabled()
    assert_accessible(page)


@pytest.mark.usefixtures("in_threads")
def test_a_file_that_ends_early_is_refused_with_a_reason(qtbot, page, studio, tmp_path):
    cut = tmp_path / "cut.bin"
    cut.write_bytes(FILE.with_suffix(".bin").read_bytes()[:-30])
    page.import_vectors(cut)
    qtbot.mouseClick(question(qtbot).buttons["import"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.state.problem is not None)
    assert (
        "announces 60 words" in page.state.problem.problem or "line" in page.state.problem.problem
    )
    assert "Choose another file" in " ".join(
        button.text() for button in page.importing.findChildren(type(page.list.vectors_button))
    )
    assert not list(studio.home.vectors.iterdir())


def test_only_files_of_word_vectors_are_dropped_on_the_models(qtbot, page, tmp_path):
    prose = tmp_path / "prose.txt"
    prose.write_text("Some prose.\n")
    assert page_for([FILE]) == "models" and page_for([prose]) == "data"
    assert not page.accept_drop([prose])
    assert page.accept_drop([FILE])
    qtbot.mouseClick(question(qtbot).buttons["import"], Qt.MouseButton.LeftButton)
    assert page.stack.currentWidget() is page.importing
    page.state.cancel_import()
