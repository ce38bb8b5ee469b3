"""Tags in colour: spans over words, and spans in the cell of a table."""

from types import SimpleNamespace

from PySide6.QtCore import QRect
from PySide6.QtGui import QFontMetricsF, QImage, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from app.pages.data.importing.view import PreviewModel
from app.results.rows_model import row_columns
from app.tasks.prediction_view import PredictionInput
from app.tasks.span_classification import SpansView
from app.tasks.token_classification import THIN
from app.theme import CHART, colour
from app.using.outcome_view import preview_columns
from app.widgets.tables import ColumnsModel, make_table
from app.widgets.text.labels import font
from app.widgets.text.tagged import (
    CHIPS,
    Chip,
    ChipDelegate,
    TaggedWords,
    chips,
    tag_types,
    word_spans,
)
from engine.data.columns.tags import Span
from engine.data.formats.reading import FirstRows
from engine.data.formats.rows import Row
from engine.messages.applying import FirstPredicted
from engine.messages.explore.prediction import Predicted, SpanPrediction
from tests.engine.results.rows import tag_rows

WORDS = ("Ann", "Lee", "saw", "Rome")
TRUE = (Span("PER", 0, 2), Span("LOC", 3, 4))
PREDICTED = (Span("PER", 0, 1), Span("ORGANISATION", 3, 4))
TYPES = ("PER", "LOC", "ORGANISATION")


def view(qtbot, width=600) -> TaggedWords:
    words = TaggedWords("Words with their tags")
    qtbot.addWidget(words)
    words.show_words(WORDS, TRUE, PREDICTED, TYPES)
    words.resize(width, words.heightForWidth(width))
    words.show()
    return words


def test_true_spans_are_above_and_predicted_ones_below_their_words(qtbot):
    words = view(qtbot)
    picture = words.grab().toImage()
    boxes = words.boxes_at(words.width())

    def tint(box, is_above: bool) -> str:
        edge = box.top() + 2 if is_above else box.bottom() - 3
        return picture.pixelColor(round(box.left()) + 3, round(edge)).name()

    plain = tint(boxes[2], True)
    assert tint(boxes[2], False) == plain, "no span"
    assert tint(boxes[0], True) == tint(boxes[0], False) != plain, "the same type"
    assert tint(boxes[1], True) != plain == tint(boxes[1], False), "the predicted span is shorter"
    assert len({tint(boxes[3], True), tint(boxes[3], False), plain}) == 3, "another type"
    description = words.accessibleDescription()
    assert description == "true label: Ann Lee PER, Rome LOC; predicted: Ann PER, Rome ORGANISATION"


def test_names_of_nested_spans_are_above_each_other(qtbot):
    words = view(qtbot)
    flat = words.boxes_at(600)[0].height()
    outer, inner = Span("ORGANISATION", 0, 4), Span("LOC", 3, 4)
    words.show_words(WORDS, (outer, inner), (), TYPES)
    words.resize(600, words.heightForWidth(600))
    boxes, picture = words.boxes_at(600), words.grab().toImage()
    assert boxes[0].height() == flat + QFontMetricsF(font("small")).height()
    left, top = round(boxes[3].left()) + 3, boxes[3].top()
    name, inside = (picture.pixelColor(left, round(top + y)) for y in (2, flat / 2 - 2))
    beside = picture.pixelColor(round(boxes[1].left()) + 1, round(top + 2))
    assert name == beside != inside, "the outer name is above the inner one"


def test_nested_spans_of_a_text_are_in_brackets(qtbot):
    shown, text = SpansView(), "saw University of Rome 😀"
    qtbot.addWidget(shown)
    spans = tuple(
        SpanPrediction(text=text[a:22], start=a, end=22, probability=0.9, label=label)
        for a, label in ((4, "org"), (18, "loc"))
    )
    inputs = PredictionInput(text=text, labels=("loc", "org"))
    predicted = Predicted(to=1, task="span_classification", tokens=(), spans=spans)
    shown.show_prediction(predicted, inputs)
    plain = shown.text.toPlainText().replace(THIN, "_")
    assert plain == "saw [University of [Rome]_loc]_org 😀"
    assert shown.verdict.text() == "2 span(s)" and len(shown.bars.shown) == 2
    shown.show_prediction(predicted.model_copy(update={"spans": spans[:1]}), inputs)
    assert shown.text.toPlainText().replace(THIN, "_") == "saw University of Rome_org 😀"


