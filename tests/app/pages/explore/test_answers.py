"""What a fine-tuned model says, in the window."""

import pytest

from app.pages.explore.view import ExplorePage
from engine.messages import Found, Predicted
from engine.models.heads import Heads
from tests.app.accessible import assert_accessible
from tests.app.pages.explore.conftest import make_model

PASSAGE = "the 😀 cat sat on the mat ."


@pytest.fixture
def page(qtbot, workshop, home) -> ExplorePage:
    made = ExplorePage(workshop)
    qtbot.addWidget(made)
    made.resize(1180, 720)
    made.show()
    return made


def answer(page: ExplorePage, explorer, **what: object) -> None:
    """Say this to the newest question."""
    asked = explorer.asked[-1]
    explorer.answered.emit(Predicted(to=asked.number, tokens=page.study.tokens, **what))


def test_an_answer_is_marked_in_its_passage(page, home, explorer, wait):
    folder = make_model(home.models / "asks", Heads(outputs=2, kind="answer"))
    page.arrive(folder)
    wait(lambda: page.study.checkpoint == folder)
    assert page.pair.isVisible()
    page.text.set_text("what sat ?")
    page.pair.set_text(PASSAGE)
    wait(lambda: bool(explorer.asked) and explorer.asked[-1].pair == PASSAGE)
    start = PASSAGE.index("cat")
    best = Found(text="cat", start=start, end=start + 3, probability=0.7)
    other = Found(text="the", start=0, end=3, probability=0.1)
    answer(page, explorer, head="answer", found=(best, other), value=0.2)
    face = page.answers.faces["answer"]
    assert face.verdict.whole() == "cat · 70.0 %"
    selections = face.passage.extraSelections()
    assert [one.cursor.selectedText() for one in selections] == ["cat"]
    assert [bar.label for bar in face.bars.shown] == ["cat", "the", "no answer"]
    assert_accessible(page)


def test_no_answer_is_said_and_nothing_is_marked(page, home, explorer, wait):
    folder = make_model(home.models / "asks", Heads(outputs=2, kind="answer"))
    page.arrive(folder)
    page.pair.set_text(PASSAGE)
    wait(lambda: bool(explorer.asked) and explorer.asked[-1].pair == PASSAGE)
    answer(page, explorer, head="answer", found=(), value=0.9, answered=False)
    face = page.answers.faces["answer"]
    assert face.verdict.whole() == "No answer in the passage · 90.0 %"
    assert face.passage.extraSelections() == []
    assert face.passage.toPlainText() == PASSAGE
