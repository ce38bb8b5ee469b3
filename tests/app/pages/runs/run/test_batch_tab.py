"""The batch of a step: questions, and how the answer is drawn."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QObject, Signal
from pytestqt.qtbot import QtBot

from app.pages.runs.run.batch_tab import PAGE_SIZE, BatchState, BatchTab, BatchTokens
from app.pages.runs.run.state import RunState
from app.pages.runs.state import RunsState
from engine.messages.batch import BatchRow, BatchShown, ShowBatch, Target
from engine.messages.question import Question, Refused, Working
from tests.app.accessible import assert_accessible

PIECES = (
    *("[CLS]", "the", "[MASK]", "##s", "were", "lovely", "zebra", "[SEP]"),
    *("a", "happy", "end", "[SEP]", "[PAD]", "[PAD]"),
)
TARGETS = (
    Target(position=2, expected="film", shown_as="mask"),
    Target(position=6, expected="acting", shown_as="random"),
    Target(position=9, expected="happy", shown_as="kept"),
)


def row(number: int = 0) -> BatchRow:
    segments = (0,) * 8 + (1,) * 4 + (0, 0)
    ids = tuple(range(number, number + len(PIECES)))
    expected = "the second span follows" if number % 2 else "the second span is from elsewhere"
    return BatchRow(
        tokens=PIECES, ids=ids, segments=segments, length=12, targets=TARGETS, expected=expected
    )


class FakeExplorer(QObject):
    """Records its questions; a test answers."""

    answered = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[ShowBatch] = []

    def ask(self, question: Question) -> int:
        assert isinstance(question, ShowBatch)
        self.questions.append(question)
        return len(self.questions)

    def answer(self, inputs: int = 10, steps: int = 20) -> None:
        rows = tuple(row(number) for number in range(inputs))
        step = self.questions[-1].step
        self.answered.emit(BatchShown(to=len(self.questions), step=step, steps=steps, rows=rows))


@pytest.fixture
def explorer() -> FakeExplorer:
    return FakeExplorer()


@pytest.fixture
def run(studio, make_run, qtbot) -> RunState:
    state = RunState(studio, RunsState(studio, studio), make_run("mine", step=7), studio)
    with qtbot.waitSignal(state.changed):
        state.open()
    return state


@pytest.fixture
def tab(run, explorer, qtbot) -> BatchTab:
    tab = BatchTab(BatchState(run, explorer))
    qtbot.addWidget(tab)
    tab.resize(1000, 700)
    return tab


def show(tab: BatchTab, qtbot: QtBot) -> None:
    with qtbot.waitExposed(tab):
        tab.show()


def test_nothing_is_asked_until_visible_and_then_the_current_step(tab, explorer, run, qtbot):
    assert explorer.questions == []
    show(tab, qtbot)
    assert [(q.run, q.step) for q in explorer.questions] == [(run.row.folder, 7)]
    assert tab.stack.currentIndex() == 1
    explorer.answered.emit(Working(to=1, stage="Reading the data"))
    assert "Reading the data" in tab.empty.text.text()
    explorer.answer()
    assert tab.stack.currentIndex() == 0 and tab.step.value() == 7
    assert tab.total.text() == "of 20" and tab.page.text() == "Inputs 1–4 of 10"
    for text in (
        "masked: 10",
        "replaced by a random token: 10",
        "120 tokens, plus 20 padding tokens that are skipped",
    ):
        assert text in tab.legend.text()


def test_inputs_are_browsed_and_a_chosen_step_stays(tab, explorer, qtbot):
    show(tab, qtbot)
    explorer.answer()
    assert not tab.previous.isEnabled()
    heads = []
    for _ in range(3):
        heads += [card.title.full_text() for card in tab.cards if not card.isHidden()]
        tab.next.click()
    assert [head.split(":")[0] for head in heads] == [f"Input {n}" for n in range(1, 11)]
    assert heads[1] == "Input 2: the second span follows"
    assert not tab.next.isEnabled() and tab.page.text() == "Inputs 9–10 of 10"
    tab.previous.click()
    assert tab.page.text() == f"Inputs {PAGE_SIZE + 1}–{2 * PAGE_SIZE} of 10"
    tab.step.setValue(3)
    assert explorer.questions[-1].step == 3 and not tab.follow.isChecked()
    explorer.answered.emit(BatchShown(to=1, step=7, steps=20, rows=(row(),)))
    assert tab.state.is_waiting
    explorer.answer()
    assert tab.state.batch is not None and tab.state.batch.step == 3


def test_a_followed_run_is_asked_again_after_more_steps(tab, explorer, run, qtbot):
    tab.state._pause.setInterval(10)
    show(tab, qtbot)
    explorer.answer()
    run.row = replace(run.row, step=9)
    run.changed.emit()
    qtbot.waitUntil(lambda: len(explorer.questions) == 2)
    assert explorer.questions[-1].step == 9
    explorer.answer()
    tab.hide()
    run.row = replace(run.row, step=11)
    run.changed.emit()
    qtbot.wait(40)
    assert len(explorer.questions) == 2, "the tab is hidden"
    show(tab, qtbot)
    qtbot.waitUntil(lambda: len(explorer.questions) == 3)


def test_a_refusal_is_shown(tab, explorer, qtbot):
    show(tab, qtbot)
    explorer.answered.emit(Refused(to=1, problem="It has not begun.", advice="Wait."))
    assert tab.stack.currentIndex() == 1
    assert (tab.empty.title.text(), tab.empty.text.text()) == ("It has not begun.", "Wait.")


def test_every_token_is_drawn_and_described(qtbot):
    pieces = BatchTokens()
    qtbot.addWidget(pieces)
    pieces.resize(400, 300)
    pieces.show_input(row(5))
    assert [chip.text for chip in pieces.chips] == [*PIECES[:12], "2 × [PAD]"]
    below = {chip.position: chip.text_below for chip in pieces.chips if chip.text_below}
    assert below == {2: "▪ film", 6: "⇄ acting", 9: "= happy"}
    assert pieces.describe(2) == "“[MASK]”, id 7, position 3, segment A. Target: “film”, masked."
    assert "segment B" in pieces.describe(8) and "skips it" in pieces.describe(-1)
    assert "[MASK] (masked: film)" in pieces.accessibleDescription()
    assert all(chip.box.right() <= 400 for chip in pieces.chips)
    assert pieces.heightForWidth(200) > pieces.heightForWidth(800)
    boxes = [chip.box for chip in pieces.chips]
    assert not any(a.intersects(b) for n, a in enumerate(boxes) for b in boxes[n + 1 :])


def test_the_tab_is_drawn_in_both_themes(tab, explorer, qtbot, set_theme, screen):
    show(tab, qtbot)
    explorer.answer()
    for choice in ("light", "dark"):
        set_theme(choice)
        assert_accessible(tab)
        screen(tab, f"batch-{choice}")
