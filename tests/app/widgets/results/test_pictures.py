"""Every picture of every task: measured, shown, clicked, saved."""

import json
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtTest import QTest

from app.tasks import task_part
from app.theme import print_color
from app.widgets.charts import figure
from app.widgets.charts.chart import Axis, Chart, Line, Zone
from app.widgets.charts.painting import Frame, paint
from app.widgets.charts.view import ZoneChart
from app.widgets.results.confusion import LevelsPicture
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import (
    LOSS,
    FrequencyPicture,
    GroupPicture,
    LengthPicture,
    SpanErrorsPicture,
    WorstTokensPicture,
)
from app.widgets.results.no_answer import NoAnswerPicture
from app.widgets.results.picture import ResultPicture
from app.widgets.results.prediction_sets import PredictionSetsPicture
from app.widgets.results.reliability import ReliabilityPicture
from app.widgets.results.threshold import ThresholdPicture
from engine.config.dataset import Mapping
from engine.config.prediction import PredictionSets, PredictionSettings
from engine.config.tasks import TASKS
from engine.errors import StudioError
from engine.results.calibration import probabilities_at, to_logits
from engine.results.conditions import mask
from engine.results.fitting import best_thresholds, with_temperature
from engine.results.predictions import Predictions
from tests.app.accessible import assert_accessible
from tests.engine.results.rows import (
    class_rows,
    label_rows,
    masked_tokens,
    new_info,
    span_rows,
    tag_rows,
)

SCORES = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.3, 0.7]]
GOLD = ["bad", "good", "bad", "good"]
PREDICTED = ["bad", "good", "good", "good"]
TEXTS = ["so so", "a fine film", "what a film this was", "who knows it"]


def classes(task: str) -> Predictions:
    rows = class_rows(GOLD, PREDICTED, scores=SCORES, task=task, text=TEXTS)
    sets = PredictionSets(coverage=0.8, rows=4, least={"bad": 0.4, "good": 0.4})
    return Predictions(rows.info.model_copy(update={"sets": sets}), rows.table)


def regression(task: str = "regression") -> Predictions:
    record = {
        "row": range(4),
        "gold": ["1", "2", "3", "4"],
        "predicted": ["1.5", "2", "2", "4"],
        "scores": [[1.5], [2.0], [2.0], [4.0]],
    }
    return Predictions.from_columns(new_info(task), record, {"text": TEXTS})


def answers() -> Predictions:
    record = {
        "row": range(2),
        "gold": ["Paris | paris", ""],
        "predicted": ["Paris", "Rome"],
        "probability": [0.9, 0.3],
        "score": [1.0, 0.0],
        "details": [
            json.dumps(
                {"gold": ["Paris"], "exact": 1, "null": 0.1, "best": [["Paris", 0, 5, 0.9]]}
            ),
            json.dumps({"gold": [], "exact": 0, "null": 0.2, "best": [["Rome", 0, 4, 0.3]]}),
        ],
    }
    mapping = Mapping(text="question", pair="passage", answers="answers")
    cells = {"question": ["Where is it?", "Who was it?"], "passage": ["Paris", "Rome"]}
    return Predictions.from_columns(new_info("question_answering", mapping=mapping), record, cells)


EXAMPLES: dict[str, Predictions] = {
    "text_classification": classes("text_classification"),
    "pair_classification": classes("pair_classification"),
    "ordinal_classification": classes("ordinal_classification"),
    "hierarchical_classification": classes("hierarchical_classification"),
    "multi_label": label_rows(
        [["a"], ["a", "b"], []], [["a"], ["a"], ["b"]], ("a", "b"), [[0.9, 0], [0.8, 0.4], [0, 0.7]]
    ),
    "multiple_choice": class_rows(
        ["0", "1"],
        ["0", "0"],
        labels=("0", "1"),
        scores=[[0.9, 0.1], [0.6, 0.4]],
        task="multiple_choice",
        text=TEXTS[:2],
    ),
    "regression": regression(),
    "sentence_similarity": regression("sentence_similarity"),
    "token_classification": tag_rows(
        [("Ann saw Rome", "B-PER O B-LOC", "B-PER O O"), ("in Bern", "O B-LOC", "O B-PER")]
    ),
    "span_classification": span_rows(
        [
            ("University of Rome", [("org", 0, 3), ("place", 2, 3)], [("org", 0, 3)]),
            ("so so", [], [("place", 0, 1)]),
        ]
    ),
    "question_answering": answers(),
    "pretraining": masked_tokens(),
}
PICTURES = [(task, kind) for task in EXAMPLES for kind in task_part(task).pictures]


