"""The results of a run: its score, pictures that filter rows, and its rows."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QListWidget, QScrollArea
from pytestqt.qtbot import QtBot

from app.results.comparison import ResultFile
from app.results.evaluating import ResultsSource, results_of_run
from app.results.rows_model import row_columns
from app.results.rows_view import row_lines
from app.results.view import ResultsView, explore_inputs
from app.studio import Studio
from app.widgets.navigation import PageStack
from app.widgets.results.group_table import COUNT, SHARE
from app.widgets.results.slices import SlicesPicture
from engine.checkpoints.prediction_settings import prediction_settings
from engine.config.dataset import FileData, Mapping
from engine.config.prediction import PredictionSettings
from engine.messages.evaluating import BaselinesFitted, Evaluate, Evaluated, FitBaselines
from engine.messages.question import Refused
from engine.phrases import phrase
from engine.results.conditions import CellContains, Outcome
from engine.results.masked_tokens import unigram
from engine.results.predictions import Predictions
from engine.results.slices import Slice, read_slices, save_slice
from engine.results.store import log_evaluation, predictions_file
from engine.runs.folder import RunFolder
from tests.app.accessible import assert_accessible
from tests.app.asking import question
from tests.engine.results.rows import class_rows, masked_tokens, new_info, tag_rows
from tests.tasks.jobs import JOBS

ShowResults = Callable[..., ResultsView]
GOLD = ["good", "good", "bad", "bad", "bad"]
PREDICTED = ["good", "bad", "good", "good", "bad"]
TEXTS = ["fine", "so so", "poor", "awful & <b>bad</b>", "dull"]


def results_source(folder: Path) -> ResultsSource:
    """Results of a model in `folder` that can score any part."""
    return ResultsSource(
        folder / "results",
        lambda info: folder if info.model == "First" else None,
        lambda part: Evaluate(
            checkpoint=folder,
            data=FileData(path=folder / "data.csv"),
            part=part,
            into=folder / "results",
            model="First",
        ),
    )


def open_results(studio: Studio, qtbot: QtBot, source: ResultsSource) -> ResultsView:
    view = ResultsView(studio, source)
    qtbot.addWidget(view)
    view.resize(1000, 560)
    view.show()
    return view


@pytest.fixture
def show(studio, qtbot, tmp_path) -> ShowResults:
    """The view of the five rows above and the checkpoint in `tmp_path`."""

    def show_view(width: int = 1000, height: int = 560) -> ResultsView:
        predictions = class_rows(
            GOLD, PREDICTED, probability=[0.9, 0.6, 0.8, 0.7, 0.95], text=TEXTS, label=GOLD
        )
        predictions.write(tmp_path / "results" / "validation.parquet")
        view = open_results(studio, qtbot, results_source(tmp_path))
        view.resize(width, height)
        qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
        qtbot.waitUntil(lambda: view.pictures.pictures["confusion"].figure() is not None)
        return view

    return show_view


def texts(view: ResultsView) -> list[str]:
    model = view.rows.model
    index = next(n for n, column in enumerate(view.rows.columns) if column.key == "cell:text")
    return [model.index(row, index).data() for row in range(model.rowCount())]


def test_confident_mistakes_come_first_and_rows_are_selected_and_saved(show, qtbot, tmp_path):
    view = show()
    assert view.headline.score.full_text() == "Accuracy 40.0 % · Macro F1 40.0 %"
    assert "95 % interval" in view.headline.about.text()
    assert "5 row(s) of “Reviews”, validation" in view.headline.about.text()
    assert_accessible(view)
    assert texts(view) == ["poor", "awful & <b>bad</b>", "so so", "fine", "dull"], "confident first"
    view.rows.table.setCurrentIndex(view.rows.model.index(1, 3))
    assert view.rows.row_text.toPlainText().startswith("text: awful & <b>bad</b>\n")
    column = next(n for n, c in enumerate(view.rows.columns) if c.key == "cell:text")
    view.rows.table.setCurrentIndex(view.rows.model.index(1, column))
    QTest.keyClick(view.rows.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: "awful & <b>bad</b>" in QApplication.clipboard().text())
    copied = QApplication.clipboard().text().splitlines()
    assert copied[0].startswith("Correct\tTrue label\tPredicted\t") and len(copied) == 2
    # selections of two pictures are combined and removed separately
    view.pictures.pictures["confusion"].matrix.pressed.emit((0, -1))
    view.pictures.choice.setCurrentIndex(1)
    labels = view.pictures.pictures["labels"]
    qtbot.waitUntil(lambda: labels.model.rowCount() == 2)
    labels.table.chosen.emit(labels.model.index(0, 2))
    qtbot.waitUntil(lambda: texts(view) == ["poor", "awful & <b>bad</b>"])
    chips = [chip.text() for chip in view.rows.filters.chips]
    assert chips == ["true label is “bad”", "predicted is not “bad”"]
    view.rows.filters.remove_buttons[1].click()
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 3)
    view.rows.filters.clear.click()
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    # rows are searched and sorted
    view.rows.search.setText("AWFUL")
    QTest.keyClick(view.rows.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(view) == ["awful & <b>bad</b>"])
    view.rows.filters.clear.click()
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    assert view.rows.search.text() == ""
    text = next(n for n, c in enumerate(view.rows.columns) if c.key == "cell:text")
    view.rows.table.horizontalHeader().setSortIndicator(text, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: texts(view)[0] == "awful & <b>bad</b>")
    view.rows.mistakes.click()
    qtbot.waitUntil(lambda: texts(view)[0] == "poor")
    # a cell of the matrix lists rows that are saved as a table
    view.pictures.choice.setCurrentIndex(0)
    matrix = view.pictures.pictures["confusion"].matrix
    matrix.setFocus()
    QTest.keyClick(matrix, Qt.Key.Key_Right)
    QTest.keyClick(matrix, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(view) == ["poor", "awful & <b>bad</b>"])
    chips = [chip.text() for chip in view.rows.filters.chips]
    assert chips == ["true label is “bad”", "predicted is “good”"]
    assert view.rows.filters.count.text() == "2 of 5 rows"
    QTest.keyClick(matrix, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    assert view.rows.filters.chips == []
    view.pictures.pictures["confusion"].matrix.pressed.emit((0, 1))
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 2)
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        view.rows.export.click()
        dialog = next(d for d in view.findChildren(QFileDialog) if d.isVisible())
        out = tmp_path / f"rows.{suffix}"
        with qtbot.waitSignal(view.state.exported):
            dialog.fileSelected.emit(str(out))
        dialog.close()
        content = out.read_bytes()
        assert b"poor" in content and b"so so" not in content


def test_a_reduced_precision_is_mentioned(show, studio, tmp_path, qtbot):
    """Explore may show other scores than a run that was evaluated in bf16."""
    about = show().headline.about
    assert "computed in" not in about.text() and not about.toolTip()
    predictions = class_rows(GOLD, PREDICTED, text=TEXTS, label=GOLD)
    info = predictions.info.model_copy(update={"precision": "bf16"})
    replace(predictions, info=info).write(tmp_path / "short" / "results" / "validation.parquet")
    view = open_results(studio, qtbot, results_source(tmp_path / "short"))
    qtbot.waitUntil(lambda: view.headline.about.text().endswith("computed in bf16"))
    assert "Explore" in view.headline.about.toolTip()


def test_enter_opens_the_row_in_explore_with_its_model(show, studio, tmp_path):
    view, requests = show(), []
    studio.navigate.connect(lambda page, argument: requests.append((page, argument)))
    QTest.keyClick(view.rows.table, Qt.Key.Key_Return)
    (page, argument), *_ = requests
    assert page == "explore"
    assert argument["model"] == tmp_path
    assert (argument["text"], argument["pair"]) == ("poor", None)
    assert argument["panel"] == "predictions"
    assert argument["label"] == "good"  # the wrong one


@pytest.mark.parametrize(
    "cells", [{"a": "on a mat", "b": "on a dog"}, {"both": '["on a mat", "on a dog"]'}]
)
def test_a_multiple_choice_row_opens_in_explore_with_its_choices(cells):
    columns = {name: [cell] for name, cell in cells.items()}
    predictions = class_rows(["1"], ["2"], ["1", "2"], text=["The cat sat"], **columns)
    mapping = Mapping(text="text", label="label", endings=tuple(cells))
    fields = {"task": "multiple_choice", "mapping": mapping}
    info = predictions.info.model_copy(update=fields)
    row = explore_inputs(Predictions(info, predictions.table), 0)
    assert row == {"text": "The cat sat", "pair": None, "choices": ("on a mat", "on a dog")}


def test_a_masked_token_opens_in_the_words_panel(studio, qtbot, tmp_path):
    predictions = masked_tokens()
    predictions.write(tmp_path / "results" / "validation.parquet")
    unigram(predictions).write(tmp_path / "results" / "unigram-validation.parquet")
    view, requests = open_results(studio, qtbot, results_source(tmp_path)), []
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 40)
    assert view.headline.score.full_text() == "Loss 4.8500"
    assert "Accuracy 50.0 % · Top-5 accuracy 50.0 %" in view.headline.about.text()
    assert view.headline.baseline.text() == (
        "Perplexity 127.7, accuracy 50.0 %. Unigram baseline (token frequencies alone): perplexity "
        "107.4, accuracy 50.0 %, on the same 40 masked token(s)."
    )
    qtbot.waitUntil(lambda: len(view.pictures.pictures["frequency"].measured.lines) == 2)
    table = view.pictures.pictures["frequency"].table
    table.setCurrentIndex(table.model().index(0, 0))
    QTest.keyClick(table, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 20)
    studio.navigate.connect(lambda page, argument: requests.append((page, argument)))
    QTest.keyClick(view.rows.table, Qt.Key.Key_Return)
    assert requests[0][1]["panel"] == "words" and "[MASK]" in requests[0][1]["text"]


def test_a_damaged_file_is_reported(studio, qtbot, tmp_path):
    view = open_results(studio, qtbot, results_source(tmp_path))
    assert view.score.isVisible()
    view.state.open(tmp_path / "gone.parquet")
    qtbot.waitUntil(view.problem.isVisible)
    assert "gone.parquet is missing" in view.problem.text.text()


def test_no_part_vanishes_in_a_short_window(show):
    """The page scrolls as a whole, and narrow label columns leave space to the texts."""
    view = show(width=960, height=380)
    view.pictures.pictures["confusion"].matrix.pressed.emit((0, 1))
    view.comparison.show()
    area = view.findChild(QScrollArea)
    QApplication.processEvents()
    assert area.verticalScrollBar().maximum() > 0 == area.horizontalScrollBar().maximum()
    rows = view.rows.table.viewport().height() // view.rows.table.rowHeight(0)
    assert rows >= 2 and view.rows.row_text.height() >= 40
    widths = {c.key: view.rows.table.columnWidth(n) for n, c in enumerate(view.rows.columns)}
    assert widths["gold"] < widths["cell:text"] / 3


class FakeWorker:
    """Answers immediately with the five rows, all predicted correctly."""

    def __init__(self, refuses: bool = False, notes: bool = False) -> None:
        self.questions: list[Evaluate] = []
        self.refuses, self.notes = refuses, notes

    def __call__(self, question: Evaluate, done: Any, refused: Any, *_: object) -> None:
        self.questions.append(question)
        if self.refuses:
            refused(Refused(problem="The file has no text.", advice="Choose another file."))
            return
        predictions = class_rows(GOLD, GOLD, text=TEXTS)
        info = predictions.info.model_copy(update={"part": question.part, "source": "data.csv"})
        file = predictions_file(question.into, question.part, question.source)
        Predictions(info, predictions.table).write(file)
        if question.part == "test":
            log_evaluation(question.into, info)
        notes = (phrase("Row without “{name}” skipped", name="label"),)
        done(Evaluated(file=file, rows=5, metrics={}, notes=notes if self.notes else ()))


def test_test_rows_are_scored_after_a_question_and_counted(show, studio, qtbot, monkeypatch):
    worker = FakeWorker()
    monkeypatch.setattr(studio, "one_time_worker", worker)
    view = show()
    assert view.test_action.text() == "Score the &test rows (0 time(s) so far)"
    view.test_action.trigger()
    question(qtbot).buttons["cancel"].click()
    assert worker.questions == []
    view.test_action.trigger()
    question(qtbot).buttons["score"].click()
    qtbot.waitUntil(
        lambda: view.headline.score.full_text() == "Accuracy 100.0 % · Macro F1 100.0 %"
    )
    assert "scored 1 time(s)" in view.headline.about.text()
    assert view.choice.currentText() == "Test"
    view.test_action.trigger()  # without a second question
    qtbot.waitUntil(lambda: "scored 2 time(s)" in view.headline.about.text())
    view.choice.setCurrentIndex(0)
    view.choice.activated.emit(0)
    qtbot.waitUntil(lambda: view.headline.score.full_text() == "Accuracy 40.0 % · Macro F1 40.0 %")


def test_neglected_classes_are_named_with_a_job_that_weighs_them(studio, qtbot, tmp_path):
    """One press leads from a class that is never predicted to the wizard."""
    job = JOBS["text_classification"](tmp_path)
    run = RunFolder.create(tmp_path / "run", job)
    class_rows(["bad"] * 9 + ["good"], ["bad"] * 10, text=["x"] * 10).write(
        predictions_file(run.results, "validation")
    )
    view, requests = open_results(studio, qtbot, results_of_run(run)), []
    studio.navigate.connect(lambda page, argument: requests.append((page, argument)))
    qtbot.waitUntil(view.headline.remedy.isVisible)
    assert view.headline.score.full_text() == "Accuracy 90.0 % · Macro F1 47.4 %"
    assert view.headline.neglected.text() == "Never predicted: “good”."
    assert view.headline.remedy.text() == "Tr&y again with class weights"
    view.headline.remedy.click()
    ((page, argument),) = requests
    assert page == "train" and argument["job"].task.balanced
    assert argument["job"].training == job.training


def test_the_focus_goes_from_an_evaluation_to_its_rows_or_stays(
    studio, qtbot, tmp_path, monkeypatch
):
    monkeypatch.setattr(studio, "one_time_worker", FakeWorker())
    stack, view = PageStack(), ResultsView(studio, results_source(tmp_path))
    stack.addWidget(view)
    qtbot.addWidget(stack)
    stack.show()
    qtbot.waitUntil(stack.isActiveWindow)
    view.score.setFocus()
    view.score.click()
    qtbot.waitUntil(lambda: stack.focusWidget() is view.rows.table)
    assert view.rows.model.rowCount() == 5
    view.menu_button.setFocus()
    view.evaluating.score_file(view._source, Path("new rows.csv"))
    qtbot.waitUntil(lambda: view.choice.currentText() == "data.csv")
    assert stack.focusWidget() is view.menu_button


def test_rows_of_a_file_are_scored(show, studio, qtbot, monkeypatch):
    worker = FakeWorker(notes=True)
    monkeypatch.setattr(studio, "one_time_worker", worker)
    view, notices = show(), []
    studio.notices.added.connect(notices.append)
    view.evaluating.score_file(results_source(view._source.folder.parent), Path("new rows.csv"))
    qtbot.waitUntil(lambda: view.choice.currentText() == "data.csv")
    question = worker.questions[0]
    assert (question.part, question.source) == ("file", "new rows.csv")
    assert isinstance(question.data, FileData)
    assert question.data.path == Path("new rows.csv")
    qtbot.waitUntil(lambda: bool(notices))
    assert notices[0].problem == "Row without “label” skipped"


def test_a_refusal_of_the_worker_keeps_the_shown_results(show, studio, qtbot, monkeypatch):
    monkeypatch.setattr(studio, "one_time_worker", FakeWorker(refuses=True))
    view, notices = show(), []
    studio.notices.added.connect(notices.append)
    view.evaluating.score_file(view._source, Path("empty.csv"))
    qtbot.waitUntil(lambda: bool(notices))
    assert notices[0].problem == "The file has no text."
    assert view.menu_button.isEnabled()
    assert view.headline.score.full_text() == "Accuracy 40.0 % · Macro F1 40.0 %"


def test_a_saved_slice_is_available_to_other_results(show, studio, qtbot):
    view = show()
    view.pictures.pictures["confusion"].matrix.pressed.emit((0, 1))
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 2)
    view.rows.filters.save.click()
    dialog = question(qtbot)
    name = dialog.findChild(QLineEdit)
    assert name.text() == "true label is “bad” and predicted is “good”"
    name.setText("Bad taken for good")
    dialog.buttons["keep"].click()
    qtbot.waitUntil(lambda: "slices" in view.pictures.pictures)
    table: Any = view.pictures.pictures["slices"]
    qtbot.waitUntil(lambda: table.model.rowCount() == 1)
    cells = [table.model.index(0, column).data() for column in range(3)]
    assert (cells[0], cells[2]) == ("Bad taken for good", "2")
    assert cells[1].startswith("0.0")
    assert read_slices(studio.home.slices)[0].source == "Reviews"
    view.rows.filters.clear.click()
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    table.table.chosen.emit(table.model.index(0, 0))
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 2)


def test_a_slice_is_renamed_and_deleted_with_undo(show, studio, qtbot):
    wrong = (Outcome(right=False),)
    for name in ("Mistakes", "Others"):
        save_slice(studio.home.slices, Slice(name=name, source="Reviews", conditions=wrong))
    view = show()
    view.pictures.choice.setCurrentText("Slices")
    picture: Any = view.pictures.pictures["slices"]
    qtbot.waitUntil(lambda: picture.model.rowCount() == 2)

    def names() -> list[str]:
        return [picture.model.index(row, 0).data() for row in range(picture.model.rowCount())]

    assert picture.rename.isVisible()
    assert not picture.rename.isEnabled()
    picture.table.setFocus()
    picture.table.setCurrentIndex(picture.model.index(0, 0))
    QTest.keyClick(picture.table, Qt.Key.Key_F2)
    dialog = question(qtbot)
    dialog.findChild(QLineEdit).setText(" Wrong ")
    dialog.buttons["rename"].click()
    qtbot.waitUntil(lambda: names() == ["Wrong", "Others"])
    picture.table.setCurrentIndex(picture.model.index(0, 0))
    QTest.keyClick(picture.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: names() == ["Others"])
    notice = studio.notices.shown[-1]
    assert (notice.problem, notice.action) == ("Deleted the slice “Wrong”.", "Undo")
    notice.act()
    qtbot.waitUntil(lambda: names() == ["Others", "Wrong"])
    assert {s.name for s in read_slices(studio.home.slices)} == {"Wrong", "Others"}
    assert_accessible(view)


def test_the_worst_slice_is_found_and_described(qtbot):
    gold = ["good"] * 200
    predicted = ["bad" if n < 30 else "good" for n in range(200)]
    source = ["old" if n < 40 else "new" for n in range(200)]
    predictions = class_rows(gold, predicted, text=["x"] * 200, source=source)
    picture = SlicesPicture()
    qtbot.addWidget(picture)
    picture.show_measured(SlicesPicture.measure(predictions))
    assert picture.model.index(0, 0).data() == "“source” is “old”"
    assert "10 of 40 rows correct where “source” is “old”" in picture.note.text()


def test_a_slice_without_rows_is_drawn(show, studio, qtbot):
    no_match = (CellContains(column="text", text="nowhere"),)
    save_slice(studio.home.slices, Slice(name="None", source="Reviews", conditions=no_match))
    view = show()
    view.pictures.choice.setCurrentText("Slices")
    qtbot.waitUntil(lambda: "slices" in view.pictures.pictures)
    table: Any = view.pictures.pictures["slices"]
    qtbot.waitUntil(lambda: table.model.rowCount() == 1)
    assert [table.model.index(0, column).data() for column in range(3)] == ["None", "–", "0"]
    assert table.model.index(0, COUNT).data(SHARE) == 0
    view.grab()


def test_two_results_are_compared_and_changed_rows_are_listed(show, studio, qtbot, tmp_path):
    before = class_rows(GOLD, ["good", "good", "good", "bad", "good"], text=TEXTS)
    info = before.info.model_copy(update={"model": "Older", "step": 7})
    Predictions(info, before.table).write(tmp_path / "results" / "step-00000007" / "x.parquet")
    view = show()
    (tmp_path / "results" / "step-00000007" / "x.parquet").rename(
        predictions_file(tmp_path / "results" / "step-00000007", "validation")
    )
    view.compare_action.trigger()
    dialog = question(qtbot)
    offered = dialog.findChild(QListWidget)
    assert [offered.item(n).text() for n in range(offered.count())] == [
        "Older · Validation “Reviews” · step 7"
    ]
    dialog.buttons["compare"].click()
    card = view.comparison
    qtbot.waitUntil(card.isVisible)
    assert card.claim.text().startswith("The difference may be chance: accuracy 60 % and 40 %")
    assert "5 row(s) are in both" in card.about.text() or "5 rows are in both" in card.about.text()
    card.worse.click()
    qtbot.waitUntil(lambda: texts(view) == ["awful & <b>bad</b>", "so so"])
    card.better.click()
    qtbot.waitUntil(lambda: texts(view) == ["dull"])
    card.stop.click()
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    assert not card.isVisible()


def test_a_result_is_compared_with_a_file_of_predictions(show, qtbot, tmp_path):
    other = tmp_path / "elsewhere.parquet"
    class_rows(GOLD, ["good", "good", "good", "bad", "good"], text=TEXTS).write(other)
    view = show()
    view.compare_action.trigger()
    question(qtbot).buttons["file"].click()
    dialog = view.findChild(QFileDialog)
    dialog.fileSelected.emit(str(other))
    dialog.close()
    qtbot.waitUntil(view.comparison.isVisible)
    assert view.comparison.claim.text().startswith("The difference may be chance")
    assert "First: elsewhere.parquet." in view.comparison.about.text()
    (tmp_path / "notes.parquet").write_text("no table")
    view.comparison.compare_with(ResultFile("notes.parquet", tmp_path / "notes.parquet"))
    notices = view.comparison._studio.notices
    qtbot.waitUntil(lambda: bool(notices.shown) and "notes.parquet" in notices.shown[-1].problem)


@pytest.mark.parametrize(
    "baseline, verdict",
    [
        (["bad"] * 60, "Better than all baselines."),
        (["good"] * 60, "The model is not clearly better than Majority. What usually helps:"),
    ],
)
def test_the_score_is_compared_with_baselines(
    studio, qtbot, tmp_path, monkeypatch, baseline, verdict
):
    gold, texts = ["good"] * 60, [f"text {n}" for n in range(60)]
    folder = tmp_path / "results"
    class_rows(gold, gold, text=texts).write(predictions_file(folder, "validation"))
    majority = class_rows(gold, baseline, text=texts)
    info = majority.info.model_copy(update={"model": "Majority"})

    def fit(question: FitBaselines, done: Any, *_: object) -> None:
        file = predictions_file(question.into, question.part, baseline="majority")
        Predictions(info, majority.table).write(file)
        done(BaselinesFitted(files=(file,)))

    monkeypatch.setattr(studio, "one_time_worker", fit)
    source = replace(
        results_source(tmp_path),
        make_baselines=lambda info: FitBaselines(
            data=FileData(path=tmp_path), into=folder, task=info.task, labels=info.labels
        ),
    )
    view = open_results(studio, qtbot, source)
    qtbot.waitUntil(view.baselines.fit.isVisible)
    view.baselines.fit.click()
    qtbot.waitUntil(lambda: verdict in view.baselines.verdict.text())
    assert view.baselines.verdict.text().startswith("Baselines: Majority ")
    assert not view.baselines.fit.isVisible()


def test_a_new_threshold_is_saved_and_used(show, qtbot, studio, monkeypatch, tmp_path):
    worker = FakeWorker()
    monkeypatch.setattr(studio, "one_time_worker", worker)
    view = show()
    view.pictures.decided.emit(lambda settings: PredictionSettings(threshold=0.75))
    qtbot.waitUntil(lambda: bool(worker.questions))
    assert prediction_settings(tmp_path).threshold == 0.75
    assert worker.questions[0].part == "validation"
    notice = studio.notices.shown[-1]
    assert notice.problem == "The model now predicts with a threshold of 75.0 %."
    notice.act()
    qtbot.waitUntil(lambda: prediction_settings(tmp_path).is_default)


def lines(predictions: Predictions, row: int = 0) -> list[str]:
    return list(row_lines(predictions, row_columns(predictions), row))


def test_row_text_has_spans_answers_and_rounded_numbers():
    predictions = tag_rows([("Ann Lee saw Rome", "B-PER I-PER O B-LOC", "B-PER O O B-ORG")])
    assert lines(predictions) == [
        "text: Ann Lee saw Rome",
        "True label: [Ann Lee PER] saw [Rome LOC]",
        "Predicted: [Ann PER] Lee saw [Rome ORG]",
    ]
    record = {
        "row": [0],
        "gold": ["Rome"],
        "predicted": ["Bern"],
        "score": [0.0],
        "details": [
            '{"gold":["Rome"],"exact":0,"null":0.1,"best":[["Bern",0,4,0.6],["Rome",5,9,0.3]]}'
        ],
    }
    info = new_info("question_answering")
    predictions = Predictions.from_columns(info, record, {"text": ["Where?"]})
    assert lines(predictions) == [
        "text: Where?",
        "True label: Rome",
        "Predicted: Bern",
        "Best answers: Bern 60.0 % · Rome 30.0 %",
    ]
    record = {"row": [0], "gold": ["2.75"], "predicted": ["3.1415927"], "scores": [[3.1415927]]}
    predictions = Predictions.from_columns(new_info("regression"), record, {"text": ["Where?"]})
    assert lines(predictions) == ["text: Where?", "True number: 2.75", "Predicted: 3.142"]


def test_the_human_ceiling_is_next_to_the_score_and_splits_the_mistakes(studio, qtbot, tmp_path):
    """Coders disagree on the second and the third row, both of them mistakes of the model."""
    columns = {"Anna": GOLD, "Ben": ["good", "bad", "good", "bad", "bad"]}
    rows = class_rows(GOLD, PREDICTED, text=TEXTS, label=GOLD, **columns)
    mapping = Mapping(text="text", label="label", coders=("Anna", "Ben"))
    info = rows.info.model_copy(update={"mapping": mapping})
    Predictions(info, rows.table).write(tmp_path / "results" / "validation.parquet")
    view = open_results(studio, qtbot, results_source(tmp_path))
    headline = view.headline
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    assert headline.ceiling.text().startswith("Human ceiling: one coder against another 60.0 % (")
    assert "this model 40.0 % (" in headline.ceiling.text()
    assert headline.in_dispute.text() == "2 mistake(s) in dispute among coders"
    assert headline.agreed.text() == "1 other mistake(s)" and headline.agreed.isVisibleTo(view)
    assert_accessible(view)
    headline.in_dispute.click()
    qtbot.waitUntil(lambda: sorted(texts(view)) == ["poor", "so so"])
    chips = [chip.text() for chip in view.rows.filters.chips]
    assert chips == ["the prediction is wrong", "coders disagree"]
    headline.agreed.click()
    qtbot.waitUntil(lambda: texts(view) == ["awful & <b>bad</b>"])
    view.rows.filters.chips[1].click()  # the condition has a form
    qtbot.waitUntil(view.rows.filters.editor.isVisible)
    assert view.rows.filters.editor.operator.currentText() == "do not disagree"
