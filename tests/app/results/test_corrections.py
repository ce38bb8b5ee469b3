"""Rows of results are shown in their data set, and corrected there as edits with undo."""

import json
from collections.abc import Callable
from collections.abc import Mapping as Cells
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QListWidget

from app.pages.data.view import DataPage
from app.results.corrections import StoredRows, find_rows
from app.results.view import ResultsView
from app.studio import Studio
from app.widgets.context_menu import context_menu
from app.widgets.dialogs import Question
from app.widgets.forms.answer_editor import AnswerEditor
from app.widgets.forms.span_view import SpanView
from app.widgets.forms.tag_view import TagView
from engine.config.codebook import Code, Codebook
from engine.config.dataset import Mapping, Reading, Split
from engine.config.tasks import TASKS, get_head
from engine.data.datasets.editing import PendingEdits, edits_file, read_edits
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset, open_dataset
from engine.results.predictions import Predictions
from tests.app.accessible import assert_accessible
from tests.app.asking import question
from tests.app.results.test_view import open_results, results_source
from tests.engine.results.rows import (
    answer_rows,
    class_rows,
    label_rows,
    masked_tokens,
    span_rows,
    tag_rows,
)


def store(studio: Studio, text: str, mapping: Mapping, name: str = "reviews") -> Dataset:
    """Version 1 of a data set with all rows in the validation set."""
    file = studio.home.cache / f"{name}.csv"
    file.write_text(text, encoding="utf-8")
    folder = studio.home.datasets / name / "1"
    sources = {"train": file, "validation": file}
    import_dataset(name, sources, Reading(format="csv"), mapping, Split(), folder)
    return open_dataset(folder)


def predictions_of(dataset: Dataset, gold, predicted, **changes) -> Predictions:
    part = dataset.cells("validation")
    labels = tuple(sorted({*gold, *predicted}))
    made = class_rows(gold, predicted, labels, **part)
    info = {"fingerprint": dataset.spec.fingerprint, "mapping": dataset.spec.mapping, **changes}
    return Predictions(made.info.model_copy(update=info), made.table)


def _column(made: Predictions, name: str, values: list[int]) -> tuple[int, str, pa.Array]:
    index = made.table.column_names.index(name)
    return index, name, pa.array(values, made.table.schema.field(name).type)


@pytest.fixture
def dataset(studio) -> Dataset:
    rows = "".join(f"text {n},{'good' if n % 2 else 'bad'}\n" for n in range(6))
    return store(studio, f"text,label\n{rows}", Mapping(text="text", label="label"))


@pytest.fixture
def view(studio, qtbot, tmp_path, dataset) -> ResultsView:
    """Six rows; the last one is the only mistake, and comes first."""
    gold = ["bad", "good"] * 3
    made = predictions_of(dataset, gold, [*gold[:5], "bad"])
    made.write(tmp_path / "results" / "validation.parquet")
    view = open_results(studio, qtbot, results_source(tmp_path))
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 6)
    qtbot.waitUntil(lambda: view.corrections.stored is not None)
    return view


def choose(view: ResultsView, text: str) -> None:
    actions = context_menu(view.rows.table).build().actions()
    next(action for action in actions if action.text().replace("&", "") == text).trigger()


def stored_edits(studio: Studio, dataset: Dataset) -> dict:
    file = edits_file(studio.home.edits, dataset.folder, dataset.spec)
    return {n: e.cells for n, e in read_edits(file, dataset.spec.fingerprint).rows.items()}


def gold_cell(view: ResultsView) -> str:
    return str(view.rows.model.index(0, 1).data())