def test_every_picture_is_measured_shown_and_saved(qtbot):
    for task, kind in PICTURES:
        picture = kind()
        qtbot.addWidget(picture)
        picture.resize(400, 400)
        picture.show()
        picture.show_measured(kind.measure(EXAMPLES[task]))
        picture.grab()
        drawing = picture.figure()
        assert not figure.image(drawing).isNull()
        assert drawing.table().rows
        assert not {"Click", "Drag"} & set(drawing.caption.split()), "a figure cannot be clicked"
        assert_accessible(picture)
    assert set(EXAMPLES) == set(TASKS)
    assert all(task_part(task).pictures for task in TASKS)
    for task in TASKS:
        keys = [kind.key for kind in task_part(task).pictures]
        assert len(set(keys)) == len(keys)


def test_the_matrix_of_each_level_has_its_scores_and_selects_rows(qtbot):
    labels = ("a > b", "a > c", "d")
    gold, predicted = ["a > b", "a > b", "a > c", "d"], ["a > b", "a > c", "a > c", "a > c"]
    rows = class_rows(gold, predicted, labels, task="hierarchical_classification")
    picture = LevelsPicture()
    qtbot.addWidget(picture)
    picture.show_measured(LevelsPicture.measure(rows))
    level = picture.level
    assert [level.itemText(n)[:25] for n in range(2)] == [
        *("Level 1 · accuracy 75.0 %", "Level 2 · accuracy 50.0 %")
    ]
    assert picture.matrix.confusion.labels == ("a", "d")
    with qtbot.waitSignal(picture.chosen) as chosen:
        picture.matrix.pressed.emit((0, 0))
    assert mask(rows, chosen.args[0]).tolist() == [True, True, True, False]
    level.setCurrentIndex(1)
    assert picture.matrix.confusion.labels == labels


def test_masked_tokens_are_grouped_by_frequency_and_the_worst_listed(qtbot):
    lines = FrequencyPicture.measure(EXAMPLES["pretraining"]).lines
    assert [(line.group.count, line.group.score.value) for line in lines] == [(20, 0.0), (20, 1.0)]
    assert [line.name for line in lines] == ["1 – 9", "1,000 – 9,999"]
    assert [line.loss for line in lines] == pytest.approx([9.0, 0.7])
    worst = WorstTokensPicture.measure(EXAMPLES["pretraining"]).lines
    assert [line.name for line in worst] == ["xylem", "the"]
    picture = WorstTokensPicture()
    qtbot.addWidget(picture)
    picture.show_measured(WorstTokensPicture.measure(EXAMPLES["pretraining"]))
    assert picture.model.index(0, LOSS).data() == "9.000"
    other = LengthPicture()
    qtbot.addWidget(other)
    other.show_measured(LengthPicture.measure(EXAMPLES["text_classification"]))
    assert other.table.isColumnHidden(LOSS), "no losses"


def test_a_line_selects_as_many_rows_as_it_counts(qtbot):
    for task, kind in PICTURES:
        if not issubclass(kind, GroupPicture):
            continue
        picture, chosen = kind(), []
        qtbot.addWidget(picture)
        picture.show_measured(kind.measure(EXAMPLES[task]))
        picture.chosen.connect(chosen.append)
        for row, line in enumerate(picture.measured.lines):
            picture.table.chosen.emit(picture.model.index(row, 0))
            count = int(mask(EXAMPLES[task], chosen[-1]).sum())
            assert count == line.group.count or kind is SpanErrorsPicture


def test_a_bar_of_the_reliability_diagram_selects_its_rows_by_keyboard(qtbot):
    picture, chosen = ReliabilityPicture(), []
    qtbot.addWidget(picture)
    picture.show_measured(ReliabilityPicture.measure(EXAMPLES["text_classification"]))
    picture.chosen.connect(chosen.append)
    QTest.keyClick(picture.view, Qt.Key.Key_Return)
    assert mask(EXAMPLES["text_classification"], chosen[0]).tolist() == [False, False, True, False]
    assert "1 row(s), 0.0 % correct" in picture.view.accessibleDescription()
    assert "ECE" in picture.note.text()


