"""The switch for exact answers, and what is said of an answer."""

import pytest

from app.pages.explore.live_query import LiveQuery
from app.pages.explore.precision import PrecisionSwitch
from app.settings import Settings
from engine.messages.answers import Filled, Predicted
from engine.messages.questions import Attend, Fill, Predict


@pytest.fixture
def settings(tmp_path, qtbot):
    return Settings(tmp_path / "settings.json")


@pytest.fixture
def switch(study, explorer, settings, qtbot):
    made = PrecisionSwitch(study, explorer, settings)
    qtbot.addWidget(made)
    return made


def asking(study, explorer, kind):
    def make(side):
        return kind(checkpoint=study.checkpoint, text=study.text, masked=study.masked)

    made = LiveQuery(study, explorer, make)
    made.set_seen(True)
    return made


def test_guesses_and_answers_may_be_fast_and_all_else_is_exact(study, explorer, switch):
    for kind in (Fill, Predict, Attend):
        asking(study, explorer, kind)
    assert [(type(one), one.exact) for one in explorer.asked] == [
        (Fill, False),
        (Predict, False),
        (Attend, True),
    ]


def test_a_click_asks_again_for_an_exact_answer_and_is_remembered(
    study, explorer, switch, settings, qtbot
):
    asking(study, explorer, Fill)
    switch.exact.click()
    assert [one.exact for one in explorer.asked] == [False, True]
    assert settings.preferences.exact_answers
    again = PrecisionSwitch(study, explorer, settings)
    qtbot.addWidget(again)
    assert again.exact.isChecked()
    assert study.is_exact


@pytest.mark.parametrize(
    "computed, why, said",
    [
        ("int8", "", "Fast answer, in int8."),
        ("float32", "", "Exact answer."),
        ("float32", "preparing", "Exact answer; a fast way is looked for."),
        ("float32", "none", "Exact answer: nothing faster agrees here."),
        ("float32", "device", "Exact answer, as always on this device."),
    ],
)
def test_every_answer_says_how_it_was_computed(study, explorer, switch, computed, why, said):
    how = {"tokens": (), "computed": computed, "why_exact": why}
    explorer.answered.emit(Filled(guesses=(), **how))
    assert switch.said.text() == said
    switch.said.setText("")
    explorer.answered.emit(Predicted(head="classes", **how))
    assert switch.said.text() == said
    study.choose_model(None)
    assert switch.said.text() == ""