def test_names_fit_over_their_words_and_lines_wrap(qtbot):
    words = view(qtbot)
    boxes = words.boxes_at(600)
    assert boxes[3].width() >= words.fontMetrics().horizontalAdvance("ORGANISATION") * 0.85
    assert words.heightForWidth(100) > words.heightForWidth(600)
    assert all(box.right() <= 120 for box in words.boxes_at(120))
    words.show_words((), (), (), ())
    assert words.heightForWidth(600) == 0


def test_tags_of_any_kind_become_spans():
    assert word_spans(["B-PER", "I-PER", "O"]) == [Span("PER", 0, 2)]
    assert word_spans(["O", "O"]) == []
    assert word_spans(["NOUN", "VERB"]) == [Span("NOUN", 0, 1), Span("VERB", 1, 2)]
    assert tag_types(["O", "B-PER", "I-PER", "B-LOC"]) == ["PER", "LOC"]
    assert tag_types(["NOUN", "VERB"]) == ["NOUN", "VERB"]
    many = tuple(f"T{n}" for n in range(9))
    assert chips(["a"], [Span("T8", 0, 1)], many) == (Chip("a", "T8", 8 % len(CHART)),)


def test_the_preview_of_an_application_shows_spans():
    rows = (
        ("Ann Lee in Rome", "Ann Lee in Rome", "B-PER I-PER O B-LOC"),
        ("in Rome", '["in", "Rome"]', '["O", "B-LOC"]'),
    )
    preview = FirstPredicted(columns=("text", "words", "tags"), rows=rows, predicted=2)
    columns = preview_columns(preview)
    shown = [columns[2].cell(row, CHIPS) for row in rows]
    assert [[chip[:2] for chip in spans] for spans in shown] == [
        [("Ann Lee", "PER"), ("Rome", "LOC")],
        [("Rome", "LOC")],
    ]
    assert shown[0][1].color == shown[1][0].color != shown[0][0].color
    assert columns[1].cell(rows[0], CHIPS) is None
    spans = (
        '[{"label": "org", "text": "Uni Rome", "start": 0, "end": 8, "probability": 0.9}, '
        '{"label": "loc", "text": "Rome", "start": 4, "end": 8, "probability": 0.8}]'
    )
    rows = (("Uni Rome", spans), ("a long text", '[{"label": "org", "te…'), ("of", "[]"))
    preview = FirstPredicted(columns=("text", "spans"), rows=rows, predicted=1)
    shown = [preview_columns(preview)[1].cell(row, CHIPS) for row in rows]
    assert [None if row is None else [chip[:2] for chip in row] for row in shown] == [
        [("Uni Rome", "org"), ("Rome", "loc")],
        None,  # the cell is cut
        [],
    ]


def test_cells_of_results_are_painted_as_spans(qtbot):
    predictions = tag_rows([("Ann Lee saw Rome", "B-PER I-PER O B-LOC", "B-PER O O B-ORG")])
    columns = row_columns(predictions)
    model = ColumnsModel[int](columns)
    model.show_rows([0])
    table = make_table("Rows", model)
    qtbot.addWidget(table)
    places = {column.key: n for n, column in enumerate(columns)}
    gold, predicted = (model.index(0, places[key]).data(CHIPS) for key in ("gold", "predicted"))
    assert [chip[:2] for chip in gold] == [("Ann Lee", "PER"), ("Rome", "LOC")]
    assert [chip[:2] for chip in predicted] == [("Ann", "PER"), ("Rome", "ORG")]
    picture = QImage(300, 30, QImage.Format.Format_RGB32)
    picture.fill("white")
    option = QStyleOptionViewItem()
    option.widget, option.rect, option.font = table, QRect(0, 0, 300, 30), table.font()
    painter = QPainter(picture)
    ChipDelegate(table).paint(painter, option, model.index(0, places["gold"]))
    painter.end()
    tint = picture.pixelColor(12, 6)
    assert tint != colour(CHART[gold[0].color]) and tint.name() != "#ffffff"


def test_the_first_rows_of_an_import_show_spans(qtbot):
    rows = [Row(1, ("Ann Lee saw Rome", "B-PER I-PER O B-LOC")), Row(2, ("in Rome", "O"))]
    model = PreviewModel()
    model.show_preview(FirstRows(("text", "tags"), rows, ()))
    assert model.index(0, 1).data(CHIPS) is None, "the role is not known yet"
    model.show_roles(SimpleNamespace(columns={"text": "text", "tags": "tags"}))
    spans = model.index(0, 1).data(CHIPS)
    assert [span[:2] for span in spans] == [("Ann Lee", "PER"), ("Rome", "LOC")]
    assert spans[0].color != spans[1].color and model.index(0, 0).data(CHIPS) is None
    assert model.index(1, 1).data(CHIPS) is None, "a tag is missing"
