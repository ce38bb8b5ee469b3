"""Attributions: targets, methods, faithfulness and edits."""

from collections import Counter

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.library import describe_model
from app.pages.explore.panels.attribution.view import make_figure
from app.widgets.charts import figure
from app.widgets.text.numbers import decimal
from app.widgets.text.word_effects import MAX_OPACITY
from engine.errors import StudioError
from engine.explore import attribution
from engine.explore.attribution import attribute
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import mnemonics
from tests.app.pages.explore.conftest import make_model


@pytest.fixture
def page(make_page, classifier):
    return make_page(classifier, "the cat sat on the mat")


def arrive(page, wait, folder, text="the cat sat on the mat") -> None:
    page.arrive({"model": folder, "text": text})
    wait(lambda: page.state.is_settled and page.state.first.checkpoint == folder)


def serve(explorer, wait, done) -> None:
    """Answer every question as the worker does, until `done()`."""

    def answer_pending() -> bool:
        while explorer.served < len(explorer.questions):
            explorer.served += 1
            question = explorer.questions[explorer.served - 1]
            try:
                explorer.compute(question)
            except StudioError as error:
                explorer.refuse(question, error.problem)
        return bool(done())

    wait(answer_pending)


def choose(box, data) -> None:
    """Choose an entry with the keyboard."""
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(box.findData(data)):
        QTest.keyClick(box, Qt.Key.Key_Down)


def full_answer(question):
    """The complete answer, computed by the engine directly."""
    checkpoint = load(question.checkpoint)
    answer = attribute(checkpoint, question)
    while answer.next is not None:
        so_far = answer.effects or tuple(word.effect for word in answer.words)
        change = {"start": answer.next, "so_far": so_far}
        change |= {"points": answer.points} if answer.effects else {}
        answer = attribute(checkpoint, question.model_copy(update=change))
    return answer


def test_words_are_explained_checked_and_edited(page, explorer, wait, qtbot):
    """Six actions: tab, class, check, word, edit, and its text."""
    view = page.bench.docks["attribution"].panel
    state = view._states[0]
    page.bench.show_panel("attribution")  # 1
    serve(explorer, wait, lambda: state.is_complete)
    choose(view.controls.target, "=label 1")  # 2
    serve(explorer, wait, lambda: state.is_complete and state.answer.explained.label == "label 1")
    effects = state.words
    painted = view.sides[0].words.shown
    assert [word.text for word in painted] == ["the", "cat", "sat", "on", "the", "mat"]
    opacities = [word.opacity for word in painted]
    maximum = max(abs(word.effect) for word in effects)
    assert opacities == pytest.approx(
        [abs(word.effect) / maximum * MAX_OPACITY for word in effects]
    )
    assert_close(effects, full_answer(state.answered_question).words)
    assert "Logit of “label 1”" in view.sides[0].title.full_text()
    strongest = max(range(6), key=lambda n: abs(effects[n].effect))
    qtbot.mouseClick(view.faithfulness.run, Qt.MouseButton.LeftButton)  # 3
    serve(explorer, wait, view.faithfulness.sufficiency.isVisible)
    assert "of 20" in view.faithfulness.comprehensiveness.text()
    box = view.sides[0].words._boxes[strongest].center().toPoint()
    qtbot.mouseClick(view.sides[0].words, Qt.MouseButton.LeftButton, pos=QPoint(box))  # 4
    assert page.state.picked == strongest + 1
    qtbot.mouseClick(view.edits.drop, Qt.MouseButton.LeftButton)  # 5
    serve(explorer, wait, lambda: view.edits.table.rows.rows and "…" not in row(view, 0))
    edit = view.edits._state.answer.edits[0]
    words = [word.text for n, word in enumerate(effects) if n != strongest]
    assert edit.text.split() == words
    assert row(view, 0)[0] == f"Drop “{effects[strongest].text}”"
    assert_accessible(view)
    counts = Counter(key for key, _ in mnemonics(page))
    assert max(counts.values()) == 1, counts
    view.edits.table.setFocus()
    view.edits.table.selectRow(0)
    QTest.keyClick(view.edits.table, Qt.Key.Key_Return)  # 6
    assert page.state.first.text == edit.text


def assert_close(actual, expected) -> None:
    """Same words and effects, up to the order of summation."""
    assert [w.text for w in actual] == [w.text for w in expected]
    assert [w.effect for w in actual] == pytest.approx([w.effect for w in expected], abs=1e-6)


def row(view, number) -> tuple[str, ...]:
    return view.edits.table.rows.rows[number]