def test_a_correction_is_an_edit_of_the_data_set_and_is_undone(studio, qtbot, view, dataset):
    assert view.rows.model.index(0, 4).data() == "text 5"
    choose(view, "Correct label…")
    asked = question(qtbot)
    assert asked is not None
    asked.buttons["correct"].click()  # the predicted label is proposed
    qtbot.waitUntil(lambda: gold_cell(view) == "good → bad")
    assert view.rows.row_text.toPlainText().startswith("Corrected label: bad")
    assert stored_edits(studio, dataset) == {11: {"label": "bad"}}
    notice = studio.notices.shown[-1]
    assert "corrected in “reviews”" in notice.problem and notice.action == "Undo"
    notice.act()
    qtbot.waitUntil(lambda: gold_cell(view) == "good")
    assert not stored_edits(studio, dataset)


def test_an_open_data_set_takes_the_correction_into_its_own_undo(studio, qtbot, view, dataset):
    page = DataPage(studio)
    qtbot.addWidget(page)
    page.show()
    requests = []
    studio.navigate.connect(lambda key, argument: requests.append((key, argument)))
    choose(view, "Show in data set")
    assert requests == [("data", {"data": dataset.folder, "row": 11})]
    page.arrive(requests[0][1])
    qtbot.waitUntil(lambda: page.dataset is not None and page.dataset.table.model() is not None)
    opened = page.dataset
    qtbot.waitUntil(lambda: opened.table.currentIndex().row() == 11)
    assert page.place() == dataset.folder
    opened.search.setText("text 1")
    qtbot.waitUntil(lambda: opened.model.rowCount() == 2)
    page.arrive({"data": dataset.folder, "row": 11})  # filtered out
    qtbot.waitUntil(lambda: opened.table.currentIndex().row() == 11)
    view.corrections.correct({5: {"label": "neutral"}})
    qtbot.waitUntil(lambda: gold_cell(view) == "good → neutral")
    assert opened.editing.state.rows[11].cells == {"label": "neutral"}
    assert stored_edits(studio, dataset) == {11: {"label": "neutral"}}
    opened.editing.state.stack.undo()
    opened.editing.state.write()
    view.corrections.read()
    qtbot.waitUntil(lambda: gold_cell(view) == "good")
    opened.editing.state.is_saving = True  # edits would be lost with the version
    view.corrections.correct({5: {"label": "neutral"}})
    qtbot.waitUntil(lambda: any("being saved" in n.problem for n in studio.notices.shown))
    opened.editing.state.is_saving = False


def test_rows_of_a_file_outside_the_library_say_why_they_cannot_be_corrected(
    studio, qtbot, tmp_path, dataset
):
    gold = ["bad", "good"] * 3
    made = predictions_of(dataset, gold, gold, part="file", source="new.csv")
    made.write(tmp_path / "results" / "validation.parquet")
    view = open_results(studio, qtbot, results_source(tmp_path))
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 6)
    actions = context_menu(view.rows.table).build().actions()
    closed = {a.text(): a.toolTip() for a in actions if not a.isEnabled()}
    assert set(closed) == {"Show in &data set", "Correct &label…"}
    assert all("the file “new.csv”, which is not in the library" in why for why in closed.values())
    gone = predictions_of(dataset, gold, gold, fingerprint="other")
    assert find_rows(studio, gone) is None
    made = predictions_of(dataset, gold, gold)
    assert find_rows(studio, made) is not None
    table = made.table.set_column(*_column(made, "line", [2, 3, 4, 5, 6, 99]))
    assert find_rows(studio, Predictions(made.info, table)) is None, "no row is guessed"


ANSWER = '[{"text": "1912", "answer_start": 3}]'


class Case(NamedTuple):
    """Rows of a task with a wrong label in the first one, and a person who corrects it.

    Args:
        act: changes the open question, whose main button is then pressed.
        cells: the new cells of the row; empty if the task has no label to correct.
        shown: the corrected label in the list of rows.
    """

    text: str
    mapping: Mapping
    made: Callable[[dict[str, list[str]]], Predictions]
    act: Callable[[Question], object] = lambda asked: None
    cells: Cells[str, str] = MappingProxyType({})
    shown: str = ""


