"""The passages of a long text: the one that decided, and the words in it."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from app.using.trying_state import TryingState
from app.using.trying_view import TryingView
from app.widgets.text.passages_view import MAX_SHOWN, PassagesView
from engine.messages.explore.prediction import Passage, Predicted
from engine.messages.explore.text import LabelProbability, Prediction
from tests.app.pages.explore.conftest import FakeExplorer

LABELS = ("dull", "warm")
TEXT = "𝄞 " + " ".join(f"word{number}" for number in range(600))


def passages(effects: list[float], only: int | None = None) -> tuple[Passage, ...]:
    size = len(TEXT) // max(1, len(effects))
    return tuple(
        Passage(
            segment=0,
            start=index * size,
            end=(index + 1) * size,
            effect=effect,
            weight=1 / len(effects) if only is None else float(index == only),
            label="warm",
            value=0.75,
        )
        for index, effect in enumerate(effects)
    )


@pytest.fixture
def view(qtbot, studio, tmp_path):
    explorer, studio.explorer = studio.explorer, FakeExplorer(tmp_path / "scratch")
    view = TryingView(TryingState(studio, Path("model"), "text_classification"), LABELS)
    qtbot.addWidget(view)
    view.show()
    yield view
    studio.explorer = explorer


def answer(view: TryingView, effects: list[float], only: int | None = None) -> FakeExplorer:
    """Type the text and answer with passages."""
    state, explorer = view._state, view._state._explorer
    state.type_in(TEXT, "")
    ranked = tuple(LabelProbability(label=label, probability=0.5) for label in LABELS[::-1])
    explorer.answered.emit(
        Predicted(
            to=explorer.questions[-1].number,
            task="text_classification",
            tokens=(),
            predictions=(Prediction(first=0, last=0, ranked=ranked),),
            predicted=("warm",),
            passages=passages(effects, only),
        )
    )
    return explorer


def marked_text(passages: PassagesView) -> str:
    [selection] = passages.text.extraSelections()
    return selection.cursor.selectedText()


def test_the_passage_with_the_largest_effect_is_marked_and_its_words_are_explained(view, qtbot):
    explorer = answer(view, [0.1, -2.0, 1.5, 0.0])
    passages, state = view.passages_view, view._state
    assert passages.isVisible() and state.passage == 2 and passages.row.chosen == 2
    assert [word.below for word in passages.row.shown] == ["+0.10", "−2.00", "+1.50", "+0.00"]
    assert "Passage 3 of 4" in passages.note.text() and "1.5" in passages.note.text()
    marked = marked_text(passages)
    one = state.predicted.passages[2]
    assert marked == TEXT[one.start : one.end] and passages.text.toPlainText() == TEXT
    asked = explorer.of_kind("attribute")[-1]
    assert (asked.text, asked.label) == (marked, "warm")

    qtbot.keyClick(passages.row, Qt.Key.Key_Left)
    assert state.passage == 1 and "Passage 2 of 4" in passages.note.text()
    one = state.predicted.passages[1]
    assert explorer.of_kind("attribute")[-1].text == TEXT[one.start : one.end]
    assert marked_text(passages) == TEXT[one.start : one.end]


def test_the_passage_that_alone_counts_is_named(view):
    answer(view, [0.1, 2.0, 1.5], only=1)
    note = view.passages_view.note
    assert "only this one counts" in note.text()
    view._state.choose_passage(2)
    assert "only passage 2 counts" in note.text()
    answer(view, [0.1, 2.0, 1.5, 0.2])
    assert "weight 25" in note.text() and "counts" not in note.text()


def test_of_many_passages_those_with_the_largest_effects_are_shown(view):
    answer(view, [index / 100 for index in range(100)])
    texts = [word.text for word in view.passages_view.row.shown]
    assert len(texts) == MAX_SHOWN - 1 and texts[-1] == "100"
    view._state.choose_passage(0)
    texts = [word.text for word in view.passages_view.row.shown]
    assert len(texts) == MAX_SHOWN and texts[0] == "1" and view.passages_view.row.chosen == 0


def test_a_text_that_is_read_at_once_has_no_passages(view):
    explorer = answer(view, [])
    assert view.passages_view.isHidden() and explorer.of_kind("attribute")[-1].text == TEXT
