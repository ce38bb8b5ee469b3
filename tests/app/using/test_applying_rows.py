"""A model is applied to rows of a data set: predictions become edits, the unsure are reviewed."""

import csv
import json
from collections import Counter
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices

from app import background
from app.library import describe_model
from app.pages.data.view import DataPage
from app.translation import translated
from app.using.applying_state import DATASET, EDITS, ApplyingState
from app.widgets.context_menu import context_menu
from engine.config.dataset import FileData, Mapping, Reading, Split, StoredData
from engine.config.zero_shot import describe
from engine.data.datasets.coding import RowCoding, read_coding, write_coding
from engine.data.datasets.editing import edits_file, read_edits
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.messages.applying import Applied
from engine.models.checkpoint import load
from engine.runs.folder import RunFolder
from engine.tasks.zero_shot import LabelScorer
from tests.app.accessible import assert_accessible
from tests.app.asking import question
from tests.engine.tasks.nli_model import save_nli_model

PATIENCE = 90_000  # ms; a worker loads torch first


@pytest.fixture
def dataset(studio):
    """Ten rows with a label that the model knows, and twenty without one."""
    file = studio.home.cache / "films.csv"
    rows = [f"a lovely film {n},{'xy'[n % 2]},{'good' if n % 2 else 'bad'}" for n in range(10)]
    rows += [f"a dull film {n},z," for n in range(20)]
    file.write_text("\n".join(["text,genre,label", *rows]) + "\n", encoding="utf-8")
    folder = studio.home.datasets / "films" / "1"
    mapping = Mapping(text="text", label="genre")  # not what the model learned
    import_dataset("films", {"train": file}, Reading(format="csv"), mapping, Split(), folder)
    return open_dataset(folder)


@pytest.mark.usefixtures("in_threads")
def test_unlabelled_rows_are_labelled_as_edits_and_a_part_is_written_to_a_file(
    qtbot, tab, tuned, studio, dataset, tmp_path, monkeypatch
):
    tab.show_model(tuned("text_classification").checkpoint, "films")
    qtbot.waitUntil(lambda: tab.try_view is not None)
    tab.apply_to(None)
    dialog, state = tab.dialog, tab.dialog.state
    dialog.choices.choose_dataset.click()
    asked = question(qtbot, "Choose a data set")
    asked.buttons["choose"].click()
    qtbot.waitUntil(lambda: state.preview is not None, timeout=PATIENCE)
    rows = dialog.choices.rows
    assert [rows.itemText(n) for n in range(rows.count())] == [
        "All rows (30)",
        "Rows without a label (20)",
        "Training (27)",
        "Validation (3)",
    ]
    rows.showPopup()
    rows.view().setCurrentIndex(rows.model().index(2, 0))
    state.changed.emit()
    assert rows.view().currentIndex().row() == 2, "a preview that arrives moves no open list"
    rows.hidePopup()
    state.set_threshold(0.99)
    assert dialog.choices.start.isEnabled(), "a click that ends the typing of a number counts"
    rows.setCurrentIndex(1)
    rows.activated.emit(1)
    assert state.format == EDITS, "the labels of these rows are missing"
    state.choose_rows("all")
    assert state.format == DATASET, "no label is replaced unasked"
    state.choose_rows("unlabelled")
    qtbot.waitUntil(lambda: state.preview is not None and not state.is_loading, timeout=PATIENCE)
    assert_accessible(dialog)
    dialog.choices.start.click()
    qtbot.waitUntil(lambda: state.applied is not None, timeout=PATIENCE)
    outcome = dialog.outcome
    assert not outcome.estimate.isVisibleTo(outcome), "the labels are edits of the rows"
    assert "20 row(s) labelled in “films”, as edits" in outcome.summary.text()
    file = edits_file(studio.home.edits, dataset.folder, dataset.spec)
    edits = read_edits(file, dataset.spec.fingerprint).rows
    assert set(edits) == set(range(10, 30))
    assert {edit.cells["label"] for edit in edits.values()} <= {"good", "bad"}
    assert sum(state.applied.counts.values()) == 20
    assert outcome.bars.isVisibleTo(outcome) and outcome.model.rowCount() == state.applied.unsure
    heads = [outcome.model.headerData(n, Qt.Orientation.Horizontal) for n in range(4)]
    assert heads == [state.applied.prediction, "probability", "text", "row"]
    assert_accessible(dialog)
    requests = []
    studio.navigate.connect(lambda key, argument: requests.append((key, argument)))
    outcome.table.setCurrentIndex(outcome.model.index(0, 0))
    actions = context_menu(outcome.table).build().actions()
    next(a for a in actions if a.text() == "Show in &data set").trigger()
    unsure = [int(cells[0]) for cells in state.applied.least]
    assert requests.pop() == ("data", {"data": dataset.folder, "row": unsure[0]})
    write_to_a_file(qtbot, dialog, tmp_path, monkeypatch)
    state.review, state.dataset = tuple(unsure), dataset.folder
    outcome.show_state()
    outcome.review.click()
    assert requests[0][1]["rows"] == tuple(unsure)
    review_unsure_rows(qtbot, studio, requests[0][1])