def test_the_threshold_is_moved_by_keyboard_and_by_mouse(qtbot):
    picture, chosen = ThresholdPicture(), []
    qtbot.addWidget(picture)
    picture.resize(400, 400)
    picture.show()
    picture.show_measured(ThresholdPicture.measure(EXAMPLES["text_classification"]))
    assert picture.label.currentText() == "good"
    assert "precision 66.7 %, recall 100.0 %" in picture.note.text()
    QTest.keyClick(picture.view, Qt.Key.Key_Right)
    assert picture.threshold == pytest.approx(0.51)
    picture.view.moved.emit(0.75)
    assert "precision 100.0 %, recall 50.0 %" in picture.note.text()
    picture.chosen.connect(chosen.append)
    picture.above.click()
    assert mask(EXAMPLES["text_classification"], chosen[0]).tolist() == [False, True, False, False]
    picture.best.click()
    assert picture.threshold == pytest.approx(0.65)  # between the rows of 0.7 and of 0.6


def test_the_threshold_is_moved_on_the_pr_and_roc_curves(qtbot):
    picture = ThresholdPicture()
    qtbot.addWidget(picture)
    picture.show_measured(ThresholdPicture.measure(EXAMPLES["text_classification"]))
    picture.view.moved.emit(0.65)
    picture.form.group.button(1).click()
    assert picture.view.threshold == 1.0  # recall: all rows with the label are selected
    picture.view.moved.emit(0.5)
    assert picture.threshold == pytest.approx(0.8)
    text = picture.note.text()
    assert "Average precision" in text and "precision 100.0 %, recall 50.0 %" in text
    picture.form.group.button(2).click()
    assert picture.view.threshold == 0.0
    picture.view.moved.emit(0.5)
    assert picture.threshold == pytest.approx(0.6)  # the next lower one selects both negatives
    text = picture.note.text()
    assert "Area under the ROC curve 100.0 %" in text and "precision 66.7 %" in text
    QTest.keyClick(picture.view, Qt.Key.Key_Right)
    assert picture.view.threshold == pytest.approx(0.51)  # also between rows
    picture.best.click()
    assert picture.threshold == pytest.approx(0.65) and picture.form.choice() == 2


def record_decisions(picture: ResultPicture) -> list[Any]:
    """The default settings with each change that a picture emits."""
    decisions: list[Any] = []
    picture.decided.connect(lambda change: decisions.append(change(PredictionSettings())))
    return decisions


def test_a_threshold_is_applied_to_predictions_and_reset(qtbot):
    picture = ThresholdPicture()
    qtbot.addWidget(picture)
    decisions = record_decisions(picture)
    picture.show_measured(ThresholdPicture.measure(EXAMPLES["text_classification"]))
    assert not picture.use.isEnabled() and picture.reset.isHidden() and picture.use_best.isHidden()
    picture.view.moved.emit(0.75)
    picture.use.click()
    assert decisions[-1] == PredictionSettings(threshold=0.75)
    picture.label.setCurrentIndex(1)  # “bad”: the complementary threshold
    picture.view.moved.emit(0.75)
    picture.use.click()
    assert decisions[-1].threshold == pytest.approx(0.25)
    example = EXAMPLES["text_classification"]
    settings = {"temperature": 1.0, "threshold": 0.75}
    predictions = Predictions(example.info.model_copy(update={"settings": settings}), example.table)
    picture.show_measured(ThresholdPicture.measure(predictions))
    assert picture.label.currentText() == "bad" and picture.threshold == pytest.approx(0.25)
    assert "Threshold in use: 25.0 %" in picture.note.text()
    picture.reset.click()
    assert decisions[-1] == PredictionSettings()


def test_all_labels_get_the_threshold_of_their_best_f1(qtbot):
    picture = ThresholdPicture()
    qtbot.addWidget(picture)
    decisions = record_decisions(picture)
    picture.show_measured(ThresholdPicture.measure(EXAMPLES["multi_label"]))
    picture.use_best.click()
    assert decisions[-1].thresholds == best_thresholds(EXAMPLES["multi_label"])
    three_labels = class_rows(["a", "b"], ["a", "c"], ("a", "b", "c"), [[1, 0, 0], [0, 0.4, 0.6]])
    picture.show_measured(ThresholdPicture.measure(three_labels))
    assert picture.use.isHidden()  # three labels have no threshold


