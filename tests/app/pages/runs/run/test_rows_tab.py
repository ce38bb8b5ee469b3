"""The best and worst validation rows while a run trains."""

from dataclasses import replace

import numpy as np

from app.pages.runs.run.rows_tab import Extremes, RowsTable
from app.pages.runs.run.view import RunView
from engine.runs.folder import RunFolder
from tests.app.pages.runs.pages import open_run
from tests.engine.results.rows import class_rows, new_info


def write_predictions(folder: RunFolder, accuracy: float, step: int, rows: int = 30) -> None:
    """Write predictions of `rows` rows; the first are wrong, later ones are more confident."""
    wrong = rows - int(rows * accuracy)
    gold = ["good"] * rows
    labels = ["bad"] * wrong + ["good"] * (rows - wrong)
    predictions = class_rows(
        gold,
        labels,
        probability=np.linspace(0.5, 0.9, rows),
        text=[f"text {n}" for n in range(rows)],
        other=["no text of the task"] * rows,
    )
    info = new_info("text_classification", ("bad", "good"), step=step)
    replace(predictions, info=info).write(folder.results / "validation.parquet")


def titles(table: RowsTable) -> list[str]:
    return [column.title for column in table.rows.columns]


def column(table: RowsTable, title: str) -> list[str]:
    column = titles(table).index(title)
    return [row[column][0] for row in table.rows.rows]


def set_running(view: RunView) -> None:
    view.state.row = replace(view.state.row, state="running")
    view.state.changed.emit()


def test_rows_follow_the_best_evaluation(make_page, studio, make_run, qtbot):
    run_id = make_run("live", step=4, outcome=None)
    folder = RunFolder(studio.home.runs / run_id)
    page = make_page()
    view = open_run(page, run_id, qtbot)
    set_running(view)
    view.tabs.setCurrentWidget(view.rows)
    tab = view.rows.widget
    assert tab.isVisible() and not tab.worst.isVisible()
    assert tab.note.text() == "The best and the worst rows are shown after the first evaluation."
    write_predictions(folder, accuracy=0.5, step=10)
    tab.poll()
    qtbot.waitUntil(tab.worst.isVisible)
    assert tab.note.text().startswith("The best evaluation so far was at step 10, on 30 row")
    assert column(tab.worst, "text") == [f"text {n}" for n in range(14, 4, -1)]
    assert column(tab.best, "text") == [f"text {n}" for n in range(29, 19, -1)]
    assert set(column(tab.worst, "Correct")) == {"✗"} and set(column(tab.best, "Correct")) == {"✓"}
    assert titles(tab.worst) == ["Correct", "True label", "Predicted", "Probability", "text", "Row"]
    write_predictions(folder, accuracy=1.0, step=20)
    tab.poll()
    qtbot.waitUntil(lambda: "step 20" in tab.note.text())
    assert column(tab.worst, "text") == [f"text {n}" for n in range(10)], "least confident first"
    assert set(column(tab.worst, "Correct")) == {"✓"}
    # the results replace the rows when the run has ended
    run_id = make_run("other")
    write_predictions(RunFolder(studio.home.runs / run_id), accuracy=0.5, step=10)
    view = open_run(page, run_id, qtbot)
    index = view.tabs.indexOf(view.rows)
    assert not view.tabs.isTabVisible(index)
    set_running(view)
    assert view.tabs.isTabVisible(index)
    view.tabs.setCurrentWidget(view.rows)
    view.state.row = replace(view.state.row, state="finished")
    view.state.changed.emit()
    assert not view.tabs.isTabVisible(index) and view.tabs.currentWidget() is view.results


def test_columns_grow_with_their_content_unless_resized_by_the_user(qtbot):
    table = RowsTable("Rows")
    qtbot.addWidget(table)
    table.resize(600, 200)
    table.show()

    def fill(loss: str) -> None:
        rows = [((loss, None), ("a text that gets what is left", None), ("good", None))]
        table.fill(Extremes(1, 1, ("Loss", "Text", "Gold"), (1,), rows, rows), rows)

    fill("7.200")
    narrow, gold = table.columnWidth(0), table.columnWidth(2)
    fill("10.0123456")
    wide = table.columnWidth(0)
    assert wide > narrow and table.columnWidth(2) == gold
    assert wide >= table.sizeHintForColumn(0)
    fill("7.200")
    assert table.columnWidth(0) == wide, "it does not shrink again"
    table.horizontalHeader().resizeSection(0, 45)
    fill("10.0123456")
    assert table.columnWidth(0) == 45 < wide
    assert sum(table.columnWidth(n) for n in range(3)) <= table.viewport().width()