@pytest.mark.usefixtures("in_threads")
def test_a_data_set_with_predictions_knows_how_its_rows_were_coded(studio, dataset, qtbot):
    drawn = {n: {"label": RowCoding(drawn="random", coder="Anna")} for n in (1, 15, 20)}
    write_coding(dataset.folder, drawn)
    state = ApplyingState(studio, studio.home.models / "films", "films", "text_classification")
    stored = dataset.with_target("label")
    state.stored, state.rows, state.format = stored, "unlabelled", DATASET
    state.mapping = Mapping(text="text")
    out = studio.home.cache / "applied.jsonl"
    rows = [{"row": n, "text": f"film {n}", "predicted_label": "good"} for n in range(10, 30)]
    out.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    state._on_applied(Applied(to=1, out=out, rows=20, prediction="predicted_label"))
    qtbot.waitUntil(lambda: state.applied is not None)
    version = open_dataset(state.dataset)
    found = {version.column("row")[n].as_py(): one for n, one in read_coding(state.dataset).items()}
    assert found == {"15": drawn[15], "20": drawn[20]}


def review_unsure_rows(qtbot, studio, request):
    page = DataPage(studio)
    qtbot.addWidget(page)
    page.show()
    page.arrive(request)
    qtbot.waitUntil(lambda: page.dataset is not None and page.dataset.table.model() is not None)
    view = page.dataset
    qtbot.waitUntil(lambda: view.state.indices.tolist() == list(request["rows"]))
    assert view.finding_text.text() == "Unsure predictions of “films”"
    qtbot.waitUntil(lambda: view.table.currentIndex().row() == 0)  # the keys of labels act on it
    assert view.table.hasFocus() or not view.isActiveWindow()
    assert len(view.editing.state.rows) == 20, "the predictions are shown as edits"


def write_to_a_file(qtbot, dialog, folder, monkeypatch):
    opened, state = [], dialog.state
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    state.discard_result()
    state.set_folder(folder)
    state.set_format(".csv")
    state.choose_rows((3, 2))
    state.set_format(".csv")
    qtbot.waitUntil(lambda: state.preview is not None and not state.is_loading, timeout=PATIENCE)
    dialog.choices.start.click()
    qtbot.waitUntil(lambda: state.applied is not None, timeout=PATIENCE)
    with open(folder / "films-predicted.csv", encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["row"] for row in written] == ["3", "2"]
    dialog.outcome.open.click()
    dialog.outcome.folder.click()
    assert opened == [str(folder / "films-predicted.csv"), str(folder)]
    dialog.outcome.estimate.click()
    estimating = dialog.outcome.estimating.state
    qtbot.waitUntil(lambda: estimating.table is not None, timeout=PATIENCE)
    assert estimating.request.predicted == state.applied.prediction
    assert estimating.request.hand == "label" and estimating.table.rows[0].estimate.coded == 2
    dialog.outcome.estimating.close()


def test_selected_rows_of_the_data_page_are_passed_to_a_chosen_model(
    qtbot, studio, dataset, tuned, monkeypatch
):
    monkeypatch.setattr(studio.explorer, "ask", lambda _: 1)
    model = describe_model("films", tuned("text_classification").checkpoint, "imported")
    page = DataPage(studio)
    qtbot.addWidget(page)
    page.show()
    page.arrive({"data": dataset.folder, "row": 4})
    qtbot.waitUntil(lambda: page.dataset is not None and page.dataset.table.model() is not None)
    view = page.dataset
    qtbot.waitUntil(lambda: view.table.currentIndex().row() == 4)
    page._reading_models.cancel()
    view.set_models([model])
    apply = "Apply a model to 1 row(s)…"
    actions = {a.text().replace("&", ""): a for a in context_menu(view.table).build().actions()}
    actions[apply].trigger()
    question(qtbot, "Apply a model").buttons["apply"].click()
    state = view.applying.state
    qtbot.waitUntil(lambda: state.stored is not None)
    assert state.question().given.rows == (4,) and state.name == "films"
    view.applying.close()


