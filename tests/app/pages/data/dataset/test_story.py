"""Rows without a label, from the file to the version that is trained on."""

import pytest
from PySide6.QtCore import Qt

from app.pages.data.texts import dataset_facts, summary_line
from app.pages.train.choices import Step
from app.pages.train.view import TrainPage
from app.widgets.forms.label_keys import LabelKeys
from engine.data.datasets.store import open_dataset
from engine.files.shipped import minilm
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.pages.data.dataset.test_view import open_view
from tests.app.pages.train.examples import SENTENCE

PATIENCE = 90_000  # ms; a worker loads torch first


@pytest.mark.usefixtures("in_threads")
def test_rows_are_labelled_with_the_default_model(qtbot, page, write):
    rows = [f"{('lovely', 'dull')[n % 2]} film {n},{'' if n % 3 else n % 2}" for n in range(60)]
    view = open_view(qtbot, page, write("films.csv", "text,label\n" + "\n".join(rows) + "\n"))
    card = view.editing.card
    qtbot.waitUntil(card.suggest.isVisible, timeout=PATIENCE)
    assert card.model.chosen().path in (minilm(), page._studio.home.models / "little")
    qtbot.mouseClick(card.suggest, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(card.end.isVisible, timeout=PATIENCE)
    assert card.result.text() == "40 rows have no label; 40 are listed."
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert card.decisions.text() == "2 labelled, 100.0 % as suggested"
    wizard = TrainPage(page._studio)
    qtbot.addWidget(wizard)
    wizard.state.choose_goal(SENTENCE)
    page._studio.navigate.connect(lambda key, argument: key == "train" and wizard.arrive(argument))
    versions = view.state.folder.parent
    qtbot.mouseClick(card.train, Qt.MouseButton.LeftButton)  # the only click
    state = wizard.state
    qtbot.waitUntil(lambda: state.choices.data is not None, timeout=PATIENCE)
    assert state.choices.data.source.folder.name == "2"
    saved = open_dataset(versions / "2").spec
    assert saved.labels[""] == 38 and sum(saved.rows.values()) == 60
    assert sum(state.choices.spec.rows.values()) == 60 - 38
    assert state.obstacle(Step.DATA) == "" and state.fixes(Step.DATA) == []


def test_either_label_column_is_shown_labelled_and_trained(qtbot, page, write):
    rows = [
        f"film {n} of it,{('', 'good', 'bad')[n % 3]},{('', 'low', 'high', 'low')[n % 4]}"
        for n in range(60)
    ]
    view = open_view(qtbot, page, write("films.csv", "\n".join(["text,label,urgency", *rows])))
    qtbot.waitUntil(view.editing.keys.isVisible, timeout=PATIENCE)
    target = view.labels.target
    facts = dict(fact[:2] for fact in dataset_facts(view.state.spec, view.state.folder, ""))
    assert facts["Without a label"] == "20 (33.3 %)"
    assert "33.3 % without a label" in summary_line(view.state.spec)
    assert [target.box.itemText(n) for n in range(target.box.count())] == ["label", "urgency"]
    assert_accessible(view)
    assert_distinct_keys(view, LabelKeys)
    target.box.setCurrentIndex(1)
    target.box.activated.emit(1)
    assert view.state.spec.mapping.label == "urgency" and target.box.currentText() == "urgency"
    assert view.labels.bars.model().index(0, 0).data() == "low"
    assert view.editing.card.introduction.text() == "15 row(s) have no label."
    view.table.setFocus()
    view.table.selectRow(0)
    qtbot.keyClick(view.table, Qt.Key.Key_1)
    assert view.editing.state.rows[0].cells == {"urgency": "high"}, "the first key"
    requests = []
    page._studio.navigate.connect(lambda *request: requests.append(request))
    qtbot.mouseClick(view.train, Qt.MouseButton.LeftButton)
    assert requests == [("train", {"data": view.state.folder, "target": "urgency"})]
    wizard = TrainPage(page._studio)
    qtbot.addWidget(wizard)
    wizard.arrive(requests[0][1])
    state = wizard.state
    qtbot.waitUntil(lambda: state.choices.data is not None, timeout=PATIENCE)
    assert state.choices.data.source.target == "urgency" and state.choices.label_names == (
        "high",
        "low",
    )
    box = wizard.data.target.box
    assert_accessible(wizard)
    assert_distinct_keys(wizard)
    assert not wizard.data.target.isHidden() and box.currentText() == "urgency"
    box.setCurrentIndex(0)
    box.activated.emit(0)
    assert state.choices.label_names == ("bad", "good")
    assert state.choices.data.source.target is None
    qtbot.mouseClick(view.editing.bar.save, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "2", timeout=PATIENCE)
    spec = open_dataset(page.dataset.state.folder).spec
    assert spec.mapping.label == "label" and spec.changes == ("“urgency”: 1 row labelled.",)
    assert summary_line(spec).startswith("version 2: “urgency”: 1 row(s) labelled · ")
