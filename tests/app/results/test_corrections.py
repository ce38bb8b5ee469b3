"""Rows of results are shown in their data set, and corrected there as edits with undo."""

import pyarrow as pa
import pytest

from app.pages.data.view import DataPage
from app.results.correcting import ask_for_label
from app.results.corrections import find_rows
from app.results.view import ResultsView
from app.studio import Studio
from app.widgets.context_menu import context_menu
from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.editing import edits_file, read_edits
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset, open_dataset
from engine.results.predictions import Predictions
from tests.app.asking import question
from tests.app.results.test_view import open_results, results_source
from tests.engine.results.rows import class_rows


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
    view.corrections.correct([5], ["neutral"])
    qtbot.waitUntil(lambda: gold_cell(view) == "good → neutral")
    assert opened.editing.state.rows[11].cells == {"label": "neutral"}
    assert stored_edits(studio, dataset) == {11: {"label": "neutral"}}
    opened.editing.state.stack.undo()
    opened.editing.state.write()
    view.corrections.read()
    qtbot.waitUntil(lambda: gold_cell(view) == "good")
    opened.editing.state.is_saving = True  # edits would be lost with the version
    view.corrections.correct([5], ["neutral"])
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


def test_several_labels_are_chosen_in_a_list(studio, qtbot, tmp_path):
    flags = Mapping(text="text", flags=("new", "old"))
    dataset = store(studio, "text,new,old\na,1,0\nb,1,1\n", flags, "flags")
    stored = find_rows(studio, predictions_of(dataset, ["new", "new, old"], ["old", "new"]))
    assert stored is not None and stored.has_sets and stored.parse("new, old") == ("new", "old")
    assert stored.cells(["old"]) == {"new": "0", "old": "1"}
    chosen = []
    view = open_results(studio, qtbot, results_source(tmp_path))
    ask_for_label(view, stored, 1, ["old"], chosen.append)
    question(qtbot).buttons["correct"].click()
    assert chosen == [["old"]]


def test_tags_are_corrected_in_the_data_set(studio):
    text = "text,tags\nAda lives,B-PER O\nin Rome,O B-LOC\n"
    dataset = store(studio, text, Mapping(text="text", tags="tags"), "names")
    stored = find_rows(studio, predictions_of(dataset, ["O", "O"], ["O", "O"]))
    assert stored is not None and not stored.can_correct


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