def test_the_rows_without_a_label_that_a_run_left_out_are_proposed(
    qtbot, studio, dataset, tuned, tmp_path, monkeypatch
):
    monkeypatch.setattr(studio.explorer, "ask", lambda _: 1)
    checkpoint = tuned("text_classification").checkpoint  # trained with the real job
    run, sources = RunFolder(tmp_path), [FileData(path=tmp_path), StoredData(folder=dataset.folder)]
    monkeypatch.setattr(RunFolder, "job", lambda _: SimpleNamespace(data=sources[0]))
    state = ApplyingState(studio, checkpoint, "films", "text_classification")
    state.propose_rows(run)
    background.finish()
    assert state.stored is None and not state.is_loading
    del sources[0]
    state.propose_rows(run)
    qtbot.waitUntil(lambda: state.stored is not None)
    assert (state.rows, state.format) == ("unlabelled", EDITS)
    assert state.question().given.rows == "unlabelled"


@pytest.mark.usefixtures("in_threads")
def test_fewer_bits_are_offered_with_their_agreement_on_validation_rows(
    qtbot, tab, tuned, dataset, tmp_path
):
    tab.show_model(tuned("text_classification").checkpoint, "films")
    qtbot.waitUntil(lambda: tab.try_view is not None)
    tab.apply_to(None)
    choices, state = tab.dialog.choices, tab.dialog.state
    state.set_folder(tmp_path)
    state.open_rows(dataset.folder)
    qtbot.waitUntil(lambda: state.preview is not None, timeout=PATIENCE)
    assert choices.agreement.text() == "" and state.question().exact
    choices.precision.setCurrentIndex(1)
    choices.precision.activated.emit(1)
    assert choices.agreement.text() == "Comparing with fp32 on the validation rows…"
    assert not choices.start.isEnabled()
    qtbot.waitUntil(lambda: state.is_measured and not state.is_loading, timeout=PATIENCE)
    sentence = translated(state.agreement.phrase)
    assert choices.agreement.text() == sentence
    assert "validation row" in choices.agreement.text() and not state.question().exact
    assert_accessible(tab.dialog)
    state.set_format(".parquet")
    qtbot.waitUntil(lambda: state.preview is not None and not state.is_loading, timeout=PATIENCE)
    choices.start.click()
    qtbot.waitUntil(lambda: state.applied is not None, timeout=PATIENCE)
    assert sentence in tab.dialog.outcome.notes.text()
    metadata = pq.read_schema(state.applied.out).metadata
    assert metadata[b"agreement"].decode() == str(state.agreement.phrase)
    assert metadata[b"precision"].decode() == state.applied.computed


@pytest.mark.usefixtures("in_threads")
def test_described_labels_become_edits_of_the_rows_without_a_label(
    qtbot, tab, studio, dataset, tmp_path
):
    checkpoint = save_nli_model(tmp_path / "nli")
    described = describe(["good: a lovely film", "bad"])
    state = ApplyingState(studio, checkpoint, "nli", described.task, described)
    state.open_rows(dataset.folder, "unlabelled")
    qtbot.waitUntil(lambda: state.preview is not None and not state.is_loading)
    assert state.stored.spec.mapping.label == "label", "the column with these labels"
    assert state.format == EDITS and state.threshold == 0 and state.preview.rows
    state.set_threshold(0.9)
    qtbot.waitUntil(lambda: not state.is_loading)
    state.start()
    qtbot.waitUntil(lambda: state.applied is not None)
    file = edits_file(studio.home.edits, dataset.folder, dataset.spec)
    edits = read_edits(file, dataset.spec.fingerprint).rows
    texts = [f"a dull film {n}" for n in range(20)]
    p = LabelScorer(load(checkpoint), described).probabilities(texts)
    labels = [described.labels[n] for n in p.argmax(axis=1)]
    assert [edits[row].cells["label"] for row in range(10, 30)] == labels
    assert state.applied.counts == Counter(labels)
    assert state.applied.unsure == (p.max(axis=1) < 0.9).sum()
    state.stop()
