"""The results of a run: the score, pictures that select rows, and the rows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from app.results.view import ResultsView
from app.studio import Studio
from tests.app.accessible import assert_accessible
from tests.engine.results.made import classified

Show = Callable[..., ResultsView]
GOLD = ["good", "good", "bad", "bad", "bad"]
PREDICTED = ["good", "bad", "good", "good", "bad"]
TEXTS = ["fine", "so so", "poor", "awful & <b>bad</b>", "dull"]


@pytest.fixture
def show(studio: Studio, qtbot: QtBot, tmp_path: Path) -> Show:
    """The view of the five rows above, of the checkpoint in `tmp_path`."""

    def make(width: int = 1000, height: int = 560) -> ResultsView:
        made = classified(
            GOLD,
            PREDICTED,
            probability=[0.9, 0.6, 0.8, 0.7, 0.95],
            text=TEXTS,
            label=GOLD,
        )
        made.write(tmp_path / "results" / "validation.parquet")
        view = ResultsView(studio, lambda facts: tmp_path if facts.model == "First" else None)
        qtbot.addWidget(view)
        view.resize(width, height)
        view.show()
        view.show_folder(tmp_path / "results")
        qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
        qtbot.waitUntil(lambda: view.pictures.made["confusion"].figure() is not None)
        return view

    return make


def texts(view: ResultsView) -> list[str]:
    model = view.rows.model
    place = next(n for n, column in enumerate(model.columns) if column.key == "cell:text")
    return [model.index(row, place).data() for row in range(model.rowCount())]


def test_the_score_stands_above_with_its_interval_and_its_rows(show: Show) -> None:
    view = show()
    assert view.headline.score.whole() == "Accuracy 40.0 %"
    assert "95 % interval" in view.headline.about.text()
    assert "5 rows of “Reviews”, validation" in view.headline.about.text()


def test_the_most_confident_mistakes_are_listed_first(show: Show) -> None:
    assert texts(show()) == ["poor", "awful & <b>bad</b>", "so so", "fine", "dull"]


def test_a_cell_of_the_matrix_lists_its_rows_and_a_second_click_all(
    show: Show, qtbot: QtBot
) -> None:
    view = show()
    matrix = view.pictures.made["confusion"].matrix  # type: ignore[attr-defined]
    matrix.setFocus()
    QTest.keyClick(matrix, Qt.Key.Key_Right)
    QTest.keyClick(matrix, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(view) == ["poor", "awful & <b>bad</b>"])
    said = [chip.text() for chip in view.rows.filters.chips]  # type: ignore[attr-defined]
    assert said == ["gold is “bad”", "predicted is “good”"]
    assert view.rows.filters.count.text() == "2 of 5 rows"
    QTest.keyClick(matrix, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    assert view.rows.filters.chips == []


def test_choices_of_two_pictures_hold_together_and_each_part_can_be_removed(
    show: Show, qtbot: QtBot
) -> None:
    view = show()
    view.pictures.made["confusion"].matrix.pressed.emit((0, -1))  # type: ignore[attr-defined]
    view.pictures.choice.setCurrentIndex(1)
    labels = view.pictures.made["labels"]
    qtbot.waitUntil(lambda: labels.model.rowCount() == 2)  # type: ignore[attr-defined]
    labels.table.clicked.emit(labels.model.index(0, 2))  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: texts(view) == ["poor", "awful & <b>bad</b>"])
    said = [chip.text() for chip in view.rows.filters.chips]  # type: ignore[attr-defined]
    assert said == ["gold is “bad”", "predicted is not “bad”"]
    view.rows.filters.chips[1].click()  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 3)
    view.rows.filters.clear.click()
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)


def test_rows_are_sought_and_sorted(show: Show, qtbot: QtBot) -> None:
    view = show()
    view.rows.search.setText("AWFUL")
    QTest.keyClick(view.rows.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(view) == ["awful & <b>bad</b>"])
    view.rows.filters.clear.click()
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    assert view.rows.search.text() == ""
    text = next(n for n, c in enumerate(view.rows.model.columns) if c.key == "cell:text")
    view.rows.table.horizontalHeader().setSortIndicator(text, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: texts(view)[0] == "awful & <b>bad</b>")
    view.rows.mistakes.click()
    qtbot.waitUntil(lambda: texts(view)[0] == "poor")


def test_enter_opens_the_row_in_explore_with_its_model_and_the_wrong_class(
    show: Show, studio: Studio, tmp_path: Path
) -> None:
    view, gone = show(), []
    studio.go.connect(lambda page, argument: gone.append((page, argument)))
    QTest.keyClick(view.rows.table, Qt.Key.Key_Return)
    (page, argument), *_ = gone
    assert page == "explore"
    assert argument["model"] == tmp_path
    assert (argument["text"], argument["pair"]) == ("poor", None)
    assert argument["label"] == "good"


def test_the_selected_row_is_read_in_full_and_copied(show: Show) -> None:
    view = show()
    view.rows.table.setCurrentIndex(view.rows.model.index(1, 3))
    assert view.rows.row_text.toPlainText().startswith("text: awful & <b>bad</b>\n")
    place = next(n for n, c in enumerate(view.rows.model.columns) if c.key == "cell:text")
    view.rows.table.setCurrentIndex(view.rows.model.index(1, place))
    QTest.keyClick(view.rows.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == "awful & <b>bad</b>"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_the_listed_rows_are_written_as_a_table(
    show: Show, qtbot: QtBot, tmp_path: Path, suffix: str
) -> None:
    view = show()
    view.pictures.made["confusion"].matrix.pressed.emit((0, 1))  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 2)
    view.rows.export.click()
    dialog = view.findChild(QFileDialog) or next(
        w for w in QApplication.topLevelWidgets() if isinstance(w, QFileDialog)
    )
    out = tmp_path / f"rows.{suffix}"
    with qtbot.waitSignal(view.state.exported):
        dialog.fileSelected.emit(str(out))
    dialog.close()
    content = out.read_bytes()
    assert b"poor" in content
    assert b"so so" not in content


def test_a_file_that_is_damaged_is_told_in_words(
    studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    view = ResultsView(studio, lambda _: None)
    qtbot.addWidget(view)
    view.show()
    view.show_folder(tmp_path)
    assert view.none.isVisible()
    view.state.open(tmp_path / "gone.parquet")
    qtbot.waitUntil(view.problem.isVisible)
    assert "gone.parquet is missing" in view.problem.text.text()


def test_everything_has_a_name(show: Show) -> None:
    view = show()
    assert_accessible(view)
