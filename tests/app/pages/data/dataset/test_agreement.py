"""Coders are compared on the page of a data set, and rows in dispute decided there."""

import getpass
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut

from app.pages.data.dataset.view import DatasetView
from app.studio import Studio
from app.widgets.forms.label_keys import LabelKeys
from app.window import PAGES
from engine.config.codebook import Code, Codebook
from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.asking import question

LABELS = ("joy", "fear", "anger", "love")


def opened(qtbot, studio: Studio, file: Path, mapping: Mapping) -> DatasetView:
    """Import a file and open its page, once the agreement is measured."""
    folder = studio.home.datasets / "answers" / "1"
    import_dataset("answers", {"all": file}, Reading(), mapping, Split(), folder)
    view = DatasetView(studio, folder)
    qtbot.addWidget(view)
    view.resize(1280, 800)
    view.show()
    qtbot.waitUntil(lambda: view.table.model() is not None)
    qtbot.waitUntil(lambda: view.agreement.state.measured is not None or not mapping.coders)
    return view


def coded_file(path: Path, coders: int, rows: int = 80) -> Path:
    """Rows of which the coders code a few differently, and the last one leaves some out."""
    rng = np.random.default_rng(5)
    lines = [",".join(["text", *("Anna", "Ben", "Cem")[:coders]])]
    for row in range(rows):
        codes = [LABELS[row % 4]] * coders
        if row % 7 == 3:
            codes[row // 7 % coders] = LABELS[int(rng.integers(4))]
        if row % 10 == 9:
            codes[-1] = ""
        lines.append(",".join([f"the answer with number {row}", *codes]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def two(qtbot, studio, tmp_path) -> DatasetView:
    file = coded_file(tmp_path / "two.csv", 2)
    return opened(qtbot, studio, file, Mapping(text="text", coders=("Anna", "Ben")))


def shown(view: DatasetView) -> list[int]:
    return view.state.indices.tolist()


def test_the_agreement_of_two_coders_selects_their_rows(qtbot, two, screen):
    card, dataset = two.agreement.card, two.state.stored
    first, second = (np.array(dataset.column(name).to_pylist()) for name in ("Anna", "Ben"))
    disputed = np.flatnonzero((first != second) & (second != ""))
    assert f"72 rows coded by two or more, {len(disputed)} in dispute" in card.summary.text()
    assert [line[0] for line in card.figures.rows][:3] == [
        "Agreement", "Krippendorff's alpha", "Cohen's kappa",
    ]  # fmt: skip
    assert not card.coders.isVisibleTo(two)
    matrix = card.matrix
    assert matrix.confusion.counts.sum() == 72 and matrix.confusion.labels == tuple(sorted(LABELS))
    cell = tuple(np.argwhere(np.triu(matrix.confusion.counts, 1))[0].tolist())
    matrix.pressed.emit(cell)
    a, b = (matrix.confusion.labels[n] for n in cell)
    assert shown(two) == np.flatnonzero((first == a) & (second == b)).tolist()
    assert two.finding_text.text() == f"Anna: {a} · Ben: {b}"
    card.rows_table.chosen.emit(card.rows.index(0, 1))
    label = card.rows.rows[0].name
    differ = ((first == label) != (second == label)) & (second != "")
    assert shown(two) == np.flatnonzero(differ).tolist()
    drawn = card.figure()
    assert drawn.title == "Labels of two coders" and drawn.table().header[0] == "Anna \\ Ben"
    assert_accessible(two)
    assert_distinct_keys(two, LabelKeys)
    screen(two, "agreement")


def test_rows_in_dispute_are_decided_by_keys_and_saved_with_who_decided(qtbot, two, studio):
    card, edits = two.agreement.card, two.editing.state
    rows = two.agreement.state.open_rows({}).tolist()
    assert card.decide.text() == f"&Decide {len(rows)} row(s)" and not card.majority.isVisibleTo(
        two
    )
    card.decide.click()
    keys = {shortcut.key().toString() for shortcut in two.table.findChildren(QShortcut)}
    assert {"Alt+1", "Alt+2"} <= keys and not keys & {page.keys for page in PAGES}
    assert shown(two) == rows and "Alt+1 “Anna”, Alt+2 “Ben”" in two.finding_text.text()
    qtbot.waitUntil(two.table.hasFocus)
    qtbot.waitUntil(lambda: two.table.currentIndex().row() == 0)
    header, columns = two.table.horizontalHeader(), (*two.state.columns,)
    places = [header.visualIndex(columns.index(x) + 2) for x in ("label", "Anna", "Ben", "text")]
    assert places == [2, 3, 4, 5], "both codes are visible, whatever the width of the text"
    qtbot.keyClick(two.table, Qt.Key.Key_2, Qt.KeyboardModifier.AltModifier)
    assert edits.rows[rows[0]].cells == {"label": two.state.stored.column("Ben")[rows[0]].as_py()}
    assert two.table.currentIndex().row() == 1
    qtbot.keyClick(two.table, Qt.Key.Key_1)
    assert [*edits.rows[rows[1]].cells] == ["label"]
    assert card.decide.text() == f"&Decide {len(rows) - 2} row(s)"
    two.state.choose_target("Anna")
    assert not card.decide.isVisibleTo(two), "the keys label the codes of Anna now"
    two.state.choose_target(None)
    qtbot.waitUntil(lambda: card.decide.isVisibleTo(two))
    with qtbot.waitSignal(edits.saved) as saved:
        edits.save()
    spec = open_dataset(saved.args[0]).spec
    user = getpass.getuser()
    assert str(spec.changes[0]).startswith(f"2 rows in dispute decided by {user}; with the label")
    assert spec.mapping.coders == ("Anna", "Ben") and sum(spec.unlabelled.values()) == len(rows) - 2


def test_a_renamed_label_is_renamed_in_the_codes_of_coders(two):
    edits, dataset = two.editing.state, two.state.stored
    codes = [Code(label=label) for label in ("delight", *LABELS[1:])]
    edits.change_codebook(Codebook(codes=tuple(codes)), {"joy": "delight"})
    for name in ("Anna", "Ben", "label"):
        rows = [row for row, cell in enumerate(dataset.column(name).to_pylist()) if cell == "joy"]
        renamed = [row for row, edit in edits.rows.items() if edit.cells.get(name) == "delight"]
        assert rows == sorted(renamed)
    edits.stack.undo()
    assert not edits.rows


def test_of_three_coders_pairs_are_compared_and_the_majority_decides(
    qtbot, studio, tmp_path, screen
):
    file = coded_file(tmp_path / "three.csv", 3)
    view = opened(qtbot, studio, file, Mapping(text="text", coders=("Anna", "Ben", "Cem")))
    card, state = view.agreement.card, view.agreement.state
    assert [card.coders.itemText(n) for n in range(4)] == [
        "All coders", "Anna – Ben", "Anna – Cem", "Ben – Cem",
    ]  # fmt: skip
    assert card.matrix.confusion.labels == ("Anna", "Ben", "Cem")
    card.matrix.pressed.emit((0, 1))
    assert shown(view) == state.measured.table.pairs[0].disputed.tolist()
    screen(view, "agreement-of-three")
    card.coders.setCurrentIndex(2)
    assert card.matrix.titles == ("Anna", "Cem") and "Anna, Cem: 72 rows" in card.summary.text()
    rows = state.open_rows({})
    decided = [int(row) for row in rows if state.measured.majority[row]]
    card.majority.click()
    question(qtbot).buttons["decide"].click()
    edits = view.editing.state
    assert sorted(edits.rows) == decided
    entries = [edits.rows[row].coding["label"] for row in decided]
    assert {(entry.coder, entry.note) for entry in entries} == {(getpass.getuser(), "by majority")}
    view.editing.state.stack.undo()
    assert not view.editing.state.rows and card.majority.isVisibleTo(view)


def test_data_without_coders_have_no_card(qtbot, studio, tmp_path):
    file = coded_file(tmp_path / "one.csv", 1)
    view = opened(qtbot, studio, file, Mapping(text="text", label="Anna"))
    assert not view.agreement.card.isVisibleTo(view)


def test_tags_of_two_coders_are_decided_as_a_whole(qtbot, studio, tmp_path):
    rows = [("O B-PER", "O B-PER"), ("B-LOC O", "O O"), ("B-PER O", "B-LOC O"), ("O O", "O O")] * 6
    lines = ["tokens,A,B", *(f"word{n} other,{a},{b}" for n, (a, b) in enumerate(rows))]
    file = tmp_path / "tags.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mapping = Mapping(text="tokens", tags="A", coders=("A", "B"))
    view = opened(qtbot, studio, file, mapping)
    card, edits = view.agreement.card, view.editing.state
    assert [line[0] for line in card.figures.rows] == ["F1 of spans", "Agreement"]
    assert not card.matrix.isVisibleTo(view) and card.figure().title == "Agreement of coders"
    assert [row.name for row in card.rows.rows] == ["LOC", "PER"]
    card.rows_table.chosen.emit(card.rows.index(1, 0))
    assert shown(view) == list(range(2, 24, 4))
    card.decide.click()
    assert shown(view) == sorted([*range(1, 24, 4), *range(2, 24, 4)])
    qtbot.waitUntil(lambda: view.table.currentIndex().row() == 0 and view.table.hasFocus())
    qtbot.keyClick(view.table, Qt.Key.Key_1, Qt.KeyboardModifier.AltModifier)
    assert edits.rows[1].cells == {"tags": "B-LOC O"}
    assert view.table.currentIndex().row() == 1