def test_integrated_gradients_and_edits_of_two_models(
    page, explorer, home, wait, monkeypatch, qtbot, model
):
    """The suggestions come from another model, since the classifier predicts no tokens."""
    monkeypatch.setattr(attribution, "BACKWARD_SLICE", 80)
    view = page.bench.docks["attribution"].panel
    state = view._states[0]
    page.bench.show_panel("attribution")
    choose(view.controls.against, "label 2")
    choose(view.controls.method, "integrated_gradients")
    choose(view.controls.baseline, "zero")
    serve(explorer, wait, lambda: state.is_complete and state.answer.baseline_score is not None)
    question = state.answered_question
    assert (question.against, question.method, question.baseline) == (
        "label 2", "integrated_gradients", "zero",
    )  # fmt: skip
    assert len([q for q in explorer.of_kind("attribute") if q.baseline == "zero"]) > 1
    expected = full_answer(question)
    assert state.answer.effects == pytest.approx(expected.effects, abs=1e-5)
    assert f"with {expected.points} points" in view.sides[0].note.text()
    assert "rather than “label 2”" in view.sides[0].title.full_text()
    saved = make_figure(state)
    assert saved.array.tolist() == pytest.approx([w.effect for w in expected.words], abs=1e-5)
    rows = saved.table().rows
    assert [r[2] for r in rows if r[0] == "word"] == [w.text for w in expected.words]
    assert len([r for r in rows if r[0] == "token"]) == len(page.state.first.tokens)
    assert "rather than" in figure.svg(saved).decode()
    choose(view.controls.method, "rollout")
    serve(explorer, wait, lambda: state.is_complete and state.answered_question.method == "rollout")
    assert "Not an explanation" in view.sides[0].note.text()
    # words are swapped, replaced and suggested
    page.state.pick(2)
    qtbot.mouseClick(view.edits.swap, Qt.MouseButton.LeftButton)
    view.edits.typed.setFocus()
    qtbot.keyClicks(view.edits.typed, "dog")
    QTest.keyClick(view.edits.typed, Qt.Key.Key_Return)
    qtbot.mouseClick(view.edits.suggest, Qt.MouseButton.LeftButton)
    serve(explorer, wait, lambda: len(view.edits.table.rows.rows) > 4 and "…" not in row(view, 4))
    assert explorer.of_kind("suggest_words")[-1].checkpoint == model
    texts = [edit.text for edit in view.edits._state.answer.edits]
    assert texts[:2] == ["the sat cat on the mat", "the dog sat on the mat"]
    before = view.edits._state.answer.explained.score
    assert all(decimal(abs(edit.score - before), 3) in row(view, n)[2]
               for n, edit in enumerate(view.edits._state.answer.edits))  # fmt: skip
    page.text.set_text("a dog sat")
    wait(lambda: page.state.is_settled and page.state.first.text == "a dog sat")
    serve(explorer, wait, lambda: not view.edits.table.rows.rows)
    # two models are explained side by side
    other = make_model(home.models / "other", Heads(outputs=3))
    page.state.compare(describe_model("other", other, "imported"))
    wait(lambda: page.state.is_settled)
    serve(explorer, wait, lambda: all(state.is_complete for state in view._states))
    assert view.sides[1].isVisible()
    assert view.sides[1].title.full_text().startswith("other · Logit of")
    assert_close(view._states[1].words, full_answer(view._states[1].answered_question).words)


def test_tokens_tags_answers_and_numbers_are_explained(page, explorer, home, wait, qtbot, model):
    view = page.bench.docks["attribution"].panel
    state = view._states[0]
    page.bench.show_panel("attribution")
    arrive(page, wait, model)
    serve(explorer, wait, lambda: "mask it" in view.sides[0].note.text())
    page.state.toggle_mask(2)
    serve(explorer, wait, lambda: state.is_complete)
    assert state.answer.explained.position == 2 and len(state.answer.words) == 5
    assert view.controls.token.isVisible() and view.controls.against_part.isHidden()
    qtbot.keyClicks(view.controls.token, "dog")
    qtbot.keyClicks(view.controls.other, "mat")
    serve(explorer, wait, lambda: state.is_complete and state.answer.explained.against == "mat")
    assert state.answer.explained.label == "dog"
    assert "“dog” rather than “mat”" in view.sides[0].title.full_text()
    qtbot.keyClicks(view.controls.token, "zzz")
    serve(explorer, wait, lambda: "no token “dogzzz”" in view.sides[0].note.text())
    page.state.toggle_mask(2)
    # other tasks

    def explain(kind: str, outputs: int, target: str = "") -> str:
        arrive(page, wait, make_model(home.models / kind, Heads(outputs=outputs, kind=kind)))
        page.set_pair_shown(True)
        page.pair.set_text("a dog sat")
        wait(lambda: page.state.is_settled and page.state.first.pair == "a dog sat")
        page.state.pick(3)
        if target:
            choose(view.controls.target, target)
        serve(explorer, wait, lambda: state.is_complete and len(state.answer.words) == 9)
        return view.sides[0].title.full_text()

    assert "at “sat”" in explain("token_classification", 3)
    assert state.answer.explained.position == 3
    assert explain("question_answering", 2, "=end").startswith("Logit of “end” at “")
    assert page.state.first.tokens[state.answer.explained.position].segment == 1
    assert explain("regression", 1).startswith("Predicted number")
