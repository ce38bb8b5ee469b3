"""Live queries, and the answers they accept."""

import pytest

from app.pages.explore.live_query import LiveQuery
from engine.messages.explore.attention import ArrayFile, Attended
from engine.messages.explore.fill_mask import FillMask, MaskFilled
from engine.messages.question import Working


def fill(side):
    return side.question(FillMask) if side.masked else None


@pytest.fixture
def query(explore, explorer):
    query = LiveQuery(explore, explorer, fill)
    query.set_active(True)
    return query


def test_an_answer_is_kept_until_the_next_and_late_ones_are_ignored(explore, explorer, query):
    explore.toggle_mask(1)
    old = explorer.fill(explorer.questions[-1], "old")
    explore.toggle_mask(2)
    assert query.is_waiting and query.answer is old
    explore.toggle_mask(3)
    first, second = explorer.questions[1:]
    explorer.fill(first, "late")
    assert query.is_waiting and query.answer is old
    newest = explorer.fill(second, "new")
    assert query.answer is newest
    explorer.fill(first, "later still")
    assert query.answer is newest


def test_a_hidden_query_asks_nothing_until_it_is_visible(explore, explorer, query):
    query.set_active(False)
    explore.toggle_mask(1)
    explore.toggle_mask(2)
    assert explorer.questions == []
    query.set_active(True)
    assert [question.masked for question in explorer.questions] == [(1, 2)]
    query.set_active(False)
    query.set_active(True)
    assert len(explorer.questions) == 1
    explorer.questions.clear()
    masks = []
    query._make = lambda side: FillMask(checkpoint=side.checkpoint, text="a", masked=tuple(masks))
    query.set_active(False)
    masks.append(1)
    query.invalidate()
    assert explorer.questions == []
    query.set_active(True)
    query.invalidate()
    assert len(explorer.questions) == 1, "the same question is not asked twice"


def test_the_answer_is_cleared_with_its_input_and_model(explore, explorer, query):
    for change in (lambda: explore.toggle_mask(1), lambda: explore.choose_model(None)):
        explore.toggle_mask(1)
        explorer.fill(explorer.questions[-1], "old")
        assert query.answer is not None
        change()
        assert query.answer is None
        assert not query.is_waiting


def test_a_refusal_keeps_its_message(explore, explorer, query):
    explore.toggle_mask(1)
    explorer.refuse(explorer.questions[-1], "This cannot be.")
    assert query.refusal.problem == "This cannot be."
    explore.toggle_mask(2)
    assert isinstance(explorer.fill(explorer.questions[-1], "well"), MaskFilled)
    assert query.refusal is None


def test_partial_answers_are_shown_while_more_are_expected(explore, explorer, query):
    explore.toggle_mask(1)
    number = explorer.questions[-1].number
    file = ArrayFile(path="x", shape=(1,), dtype="float32")
    part = Attended(to=number, tokens=explore.first.tokens, weights=file, layers=1)
    explorer.answered.emit(Working(to=number, stage="Reading", done=1, total=3))
    assert query.answer is None and query.is_waiting
    explorer.answered.emit(part)
    assert query.answer == part and query.is_waiting
    explorer.refuse(explorer.questions[-1], "Stopped.")
    assert query.answer is None and not query.is_waiting
