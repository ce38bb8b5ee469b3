"""Questions about the study, and which answers count."""

import pytest

from app.pages.explore.live_query import LiveQuery
from engine.messages.answers import ArrayFile, Attended, Filled, Working
from engine.messages.questions import Fill


def fill(study):
    if study.checkpoint is None or not study.masked:
        return None
    return Fill(checkpoint=study.checkpoint, text=study.text, masked=study.masked)


@pytest.fixture
def asking(study, explorer):
    made = LiveQuery(study, explorer, fill)
    made.set_seen(True)
    return made


def test_a_late_answer_is_passed_over(study, explorer, asking):
    study.toggle_mask(1)
    study.toggle_mask(2)
    first, second = explorer.asked
    explorer.fill(first, "late")
    assert asking.answer is None
    newest = explorer.fill(second, "new")
    assert asking.answer is newest
    explorer.fill(first, "later still")
    assert asking.answer is newest


def test_the_old_answer_stays_until_the_new_one_is_there(study, explorer, asking):
    study.toggle_mask(1)
    old = explorer.fill(explorer.asked[-1], "old")
    study.toggle_mask(2)
    assert asking.is_waiting
    assert asking.answer is old


def test_what_nobody_sees_asks_nothing_until_it_is_seen(study, explorer, asking):
    asking.set_seen(False)
    study.toggle_mask(1)
    study.toggle_mask(2)
    assert explorer.asked == []
    asking.set_seen(True)
    assert [question.masked for question in explorer.asked] == [(1, 2)]
    asking.set_seen(False)
    asking.set_seen(True)
    assert len(explorer.asked) == 1


def test_the_answer_goes_with_what_was_asked_about(study, explorer, asking):
    study.toggle_mask(1)
    explorer.fill(explorer.asked[-1], "old")
    study.toggle_mask(1)
    assert asking.answer is None
    assert not asking.is_waiting


def test_the_answer_goes_with_the_model(study, explorer, asking, home):
    study.toggle_mask(1)
    explorer.fill(explorer.asked[-1], "old")
    study.choose_model(None)
    assert asking.answer is None
    assert not asking.is_waiting


def test_a_refusal_is_kept_with_its_words(study, explorer, asking):
    study.toggle_mask(1)
    explorer.refuse(explorer.asked[-1], "This cannot be.")
    assert asking.refusal.problem == "This cannot be."
    study.toggle_mask(2)
    assert isinstance(explorer.fill(explorer.asked[-1], "well"), Filled)
    assert asking.refusal is None


def test_a_stage_of_the_work_is_no_answer(study, explorer, asking):
    study.toggle_mask(1)
    explorer.answered.emit(Working(to=explorer.asked[-1].number, stage="Reading"))
    assert asking.is_waiting


def test_what_is_there_already_is_shown_while_more_is_to_come(study, explorer, asking):
    study.toggle_mask(1)
    number = explorer.asked[-1].number
    part = Attended(
        tokens=study.tokens, weights=ArrayFile(path="x", shape=(1,), dtype="float32"), layers=1
    )
    explorer.answered.emit(Working(to=number, stage="Computing layers", done=1, total=3))
    assert asking.answer is None
    explorer.answered.emit(Working(to=number, stage="Computing layers", so_far=part))
    assert asking.answer == part and asking.is_waiting
    explorer.refuse(explorer.asked[-1], "Stopped.")
    assert asking.answer is None and not asking.is_waiting


def test_it_is_renewed_at_once_only_where_it_is_seen(study, explorer, asking):
    wanted = []
    asking._make = lambda side: Fill(checkpoint=side.checkpoint, text="a", masked=tuple(wanted))
    asking.set_seen(False)
    wanted.append(1)
    asking.renew()
    assert explorer.asked == []
    asking.set_seen(True)
    asking.renew()
    assert len(explorer.asked) == 1, "the same question is not asked twice"
