"""Task predictions in the window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest

from app.library import describe_model
from app.pages.explore.panels.predictions.view import make_figure
from app.pages.explore.view import ExplorePage
from app.results.evaluating import ResultsSource
from app.results.view import ResultsView
from app.tasks import view_class
from app.tasks.prediction_view import PredictionInput, PredictionView
from app.widgets.charts import figure
from app.widgets.text.word_effects import tint_effects
from engine.messages.explore.attribution import Attributed, Explained, WordEffect
from engine.messages.explore.prediction import Passage, Predicted, SpanPrediction
from engine.messages.explore.text import LabelProbability, Prediction
from engine.models.heads import Heads
from engine.results.predictions import Predictions
from tests.app.accessible import assert_accessible
from tests.app.pages.explore.conftest import make_model
from tests.engine.results.rows import class_rows

CLASSES = "text_classification"
PASSAGE = "the 😀 cat sat on the mat ."


def arrive(page, explorer, wait, folder, text) -> None:
    page.arrive(folder)
    page.text.set_text(text)
    wait(lambda: bool(explorer.questions) and explorer.questions[-1].text == text)


def answer(page: ExplorePage, explorer, **fields: object) -> None:
    """Answer the newest question."""
    question = explorer.questions[-1]
    explorer.answered.emit(Predicted(to=question.number, tokens=page.state.first.tokens, **fields))


def test_an_answer_is_marked_in_its_passage_if_there_is_one(page, home, explorer, wait):
    folder = make_model(home.models / "asks", Heads(outputs=2, kind="question_answering"))
    page.arrive(folder)
    wait(lambda: page.state.first.checkpoint == folder)
    assert page.pair.isVisible()
    page.text.set_text("what sat ?")
    page.pair.set_text(PASSAGE)
    wait(lambda: bool(explorer.questions) and explorer.questions[-1].pair == PASSAGE)
    start = PASSAGE.index("cat")
    best = SpanPrediction(text="cat", start=start, end=start + 3, probability=0.7)
    other = SpanPrediction(text="the", start=0, end=3, probability=0.1)
    answer(page, explorer, task="question_answering", spans=(best, other), value=0.2)
    view = page.bench.docks["predictions"].panel.sides[0].views["question_answering"]
    assert view.verdict.full_text() == "cat · 70.0 %"
    selections = view.passage.extraSelections()
    assert [selection.cursor.selectedText() for selection in selections] == ["cat"]
    assert [bar.label for bar in view.bars.shown] == ["cat", "the", "no answer"]
    assert_accessible(page)
    page.text.set_text("what sat")
    wait(lambda: explorer.questions[-1].text == "what sat")
    answer(page, explorer, task="question_answering", spans=(), value=0.9, answered=False)
    assert view.verdict.full_text() == "No answer in the passage · 90.0 %"
    assert view.passage.extraSelections() == []
    assert view.passage.toPlainText() == PASSAGE


TAGS = ("O", "B-person", "I-person", "B-place")
TYPED = "😀 Ada Lovelace was born in London."


def span(text: str, label: str) -> SpanPrediction:
    start = TYPED.index(text)
    return SpanPrediction(
        text=text, start=start, end=start + len(text), probability=0.9, label=label
    )


@pytest.fixture
def show(qtbot):
    """`show(task, entry, …)` returns the view of a task with a prediction."""
    views: dict[str, PredictionView] = {}

    def show_prediction(task: str, entry: PredictionInput, **fields: object) -> PredictionView:
        if task not in views:
            views[task] = view_class(task)()
            qtbot.addWidget(views[task])
            views[task].show()
        views[task].show_prediction(Predicted(task=task, tokens=(), **fields), entry)
        return views[task]

    return show_prediction


def test_spans_are_marked_in_the_text_and_tags_of_words_are_named(show, screen):
    spans = (span("Ada Lovelace", "person"), span("London", "place"))
    view = show("token_classification", PredictionInput(TYPED, None, TAGS), spans=spans)
    assert view.verdict.full_text() == "2 span(s)"
    plain = view.text.toPlainText().replace("\u202f", "|")
    assert plain == "😀 Ada Lovelace|person was born in London|place."
    document, marked = view.text.document(), {}
    for position in range(document.characterCount() - 1):
        cursor = QTextCursor(document)
        cursor.setPosition(position)
        cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor)
        char_format = cursor.charFormat()
        if char_format.fontUnderline():
            colour = char_format.underlineColor().name()
            marked[colour] = marked.get(colour, "") + cursor.selectedText()
    assert sorted(marked.values()) == ["Ada Lovelace", "London"]
    assert [bar.label for bar in view.bars.shown] == ["Ada Lovelace · person", "London · place"]
    assert_accessible(view)
    screen(view, "explore tags")
    show("token_classification", PredictionInput("a cat", None, TAGS), spans=(), truncated=True)
    assert view.verdict.full_text() == "No spans in this text"
    assert view.text.toPlainText() == "a cat"
    assert "truncated" in view.note.text()
    labels = ("ADP", "NOUN", "PROPN", "VERB")
    spans = (span("Ada", "PROPN"), span("born", "VERB"))
    view = show("token_classification", PredictionInput(TYPED, None, labels), spans=spans)
    assert view.verdict.full_text() == "2 word(s)"
    assert "Ada\u202fPROPN" in view.text.toPlainText()


def ranked(*pairs: tuple[str, float]) -> tuple[Prediction, ...]:
    return (
        Prediction(ranked=tuple(LabelProbability(label=name, probability=p) for name, p in pairs)),
    )


def test_paths_are_a_tree_that_is_open_along_the_prediction(show, screen):
    pairs = (
        *(("sport > football > cup", 0.6), ("sport > football", 0.1), ("sport > tennis", 0.15)),
        *(("news", 0.1), ("arts > film", 0.05)),
    )
    entry = PredictionInput(TYPED, None, tuple(label for label, _ in pairs))
    given = {"predictions": ranked(*pairs), "predicted": (pairs[0][0],), "certainty": 0.6}
    view = show("hierarchical_classification", entry, **given, unsure_below=0.65)
    assert view.verdict.full_text() == "sport 85.0 % > football 70.0 % > cup 60.0 %"
    assert "65.0 % or more: sport > football" in view.sure.text()
    bars = [(bar.label, round(bar.probability, 2), bar.emphasised) for bar in view.bars.shown]
    assert bars == [
        *(("sport", 0.85, True), ("    football", 0.7, True), ("        ends here", 0.1, False)),
        *(("        cup", 0.6, True), ("    tennis", 0.15, False), ("news", 0.1, False)),
        ("arts", 0.05, False),
    ]
    assert_accessible(view)
    screen(view, "explore paths")
    show("hierarchical_classification", entry, **given)
    assert not view.sure.isVisible()
    show("hierarchical_classification", entry, **given, unsure_below=0.9)
    assert view.sure.text().endswith(": none")


def test_each_label_has_its_own_threshold(show):
    predictions, entry = (
        ranked(("mat", 0.9), ("cat", 0.5), ("dog", 0.4)),
        PredictionInput("the cat sat"),
    )
    view = show("multi_label", entry, predictions=predictions, predicted=("mat", "cat"))
    assert view.verdict.full_text() == "mat, cat"
    assert [(bar.emphasised, bar.apart) for bar in view.bars.shown] == [
        (True, False), (True, False), (False, True),
    ]  # fmt: skip
    assert_accessible(view)
    show("multi_label", entry, predictions=ranked(("mat", 0.1)))
    assert view.verdict.full_text() == "No label reaches its threshold"


def test_a_number_is_shown_on_the_range_of_the_training_rows(show):
    entry = PredictionInput("the cat sat")
    view = show("regression", entry, value=3.14159, range=(0, 5))
    assert view.verdict.full_text() == "3.142"
    assert view.gauge.fraction == pytest.approx(0.628, abs=1e-3)
    assert view.gauge.accessibleDescription() == "3.142, between 0 and 5"
    assert_accessible(view)
    show("regression", entry, value=7, range=(0, 5))
    assert view.gauge.fraction == 1 and "Outside the range" in view.note.text()
    show("regression", entry, value=7)
    assert view.gauge.isHidden()


def test_enter_on_a_result_explains_it(page, qtbot, home, workshop, explorer, wait, tmp_path):
    folder = make_model(home.models / "a-first", Heads(outputs=3, kind="pair_classification"))
    names = ("label 0", "label 1", "label 2")
    predictions = class_rows(
        ["label 0"] * 2,
        ["label 2", "label 0"],
        names,
        task="pair_classification",
        text=["the cat sat", "a mat"],
        other=["a dog sat", "the mat"],
    )
    mapping = predictions.info.mapping.model_copy(update={"pair": "other"})
    info = predictions.info.model_copy(update={"mapping": mapping})
    Predictions(info, predictions.table).write(tmp_path / "results" / "validation.parquet")
    results = ResultsView(workshop, ResultsSource(tmp_path / "results", lambda _: folder, None))
    qtbot.addWidget(results)
    results.show()
    workshop.navigate.connect(lambda name, argument: page.arrive(argument))
    wait(lambda: results.rows.model.rowCount() == 2)
    QTest.keyClick(results.rows.table, Qt.Key.Key_Return)
    wait(lambda: bool(explorer.of_kind("attribute")))
    question = explorer.of_kind("attribute")[-1]
    assert (question.checkpoint, question.label) == (folder, "label 2")
    assert (question.text, question.pair) == ("the cat sat", "a dog sat")
    explorer.compute(explorer.of_kind("predict")[-1])
    explorer.compute(question)
    view = page.bench.docks["predictions"].panel.sides[0].effects_views["pair_classification"]
    assert view.choice.currentText() == "label 2"
    assert [word.text for word in view.words.shown] == ["the", "cat", "sat", "a", "dog", "sat"]


def test_choices_are_typed_or_filled_in_from_a_row(qtbot, page, home, explorer, wait):
    folder = make_model(home.models / "choices", Heads(outputs=1, kind="multiple_choice"))
    page.arrive(folder)
    page.text.set_text("the cat sat")
    wait(lambda: "multiple_choice" in page.bench.docks["predictions"].panel.sides[0].views)
    view = page.bench.docks["predictions"].panel.sides[0].views["multiple_choice"]
    assert not explorer.of_kind("predict") and "two choices" in view.note.text()
    qtbot.keyClicks(view.lines[0], "on the mat")
    qtbot.keyClicks(view.lines[3], "on a dog")
    assert len(view.lines) == 5, "a line was added"
    wait(lambda: bool(explorer.of_kind("predict")))
    assert explorer.questions[-1].endings == ("on the mat", "on a dog")
    predictions = ranked(("on a dog", 0.7), ("on the mat", 0.3))
    answer(page, explorer, task="multiple_choice", predictions=predictions)
    assert view.verdict.full_text() == "on a dog · 70.0 %" and view.bars.isVisible()
    assert_accessible(page)
    view.lines[3].clear()
    qtbot.keyClicks(view.lines[3], " ")
    wait(view.bars.isHidden)
    assert "two choices" in view.note.text()
    # the choices of a row can be edited
    choices = tuple(f"on mat {n}" for n in range(5))
    page.arrive({"model": folder, "text": "the cat sat", "choices": choices})
    wait(lambda: explorer.questions[-1].endings == choices)
    predictions = ranked(("on mat 1", 0.7), ("on mat 0", 0.3))
    answer(page, explorer, task="multiple_choice", predictions=predictions)
    assert [line.text() for line in view.lines] == list(choices)
    page.arrive({"model": folder, "text": "the cat sat", "choices": ("on a", "on the")})
    wait(lambda: explorer.questions[-1].endings == ("on a", "on the"))
    assert [line.text() for line in view.lines] == ["on a", "on the", "", "", ""]
    qtbot.keyClicks(view.lines[1], " mat")
    wait(lambda: explorer.questions[-1].endings == ("on a", "on the mat"))


def test_classes_have_a_figure_words_and_a_comparison(page, home, explorer, wait, screen):
    folder = make_model(home.models / "a-first", Heads(outputs=3))
    arrive(page, explorer, wait, folder, "the cat sat")
    state = page.bench.docks["predictions"].panel._states[0]
    assert make_figure(state) is None
    predictions = ranked(("good", 0.75), ("<b>bad</b>", 0.25))
    answer(page, explorer, task=CLASSES, predictions=predictions)
    saved = make_figure(state)
    assert saved.array.tolist() == [0.75, 0.25]
    assert saved.table().rows == [("good", 0.75, "fp32"), ("<b>bad</b>", 0.25, "fp32")]
    drawing = figure.svg(saved).decode()
    assert "75.0 %" in drawing
    assert "&lt;b&gt;bad&lt;/b&gt;" in drawing
    assert "Model: a-first." in saved.caption
    # words that led to a chosen class
    page.arrive({"model": folder, "text": "the cat sat", "label": "label 1"})
    wait(lambda: bool(explorer.of_kind("attribute")))
    question = explorer.of_kind("attribute")[-1]
    assert (question.label, question.text) == ("label 1", "the cat sat")
    explorer.compute(explorer.of_kind("predict")[-1])
    view = page.bench.docks["predictions"].panel.sides[0].effects_views[CLASSES]
    assert view.choice.currentText() == "label 1"
    attributed = explorer.compute(question)
    assert view.words.shown == tuple(tint_effects(attributed.words)) != ()
    assert "Fall of the logit of “label 1”" in view.note.text()
    assert_accessible(page)
    screen(page, "explore words that decided")
    view.choice.setFocus()
    QTest.keyClick(view.choice, Qt.Key.Key_Down)
    wait(lambda: explorer.of_kind("attribute")[-1].label == "label 2")
    QTest.keyClick(view.choice, Qt.Key.Key_Home)
    assert view.choice.shown_text() == "None (not computed)"
    assert page.state.label is None
    assert view.words.shown == ()
    count = len(explorer.of_kind("attribute"))
    page.text.set_text("a dog sat")
    wait(lambda: explorer.questions[-1].text == "a dog sat")
    assert len(explorer.of_kind("attribute")) == count
    # they arrive in parts, or are refused
    page.arrive({"model": folder, "text": "the cat sat", "label": "label 1"})
    wait(lambda: len(explorer.of_kind("attribute")) > count)
    state = page.bench.docks["predictions"].panel.sides[0]._effects
    words = [
        WordEffect(text=w, segment=0, start=n, end=n + 1, effect=n) for n, w in enumerate("abc")
    ]

    def send(*part: WordEffect, start: int | None) -> None:
        to = explorer.of_kind("attribute")[-1].number
        fields = {"explained": Explained(label="label 1", score=1.0), "points": 3, "tokens": ()}
        explorer.answered.emit(Attributed(to=to, words=part, done=len(part), next=start, **fields))

    send(*words[:2], start=2)
    assert state.words == tuple(words[:2])
    question = explorer.of_kind("attribute")[-1]
    assert (question.start, question.so_far) == (2, (0, 1))
    send(*words, start=None)
    assert state.words == tuple(words) and state.is_complete
    page.text.set_text("a dog")
    wait(lambda: explorer.of_kind("attribute")[-1].text == "a dog")
    assert explorer.of_kind("attribute")[-1].start == 0
    explorer.refuse(explorer.of_kind("attribute")[-1], "No words are shown.")
    assert state.words == ()
    assert "No words are shown." in state.query.problem
    # two models side by side
    second = make_model(home.models / "b-second", Heads(outputs=3))
    page.state.choose_label(None)
    page.text.set_text("the cat sat")
    wait(lambda: explorer.questions[-1].text == "the cat sat")
    answer(page, explorer, task=CLASSES, predictions=ranked(("good", 0.75), ("bad", 0.25)))
    page.state.compare(describe_model("b-second", second, "imported"))
    wait(lambda: explorer.questions[-1].side == 1 and explorer.questions[-1].checkpoint == second)
    answer(page, explorer, task=CLASSES, predictions=ranked(("bad", 0.6), ("good", 0.4)))
    panel = page.bench.docks["predictions"].panel
    assert panel.sides[1].isVisible()
    assert [side.views["text_classification"].verdict.full_text() for side in panel.sides] == [
        "good · 75.0 %", "bad · 60.0 %",
    ]  # fmt: skip
    assert panel.difference.text() == "Second − first: good -35.0 points, bad +35.0 points."
    assert_accessible(panel)
    page.state.compare(None)
    wait(panel.sides[1].isHidden)


def test_the_passage_with_the_largest_effect_on_a_long_text_is_marked(page, home, explorer, wait):
    folder = make_model(home.models / "a-first", Heads(outputs=3))
    arrive(page, explorer, wait, folder, "the cat sat")
    passages = tuple(
        Passage(segment=0, start=start, end=start + 3, effect=effect, weight=0.3, label="good")
        for start, effect in ((0, 0.5), (4, 2.0), (8, -1.0))
    )
    predictions = ranked(("good", 0.75), ("bad", 0.25))
    answer(page, explorer, task=CLASSES, predictions=predictions, passages=passages)
    passages = page.bench.docks["predictions"].panel.sides[0].passages_views[CLASSES]
    assert passages.row.chosen == 1 and "Passage 2 of 3" in passages.note.text()
    passages.row.word_picked.emit(2)
    selections = passages.text.extraSelections()
    assert [selection.cursor.selectedText() for selection in selections] == ["sat"]
    page.text.set_text("a dog sat")
    wait(lambda: explorer.questions[-1].text == "a dog sat")
    answer(page, explorer, task=CLASSES, predictions=predictions)
    assert passages.isHidden()