def test_a_temperature_is_applied_and_reset(qtbot):
    picture = ReliabilityPicture()
    qtbot.addWidget(picture)
    decisions = record_decisions(picture)
    scores = [[0.99, 0.01], [0.01, 0.99]] * 10
    gold = ["bad", "good", "good", "bad", "bad"] * 4
    overconfident = class_rows(gold, ["bad", "good"] * 10, scores=scores)
    picture.show_measured(ReliabilityPicture.measure(overconfident))
    assert not picture.use.isHidden() and picture.off.isHidden()
    assert "With a temperature of " in picture.note.text()
    picture.use.click()
    fitted = with_temperature(PredictionSettings(), overconfident)
    assert fitted is not None and decisions[-1].temperature == pytest.approx(fitted.temperature)
    settings = {"temperature": fitted.temperature}
    info = overconfident.info.model_copy(update={"settings": settings})
    scaled = probabilities_at(to_logits(overconfident.scores), fitted.temperature)
    after = class_rows(gold, ["bad", "good"] * 10, scores=scaled.tolist())
    picture.show_measured(ReliabilityPicture.measure(Predictions(info, after.table)))
    assert picture.use.isHidden() and "predicts at a temperature" in picture.note.text()
    picture.off.click()
    assert decisions[-1] == PredictionSettings()


def test_the_no_answer_threshold_is_moved_and_applied(qtbot):
    picture, chosen = NoAnswerPicture(), []
    qtbot.addWidget(picture)
    decisions = record_decisions(picture)
    picture.chosen.connect(chosen.append)
    picture.show_measured(NoAnswerPicture.measure(EXAMPLES["question_answering"]))
    assert not picture.use.isEnabled() and "The model uses 0.00" in picture.note.text()
    picture.best.click()
    assert "F1 100.0 %" in picture.note.text()
    picture.use.click()
    assert 0.1 <= decisions[-1].no_answer_threshold < 0.2
    picture.withheld.click()
    assert mask(EXAMPLES["question_answering"], chosen[-1]).tolist() == [False, True]
    QTest.keyClick(picture.view, Qt.Key.Key_Left)
    assert picture.threshold < 0.1


def test_a_click_in_a_chart_presses_the_zone_under_it(qtbot):
    view = ZoneChart("chart")
    qtbot.addWidget(view)
    view.resize(460, 200)
    view.show()
    zones = tuple(Zone(low, low + 0.5, (), str(low)) for low in (0.0, 0.5))
    line = Line("", np.array([0.0, 1.0]), np.array([0.0, np.nan]))
    view.show_chart(Chart(Axis("x", (0, 1)), Axis("y", (0, 1)), (line,), zones=zones))
    with qtbot.waitSignal(view.pressed) as signal:
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.rect().center())
    assert signal.args == [0]


class RecordingPainter(QPainter):
    """Records each painted text with its rectangle."""

    def __init__(self, device: QImage) -> None:
        super().__init__(device)
        self.texts: list[tuple[str, QRectF, bool]] = []  # last: is rotated

    def drawText(self, rect: QRectF, flags: object, text: str) -> None:
        drawn_rect = self.boundingRect(rect, flags, text)
        self.texts.append((text, drawn_rect, self.transform().isRotating()))
        super().drawText(rect, flags, text)


