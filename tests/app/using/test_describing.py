"""Labels described in words get probabilities for the typed text, without training."""

import csv

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.using.describing import DescribingView
from app.using.nightly import NightlyDialog
from app.using.tab import UseTab
from engine.config.codebook import Code
from engine.config.zero_shot import describe
from engine.models.checkpoint import load
from engine.tasks.similarity import sentence_vectors
from engine.tasks.zero_shot import LabelScorer, code_probabilities
from tests.app.accessible import assert_accessible
from tests.engine.tasks.nli_model import save_nli_model

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
    assert view.classes.verdict.full_text().startswith(f"{first} · ")
    assert view.classes.isVisible() and not view.status.isVisible()
    assert not view.nli_options.isVisible()
    assert_accessible(view)
    view.box.setPlainText("warm: one\nwarm: the same label")
    qtbot.waitUntil(lambda: view.state.problem is not None, timeout=PATIENCE)
    assert "nothing to choose" in view.status.text()
    view.box.clear()
    qtbot.waitUntil(lambda: "No label is trained" in view.status.text(), timeout=PATIENCE)


@pytest.mark.usefixtures("in_threads")
def test_described_labels_are_given_to_a_file_by_an_nli_model(qtbot, tab: UseTab, tmp_path):
    checkpoint = save_nli_model(tmp_path / "nli")
    tab.show_model(checkpoint, "nli")
    qtbot.waitUntil(lambda: tab.describing_view is not None)
    view, trying = tab.describing_view, tab.try_view
    qtbot.waitUntil(view.nli_options.isVisible)
    assert not view.apply_button.isEnabled()
    view.template.setText("It is about it.")
    view.box.setPlainText("warm: a lovely warm film\ncold")
    qtbot.waitUntil(lambda: "once" in view.status.text())
    view.template.setText("It is on {}.")
    view.several.setChecked(True)
    qtbot.keyClicks(trying.text, TEXT)
    qtbot.waitUntil(lambda: view.state.predicted is not None, timeout=PATIENCE)
    described = describe(["warm: a lovely warm film", "cold"], "It is on {}.", several=True)
    assert view.state.described == described and view.labels.isVisible()
    p = LabelScorer(load(checkpoint), described).probabilities([TEXT])[0]
    ranked = view.state.predicted.predictions[0].ranked
    assert {item.label: item.probability for item in ranked} == pytest.approx(
        dict(zip(described.labels, p.tolist(), strict=True)), abs=1e-5
    )
    assert_accessible(view)

    file = tmp_path / "films.csv"
    file.write_text(f"text,n\n{TEXT},1\nanother,2\n{TEXT},3\n", encoding="utf-8")
    qtbot.mouseClick(view.apply_button, Qt.MouseButton.LeftButton)
    state = tab.dialog.state
    state.open(file)
    qtbot.waitUntil(lambda: state.preview is not None and not state.is_loading, timeout=PATIENCE)
    choices = tab.dialog.choices
    assert not choices.precision.isVisible() and choices.threshold.isVisible()
    assert state.preview.columns == ("text", "n", "labels", "p(warm)", "p(cold)")
    state.set_threshold(0.999)
    qtbot.waitUntil(lambda: state.preview is not None and not state.is_loading, timeout=PATIENCE)
    choices.start.click()
    qtbot.waitUntil(lambda: state.applied is not None, timeout=PATIENCE)
    assert state.applied.rows == 3 and state.applied.unsure == 3
    tab.dialog.outcome.nightly.click()
    (dialog,) = tab.dialog.findChildren(NightlyDialog)
    line = dialog.cron.text.toPlainText()
    assert "'--describe=warm: a lovely warm film' --describe=cold" in line and "--several" in line
    dialog.close()
    with open(state.applied.out, encoding="utf-8", newline="") as written:
        rows = [*csv.DictReader(written)]
    assert [float(row["p(cold)"]) for row in rows[::2]] == pytest.approx([p[1]] * 2, abs=1e-5)