def classes(task: str, gold: list[str], predicted: list[str]) -> Callable[..., Predictions]:
    names = sorted({*gold, *predicted})
    return lambda cells: class_rows(gold, predicted, names, task=task, **cells)


def tag(asked: Question) -> None:
    """Select the last two words by keys, and make them a person; take the first tag away."""
    words = asked.findChild(TagView)
    QTest.keyClick(words, Qt.Key.Key_End)
    QTest.keyClick(words, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(words, Qt.Key.Key_2)
    QTest.mouseClick(words, Qt.MouseButton.LeftButton, pos=words.box(0).center().toPoint())
    QTest.keyClick(words, Qt.Key.Key_0)


def mark(asked: Question) -> None:
    """Select the last two words by keys, and make them a person; take the first span away."""
    part = asked.findChild(SpanView)
    QTest.keyClick(part, Qt.Key.Key_End)
    QTest.keyClick(part, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(part, Qt.Key.Key_2)
    place = part.boxes(0, 3)[0].center().toPoint()
    QTest.mouseClick(part, Qt.MouseButton.LeftButton, pos=place)
    QTest.keyClick(part, Qt.Key.Key_0)


def answer(asked: Question) -> None:
    """Make the selected prediction the answer, and accept the first two words as well."""
    editor = asked.findChild(AnswerEditor)
    assert editor.selection() == ("1912", 3) and editor.answers[0].text == "In"
    QTest.keyClick(editor.passage, Qt.Key.Key_Return)
    editor.select(0, 8)
    assert editor.selection() == ("In 1912", 0), "without the space"
    QTest.keyClick(editor.passage, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    editor.answers = editor.answers[:1]


def spans(cells: dict[str, list[str]]) -> Predictions:
    made = answer_rows([("1912", ["In"], None), ("x", ["x"], None)], **cells)
    found = json.dumps({"gold": ["In"], "exact": 0, "null": None, "best": [["1912", 3, 7, 0.9]]})
    index = made.table.column_names.index("details")
    details = pa.array([found, made.table["details"][1].as_py()])
    return Predictions(made.info, made.table.set_column(index, "details", details))


def choose_last(asked: Question) -> None:
    choices = asked.findChild(QListWidget)
    assert choices.currentRow() == 1, "the predicted one"
    QTest.keyClick(choices, Qt.Key.Key_Down)


TAG_ROWS = [("Ada met Bo Li", "B-LOC O O O", "O O B-PER O"), ("in Rome", "O B-PER", "O B-PER")]
LABEL, PAIR = Mapping(text="text", label="label"), Mapping(text="text", pair="b", label="label")
NUMBERS = "".join(f"t,u,{n / 7:.3f}\n" for n in range(60))
CASES = {
    "text_classification": Case(
        "text,label\nt,bad\nu,good\n",
        LABEL,
        classes("text_classification", ["bad", "good"], ["good", "good"]),
        cells={"label": "good"},
        shown="bad → good",
    ),
    "ordinal_classification": Case(
        "text,label\nt,1\nu,3\n",
        LABEL,
        classes("ordinal_classification", ["1", "3"], ["3", "3"]),
        cells={"label": "3"},
        shown="1 → 3",
    ),
    "hierarchical_classification": Case(
        "text,label\nt,a > b\nu,a > c\n",
        LABEL,
        classes("hierarchical_classification", ["a > b", "a > c"], ["a > c", "a > c"]),
        cells={"label": "a > c"},
        shown="a > b → a > c",
    ),
    "pair_classification": Case(
        "text,b,label\nt,u,no\nv,w,yes\n",
        PAIR,
        classes("pair_classification", ["no", "yes"], ["yes", "yes"]),
        cells={"label": "yes"},
        shown="no → yes",
    ),
    "multi_label": Case(
        "text,new,old\nt,1,0\nu,1,1\n",
        Mapping(text="text", flags=("new", "old")),
        lambda cells: label_rows([["new"], ["new", "old"]], [["old"], ["new"]], ("new", "old")),
        cells={"new": "0", "old": "1"},
        shown="new → old",
    ),
    "regression": Case(
        f"text,b,label\n{NUMBERS}",
        LABEL,
        classes("regression", ["0.000", "0.143"], ["2.5", "0.1"]),
        cells={"label": "2.5"},
        shown="0.000 → 2.5",
    ),
    "token_classification": Case(
        "text,tags\nAda met Bo Li,B-LOC O O O\nin Rome,O B-PER\n",
        Mapping(text="text", tags="tags"),
        lambda cells: tag_rows(TAG_ROWS),
        tag,
        {"tags": "O O B-PER I-PER"},
        "B-LOC O O O → O O B-PER I-PER",
    ),
    "token_classification of spans": Case(
        'text,marks\nAda met Bo Li,"[[0, 3, ""LOC""]]"\nin Rome,"[[3, 7, ""PER""]]"\n',
        Mapping(text="text", tags="marks"),
        lambda cells: tag_rows(TAG_ROWS),
        mark,
        {"marks": '[[8, 13, "PER"]]'},
        "B-LOC O O O → O O B-PER I-PER",
    ),
    "span_classification": Case(
        'text,marks\nAda met Bo Li,"[[0, 3, ""LOC""]]"\nin Rome,"[[3, 7, ""PER""]]"\n',
        Mapping(text="text", tags="marks"),
        lambda cells: span_rows(
            [
                ("Ada met Bo Li", [("LOC", 0, 1)], [("PER", 2, 4)]),
                ("in Rome", [("PER", 1, 2)], [("PER", 1, 2)]),
            ]
        ),
        mark,
        {"marks": '[[8, 13, "PER"]]'},
        '[[0, 3, "LOC"]] → [[8, 13, "PER"]]',
    ),
    "question_answering": Case(
        "text,b,answers\nWhen?,In 1912 it sank.,In\nx,x,x\n",
        Mapping(text="text", pair="b", answers="answers"),
        spans,
        answer,
        {"answers": ANSWER},
        "In → 1912",
    ),
    "multiple_choice": Case(
        "text,a,b,c,label\nt,one,two,three,A\nu,one,two,three,C\n",
        Mapping(text="text", endings=("a", "b", "c"), label="label"),
        classes("multiple_choice", ["0", "2"], ["1", "2"]),
        choose_last,
        {"label": "C"},
        "0 → 2",
    ),
    "sentence_similarity": Case(
        f"text,b,label\n{NUMBERS}",
        PAIR,
        classes("sentence_similarity", ["0.000", "0.143"], ["0.9", "0.1"]),
        cells={"label": "0.9"},
        shown="0.000 → 0.9",
    ),
    "pretraining": Case("text\nt\nu\n", Mapping(text="text"), lambda cells: masked_tokens(2)),
}


@pytest.mark.parametrize("name", CASES)
def test_labels_of_every_task_are_corrected_where_they_are_seen(studio, qtbot, tmp_path, name):
    case, task = CASES[name], name.split()[0]
    assert {other.split()[0] for other in CASES} == {*TASKS}
    dataset = store(studio, case.text, case.mapping, task)
    part = {name: cells[:2] for name, cells in dataset.cells("validation").items()}
    made = case.made(part)
    info = {"fingerprint": dataset.spec.fingerprint, "mapping": dataset.spec.mapping, "task": task}
    made = Predictions(made.info.model_copy(update=info), made.table)
    lines = made.table.set_column(*_column(made, "line", [2, 3]))
    Predictions(made.info, lines).write(tmp_path / "results" / "validation.parquet")
    view = open_results(studio, qtbot, results_source(tmp_path))
    qtbot.waitSignal(view.state.listed).wait()  # which selects the first row
    first = view.rows.model.rows.index(0)
    view.rows.table.setCurrentIndex(view.rows.model.index(first, 1))
    if not case.cells:
        actions = context_menu(view.rows.table).build().actions()
        closed = {a.text(): a.toolTip() for a in actions if not a.isEnabled()}
        assert set(closed) == {"Show in &data set", "Correct &label…"}
        assert all("Masked tokens" in why for why in closed.values())
        return
    qtbot.waitUntil(lambda: view.corrections.stored is not None)
    gold = next(n for n, c in enumerate(view.rows.columns) if c.key == "gold")
    shown = lambda: view.rows.columns[gold].text(0)  # noqa: E731
    before = shown()
    QTest.keyClick(view.rows.table, Qt.Key.Key_F2)
    asked = question(qtbot)
    assert_accessible(asked)
    case.act(asked)
    asked.buttons["correct"].click()
    qtbot.waitUntil(lambda: shown() == case.shown)
    (edited,) = stored_edits(studio, dataset).values()
    assert edited == {n: c for n, c in case.cells.items() if dataset.page(0, 1)[0][n] != c}
    assert case.shown.partition(" → ")[2] in view.rows.row_text.toPlainText()
    assert [span.type for span in view.rows.tags.above] == ["PER"] * get_head(task).marks_text
    studio.notices.shown[-1].act()
    qtbot.waitUntil(lambda: shown() == before)
    assert not stored_edits(studio, dataset)


def test_nothing_is_corrected_if_the_label_stays(studio, qtbot, view, dataset):
    view.corrections.read_rows([5], lambda *_: None)
    choose(view, "Correct label…")
    asked = question(qtbot)
    asked.findChild(QComboBox).setCurrentText("good")
    asked.buttons["correct"].click()
    assert not studio.notices.shown and not stored_edits(studio, dataset)


def test_a_correction_is_of_the_column_that_the_model_learned(studio):
    rows = "".join(f"text {n},{'ab'[n % 2]},{('low', 'high')[n % 2]}\n" for n in range(6))
    dataset = store(studio, f"text,label,urgency\n{rows}", Mapping(text="text", label="label"))
    mapping = dataset.with_target("urgency").spec.mapping
    made = predictions_of(dataset, ["low", "high"] * 3, ["low"] * 6, mapping=mapping)
    stored = find_rows(studio, made)
    assert stored is not None and stored.labels == ("high", "low")
    assert stored.cells(["high"]) == {"urgency": "high"}


def test_the_corrected_column_is_the_one_that_the_model_has_learned(studio):
    text = "text,label,genre\na,good,x\nb,bad,y\nc,good,x\n"
    dataset = store(studio, text, Mapping(text="text", label="label"), "two")
    assert "genre" in dataset.spec.targets
    learned = Mapping(text="text", label="genre")
    gold = ["x", "y", "x"]
    stored = find_rows(studio, predictions_of(dataset, gold, gold, mapping=learned))
    assert stored is not None and stored.cells(["y"]) == {"genre": "y"}
    assert stored.labels == ("x", "y")


def test_corrected_sets_of_a_codebook_stay_lists(studio):
    rows = "".join(f"text {n}\t{('a|b', 'b')[n % 2]}\n" for n in range(6))
    file = studio.home.cache / "sets.tsv"
    file.write_text(f"text\tlabel\n{rows}a\ta\nb\ta|b\n", encoding="utf-8")
    reading, mapping = Reading(format="tsv", delimiter="\t"), Mapping(text="text", label="label")
    folder = studio.home.datasets / "sets" / "1"
    spec = import_dataset("sets", {"all": file}, reading, mapping, Split(), folder)
    book = Codebook(kind="labels", codes=(Code(label="a"), Code(label="b")))
    for codebooks, cell in (({}, "a|b"), ({"label": book}, '["a", "b"]')):
        coded = spec.model_copy(update={"codebooks": codebooks})
        stored = StoredRows(folder, coded, np.arange(8), PendingEdits(fingerprint=""))
        assert stored.cells(["a", "b"]) == {"label": cell}
