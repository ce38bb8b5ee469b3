"""Labels described in words get probabilities for the typed text, without training."""

import numpy as np
import pytest

from app.using.describing import DescribingView
from app.using.tab import UseTab
from engine.config.codebook import Code
from engine.errors import StudioError
from engine.explore.prediction import predict_by_descriptions
from engine.messages.explore.prediction import PredictByDescriptions
from engine.models.checkpoint import load
from engine.tasks.similarity import sentence_vectors
from engine.tasks.zero_shot import code_probabilities
from tests.app.accessible import assert_accessible

PATIENCE = 90_000  # ms; workers load torch first
TEXT = "a lovely warm film"


@pytest.mark.usefixtures("in_threads")
def test_labels_are_described_and_tried_while_typing(qtbot, tab: UseTab, tuned):
    checkpoint = tuned("sentence_similarity").checkpoint
    tab.show_model(checkpoint, "films")
    qtbot.waitUntil(lambda: tab.describing_view is not None)
    view, trying = tab.describing_view, tab.try_view
    assert isinstance(view, DescribingView) and "No label is trained" in view.status.text()
    qtbot.keyClicks(trying.text, TEXT)
    view.box.setPlainText("warm: a lovely warm film\ncold: a dull cold film")
    qtbot.waitUntil(lambda: view.state.predicted is not None, timeout=PATIENCE)
    model = load(checkpoint)
    codes = (
        Code(label="warm", definition="a lovely warm film"),
        Code(label="cold", definition="a dull cold film"),
    )
    expected = code_probabilities(model, sentence_vectors(model, [TEXT]), codes)[0]
    ranked = view.state.predicted.predictions[0].ranked
    assert {item.label: pytest.approx(item.probability, abs=1e-5) for item in ranked} == {
        code.label: p for code, p in zip(codes, expected.tolist(), strict=True)
    }
    first = codes[int(np.argmax(expected))].label
    assert view.prediction.verdict.full_text().startswith(f"{first} · ")
    assert view.prediction.isVisible() and not view.status.isVisible()
    assert_accessible(view)
    view.box.setPlainText("warm: one\nwarm: the same label")
    qtbot.waitUntil(lambda: view.state.problem is not None, timeout=PATIENCE)
    assert "nothing to choose" in view.status.text()
    view.box.clear()
    qtbot.waitUntil(lambda: "No label is trained" in view.status.text(), timeout=PATIENCE)
    described = ("warm", " warm : again")
    question = PredictByDescriptions(checkpoint=checkpoint, text=TEXT, descriptions=described)
    with pytest.raises(StudioError, match="nothing to choose"):
        predict_by_descriptions(model, question)
