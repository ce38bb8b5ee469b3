"""The switch for exact answers, and the label of an answer."""

import pytest

from app.pages.explore.page_parts import PrecisionSwitch
from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.words.state import WordsState
from engine.messages.explore.attention import Attend
from engine.messages.explore.fill_mask import FillMask, MaskFilled
from engine.messages.explore.prediction import Predicted


@pytest.fixture
def switch(explore, explorer, settings, qtbot):
    switch = PrecisionSwitch(explore, explorer, settings)
    qtbot.addWidget(switch)
    return switch


def activate(explore, explorer, kind):
    state = kind(explore, explorer)
    for query in state.mask_queries if kind is WordsState else (state,):
        query.set_active(True)
    return state


def test_only_predictions_may_be_fast(explore, explorer, switch):
    explore.toggle_mask(2)
    for kind in (WordsState, AttentionState):
        activate(explore, explorer, kind)
    assert [(type(q), q.exact) for q in explorer.questions] == [(FillMask, False), (Attend, True)]


def test_the_choice_of_exact_answers_is_saved(explore, explorer, switch, settings, qtbot):
    explore.toggle_mask(2)
    activate(explore, explorer, WordsState)
    switch.exact.click()
    assert [q.exact for q in explorer.questions] == [False, True]
    assert settings.preferences.exact_answers
    reopened = PrecisionSwitch(explore, explorer, settings)
    qtbot.addWidget(reopened)
    assert reopened.exact.isChecked()
    assert explore.is_exact


def test_the_status_names_the_precision_of_each_answer(explore, explorer, switch):
    for computed, why, text in (
        ("int8", "", "Fast (int8)."),
        ("float32", "", "Exact (fp32)."),
        ("float32", "preparing", "Exact (fp32); testing faster precisions."),
        ("float32", "none", "Exact (fp32): no faster precision agrees."),
        ("float32", "device", "Exact (fp32), as always on this device."),
        ("float32", "snapshot", "Exact (fp32), as always with snapshots."),
    ):
        fields = {"tokens": (), "computed": computed, "why_exact": why}
        for answer in (
            MaskFilled(predictions=(), **fields),
            Predicted(task="text_classification", **fields),
        ):
            switch.status.setText("")
            explorer.answered.emit(answer)
            assert switch.status.text() == text
    explore.choose_model(None)
    assert switch.status.text() == ""