@pytest.mark.parametrize("size", [(200, 88), (200, 120), (420, 300)])
def test_axis_labels_never_overlap(qtbot, size):
    line = Line("", np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    x, y = Axis("Predicted number", (0, 1)), Axis("Share of the rows", (0, 1))
    chart = Chart(x, y, (line,))
    image = QImage(*size, QImage.Format.Format_RGB32)
    painter = RecordingPainter(image)
    font = figure.print_font(12)
    paint(painter, Frame(QRectF(image.rect()), chart, font), print_color, font)
    painter.end()
    assert {text for text, _, _ in painter.texts} >= {"0", "1", x.title}
    upright = [rect for text, rect, rotated in painter.texts if text != x.title and not rotated]
    assert len(upright) >= 4
    for number, area in enumerate(upright):
        assert not any(area.intersects(other) for other in upright[number + 1 :])
    (title,) = [(text, rect) for text, rect, rotated in painter.texts if rotated]
    assert title[1].width() <= size[1] and title[0][:5] == y.title[:5]


def test_the_point_of_the_coverage_curve_sets_when_a_prediction_is_unsure(qtbot):
    """Certainties 0.9, 0.8, 0.7 and 0.6, of which that of 0.7 is wrong."""
    scores = [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]]
    predictions = class_rows(
        ["good", "good", "bad", "good"], ["good"] * 4, scores=scores, text=list("abcd")
    )
    picture, chosen = CoveragePicture(), []
    qtbot.addWidget(picture)
    picture.resize(400, 400)
    picture.show()
    picture.show_measured(CoveragePicture.measure(predictions))
    assert (picture.view.threshold, picture.view.point, picture.threshold) == (1, 0.75, 0)
    assert picture.note.text().startswith("All rows are answered: accuracy 75.0 %.")
    assert not picture.use.isEnabled() and not picture.unsure.isEnabled()
    QTest.keyClick(picture.view, Qt.Key.Key_Left)  # at least to the next point
    assert picture.view.point == pytest.approx(2 / 3) and picture.threshold == pytest.approx(0.65)
    place = QPoint(round(picture.view.frame().x_at(0.52)), 60)
    qtbot.mousePress(picture.view, Qt.MouseButton.LeftButton, pos=place)
    assert (picture.view.threshold, picture.view.point) == (0.5, 1.0)
    assert picture.note.text().startswith(
        "Unsure below 75.0 %: 50.0 % of the rows are answered, with accuracy 100.0 %; all rows "
        "have 75.0 %."
    )
    assert "Unsure below 75.0 %" in picture.view.accessibleDescription()
    picture.chosen.connect(chosen.append)
    picture.unsure.click()
    assert mask(predictions, chosen[0]).tolist() == [False, False, True, True]
    decisions = record_decisions(picture)
    picture.use.click()
    assert decisions[-1].unsure_below == pytest.approx(0.75)
    used = predictions.info.model_copy(update={"settings": {"unsure_below": 0.75}})
    picture.show_measured(CoveragePicture.measure(Predictions(used, predictions.table)))
    assert picture.view.threshold == 0.5 and picture.reset.isVisible()
    picture.reset.click()
    assert decisions[-1] == PredictionSettings()


def test_prediction_sets_are_chosen_on_validation_rows_and_only_shown_on_others(qtbot):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet((1, 1, 1), 60).astype(np.float32)
    gold = ["abc"[index] for index in scores.argmax(axis=1)]
    predictions = class_rows(gold, gold, tuple("abc"), scores, text=["x"] * 60)
    picture, chosen = PredictionSetsPicture(), []
    qtbot.addWidget(picture)
    picture.resize(420, 400)
    picture.show()
    picture.show_measured(PredictionSetsPicture.measure(predictions))
    assert picture.note.text().startswith("Prediction sets: 90 % of rows contain the true label")
    assert "Measured on other rows" in picture.note.text() and picture.use.isEnabled()
    assert not picture.off.isVisible()
    picture.coverage.setValue(0.95)
    assert picture.note.text().startswith("Prediction sets: 95 %")
    picture.chosen.connect(chosen.append)
    sizes = picture.measured.figures.sizes
    picture.view.pressed.emit(1)
    assert mask(predictions, chosen[-1]).tolist() == (sizes == 1).tolist()
    picture.view.pressed.emit(1)
    assert chosen[-1] == () and picture.view.marked_zone == -1
    picture.coverage.setValue(0.97)
    picture.by_class.click()
    assert "need 33 labelled rows of each label" in picture.note.text()
    assert not picture.use.isEnabled() and picture.figure() is None
    picture.coverage.setValue(0.8)
    decisions, changes = record_decisions(picture), []
    picture.decided.connect(changes.append)
    picture.use.click()
    sets = decisions[-1].sets
    assert (sets.coverage, sets.by_class) == (0.8, True)
    with pytest.raises(StudioError, match="another temperature"):
        changes[-1](PredictionSettings(temperature=2.0))
    info = predictions.info.model_copy(update={"sets": sets})
    picture.show_measured(PredictionSetsPicture.measure(Predictions(info, predictions.table)))
    assert picture.coverage.value() == 0.8 and picture.by_class.isChecked()
    assert not picture.use.isEnabled() and picture.off.isVisible()
    picture.off.click()
    assert decisions[-1] == PredictionSettings()
    tested = info.model_copy(update={"part": "test"})
    picture.show_measured(PredictionSetsPicture.measure(Predictions(tested, predictions.table)))
    assert not picture.coverage.isVisible() and "(95 % interval" in picture.note.text()
    unknown = Predictions(tested.model_copy(update={"sets": None}), predictions.table)
    picture.show_measured(PredictionSetsPicture.measure(unknown))
    assert picture.note.text().startswith("Choose prediction sets on the validation rows")
