"""Rows are handed out, coded under another name, handed in and taken in, on the Data page."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.pages.data.dataset.packets.fields import ROWS
from app.pages.data.dataset.view import DatasetView
from app.pages.data.view import DataPage, file_patterns
from app.widgets import dialogs
from app.widgets.forms.controls import ComboBox
from app.widgets.forms.label_keys import LabelKeys
from app.widgets.text.labels import TextView
from engine.config.codebook import Code, Codebook
from engine.data.datasets.packets import read_packet, write_packet
from engine.data.datasets.store import open_dataset
from engine.messages.labelling import LabelsSuggested, Suggestion, SuggestLabels
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.asking import question
from tests.app.pages.data.dataset.test_coding import open_coded
from tests.app.pages.data.dataset.test_view import PATIENCE

SETS = Codebook(kind="labels", codes=(Code(label="price"), Code(label="staff")))


@pytest.fixture
def saved(monkeypatch, tmp_path) -> Path:
    """Answers each question for a file to save with this file."""
    file = tmp_path / "saved.packet"
    ask = lambda owner, title, name, suffixes, save: save(file)  # noqa: E731
    monkeypatch.setattr(dialogs, "ask_for_file", ask)
    return file


def hand_out(qtbot, view: DatasetView, file: Path, **chosen: str | int) -> None:
    """Answer the question of what to hand out, and wait for the file."""
    view.packets.card.hand_out.click()
    asked = question(qtbot, "Hand rows out")
    fields = view.packets.fields
    assert not asked.buttons["hand out"].isEnabled(), "no coder is named"
    fields.coders.setText(str(chosen.get("coders", "Anna; Ben")))
    fields.rows.setValue(int(chosen.get("rows", 20)))
    fields.overlap.setValue(int(chosen.get("overlap", 10)))
    for name in ("pool", "suggested"):
        box, text = getattr(fields, name), str(chosen.get(name, ""))
        box.setCurrentIndex(next(n for n in range(box.count()) if text in box.itemText(n)))
    assert_accessible(asked)
    asked.buttons["hand out"].click()
    qtbot.waitUntil(file.is_file, timeout=PATIENCE)


def open_packet(qtbot, page: DataPage, file: Path, coder: str) -> DatasetView:
    """Open the packet as this coder, or “” for the only one; a row is selected for the keys."""
    before = page.dataset
    page.accept_drop([file])
    if coder:
        asked = question(qtbot, "Code the rows of")
        box = asked.findChild(ComboBox)
        box.setCurrentIndex(box.findText(coder))
        asked.buttons["open"].click()
    coder = coder or read_packet(file).packet.coders[0]
    qtbot.waitUntil(lambda: page.dataset is not before and is_of(page, coder), timeout=PATIENCE)
    view = page.dataset
    page.activateWindow()  # a dialog was open
    qtbot.waitUntil(lambda: view.table.hasFocus() and bool(view.editing.selected()))
    return view


def is_of(page: DataPage, coder: str) -> bool:
    state = page.dataset.state if page.dataset is not None else None
    if state is None or state.dataset is None:
        return False
    packet = state.spec.packet
    return (packet.coder if packet is not None else "") == coder


def test_a_packet_goes_out_is_coded_by_two_and_comes_back(
    qtbot, page, studio, reviews, saved, tmp_path, screen
):
    view = open_coded(qtbot, page, reviews)
    folder, card = view.state.folder, view.packets.card
    assert card.take_in.isVisibleTo(view) and not card.hand_in.isVisibleTo(view)
    assert_distinct_keys(view, LabelKeys)
    view.packets.card.hand_out.click()
    asked = question(qtbot, "Hand rows out")
    fields = view.packets.fields
    assert fields.rows.value() == min(ROWS, 120) and fields.pool.count() == 2
    assert fields.suggested.count() == 2, "no row has a label, but a model can suggest some"
    fields.coders.setText("Anna, Ben")
    assert "120 rows are needed" in fields.sentence.text() or "140" in fields.sentence.text()
    fields.rows.setValue(20)
    fields.overlap.setValue(10)
    sentence = "30 of 120 rows are drawn at random: 10 for all, and 10 for each coder."
    assert fields.sentence.text() == sentence
    gap = fields.rows.y() - fields.pool.geometry().bottom()
    assert gap < fields.pool.height() / 2, "the hidden check box leaves no row"
    screen(asked, "hand-out")
    asked.buttons["cancel"].click()
    hand_out(qtbot, view, saved)
    packet = saved.rename(tmp_path / "out.packet")
    assert "*.packet" in file_patterns()
    files = []
    for coder, key in (("Anna", Qt.Key.Key_1), ("Ben", Qt.Key.Key_S)):
        view = open_packet(qtbot, page, packet, coder)
        assert view.packets.card.hand_in.isVisibleTo(view) and len(view.state.indices) == 20
        assert not view.editing.review.suggestions and not view.editing.card.isVisibleTo(view)
        qtbot.keyClick(view.table, Qt.Key.Key_Exclam)
        for _ in range(3):
            qtbot.keyClick(view.table, key)
        assert view.packets.card.text.text() == f"3 of 20 rows of “reviews” coded by {coder}."
        screen(view, f"packet-of-{coder}")
        view.packets.card.hand_in.click()
        qtbot.waitUntil(saved.is_file, timeout=PATIENCE)
        files.append(saved.rename(tmp_path / f"{coder}.packet"))
        coded = read_packet(files[-1]).rows
        assert len(coded) == 3 and coded[0].coding.flagged
        assert {(row.coding.coder, row.coding.drawn) for row in coded} == {(coder, "random")}
    reopened = open_packet(qtbot, page, packet, "Ben")
    assert reopened.state.folder == view.state.folder, "a packet is opened once"
    assert page.accept_drop(files)
    found = question(qtbot, "Take codes in")
    screen(found, "take-in")
    found.buttons["take in"].click()
    qtbot.waitUntil(lambda: page.dataset.state.folder == folder.parent / "3", timeout=PATIENCE)
    version = open_dataset(folder.parent / "3")
    assert version.spec.mapping.coders == ("Anna", "Ben")
    assert {*version.column("Ben").to_pylist()} == {"staff", ""}
    qtbot.waitUntil(lambda: page.dataset.state.dataset is not None, timeout=PATIENCE)
    page.dataset.packets.take_in(files)
    qtbot.waitUntil(lambda: "Nothing changes" in shown_notice(studio), timeout=PATIENCE)
    page.dataset.packets.take_in([packet])
    qtbot.waitUntil(lambda: "no codes yet" in shown_notice(studio), timeout=PATIENCE)
    packet.write_bytes(packet.read_bytes()[:-9])
    page.import_from([packet, packet.with_name("more.csv")])
    assert any("more.csv" in notice.as_text() for notice in studio.notices.shown)
    qtbot.waitUntil(lambda: "damaged" in shown_notice(studio), timeout=PATIENCE)


def shown_notice(studio) -> str:
    return studio.notices.shown[-1].as_text() if studio.notices.shown else ""


def test_conflicts_are_listed_before_and_after_they_are_taken_in(
    qtbot, page, studio, reviews, saved, tmp_path
):
    view = open_coded(qtbot, page, reviews)
    origin = view.state.folder
    hand_out(qtbot, view, saved, coders="Anna", rows=120, overlap=0)
    packet = saved.rename(tmp_path / "out.packet")
    coder = open_packet(qtbot, page, packet, "")
    for key in (Qt.Key.Key_1, Qt.Key.Key_S):
        coder.table.selectRow(0)
        qtbot.keyClick(coder.table, key)
        coder.packets.card.hand_in.click()
        qtbot.waitUntil(saved.is_file, timeout=PATIENCE)
        line = read_packet(saved).rows[0].line
        page.accept_drop([saved])
        asked = question(qtbot, "Take codes in")
        conflicts = asked.findChild(TextView)
        before = page.dataset
        if key == Qt.Key.Key_S:
            text = f"Line {line}: Anna coded this row as “price” and later as “staff”"
            assert text in conflicts.toPlainText()
        else:
            assert conflicts is None
        asked.buttons["take in"].click()
        qtbot.waitUntil(lambda: page.dataset is not before, timeout=PATIENCE)  # noqa: B023
        qtbot.waitUntil(lambda: page.dataset.state.dataset is not None, timeout=PATIENCE)
        if key == Qt.Key.Key_1:
            saved.unlink()
            coder = open_packet(qtbot, page, packet, "")
    last = page.dataset
    assert last.state.folder == origin.parent / "4"
    qtbot.waitUntil(lambda: last.finding_text.text() == "Rows with conflicts", timeout=PATIENCE)
    lines = open_dataset(last.state.folder).column("_line").to_pylist()
    assert last.state.indices.tolist() == [lines.index(line)]


def test_rows_with_coders_are_left_out_until_they_are_called_back(
    qtbot, page, reviews, saved, screen
):
    view = open_coded(qtbot, page, reviews)
    editing, card = view.editing, view.packets.card
    reserved, keys = editing.state.reserved, editing.keys
    assert not card.call_back.isVisibleTo(view)
    hand_out(qtbot, view, saved, rows=40, overlap=20)
    qtbot.waitUntil(lambda: len(reserved.rows) == 60)
    assert card.text.text() == "Rows with coders: Anna 40, Ben 40."
    page.activateWindow()  # a dialog was open
    # keys do not label such a row until it is released, and pass by it
    first, free = int(reserved.rows[0]), np.setdiff1d(np.arange(120), reserved.rows)
    view.table.selectRow(first)
    view.table.setFocus()
    qtbot.waitUntil(view.table.hasFocus)
    assert editing.reserved.isVisibleTo(view) and not keys.isVisibleTo(view)
    mark = view.model.index(first, view.model.mark_column)
    assert f"With {', '.join(reserved.coders(first))}" in editing.reserved.text.text()
    assert view.model.data(mark).startswith("with ")
    assert_distinct_keys(view, LabelKeys)
    screen(view, "reserved")
    qtbot.keyClick(view.table, Qt.Key.Key_1)
    assert not editing.state.rows and editing.selected() == [first]
    qtbot.mouseClick(editing.reserved.pass_by, Qt.MouseButton.LeftButton)
    (passed,) = editing.selected()
    assert passed == free[free > first][0] and keys.isVisibleTo(view)
    qtbot.keyClick(view.table, Qt.Key.Key_1)
    assert [*editing.state.rows] == [passed] and editing.selected() == [free[free > passed][0]]
    view.table.selectRow(first)
    qtbot.mouseClick(editing.reserved.release, Qt.MouseButton.LeftButton)
    assert keys.isVisibleTo(view) and not editing.reserved.isVisibleTo(view)
    qtbot.keyClick(view.table, Qt.Key.Key_S)
    assert {*editing.state.rows} == {first, passed} and len(reserved.rows) == 59
    editing.review.label_rows("file")
    qtbot.waitUntil(lambda: editing.review.kind == "labels")
    assert view.state.indices.tolist() == [row for row in free.tolist() if row != passed]
    editing.state.discard()
    # neither are they handed out again, unless wanted
    card.hand_out.click()
    asked, fields = question(qtbot, "Hand rows out"), view.packets.fields
    assert fields.pool.itemText(0) == "Rows without a label (61)"
    fields.coders.setText("Cem")
    assert fields.sentence.text() == "61 of 61 rows are drawn at random."
    fields.again.setChecked(True)
    assert fields.sentence.text() == "61 of 120 rows are drawn at random."
    screen(asked, "hand-out-again")
    asked.buttons["cancel"].click()
    card.call_back.click()
    asked = question(qtbot, "Call rows back")
    box = asked.findChild(ComboBox)
    assert [box.itemText(n) for n in range(3)] == [
        "Anna: 40 row(s)",
        "Ben: 40 row(s)",
        "All coders",
    ]
    assert_accessible(asked)
    screen(asked, "call-back")
    box.setCurrentIndex(1)
    asked.buttons["call back"].click()
    qtbot.waitUntil(lambda: card.text.text() == "Rows with coders: Anna 40.")
    editing.codebook.menu.aboutToShow.emit()
    action = editing.codebook.menu.actions()[-1]
    assert action.text() == f"With coders ({len(reserved.rows)})"
    action.trigger()
    assert view.state.indices.tolist() == reserved.rows.tolist()


def test_each_label_column_has_its_own_keys_packets_and_agreement(
    qtbot, page, reviews, saved, tmp_path, screen
):
    view = open_coded(qtbot, page, reviews)
    with qtbot.waitSignal(view.editing.state.saved):
        view.editing.state.save("parts", Codebook(kind="spans", codes=(Code(label="FILM"),)))
    qtbot.waitUntil(lambda: page.dataset is not view and page.dataset.state.dataset is not None)
    view = page.dataset
    editing, box, packet = view.editing, view.labels.target.box, tmp_path / "out.packet"
    qtbot.waitUntil(view.packets.card.hand_out.isVisible)
    assert [box.itemText(n) for n in range(box.count())][:2] == ["parts", "topic"]
    assert editing.words_area.isVisibleTo(view) and editing.keys.labels == ("FILM",)
    box.setCurrentIndex(1)
    box.activated.emit(1)
    assert not editing.words_area.isVisibleTo(view) and view.row_text.isVisibleTo(view)
    assert editing.keys.labels == ("price", "staff")
    hand_out(qtbot, view, saved, rows=12, overlap=12)
    qtbot.waitUntil(lambda: len(editing.state.reserved.rows) == 12)
    saved.rename(packet)
    assert read_packet(packet).packet.column == "topic"
    returned = []
    for coder, label in (("Anna", "price"), ("Ben", "staff")):
        content = read_packet(packet)
        rows = [
            row._replace(coders=(coder,), code=label if n < 4 else "price")
            for n, row in enumerate(content.rows)
        ]
        done = content.packet.model_copy(update={"coder": coder})
        returned.append(tmp_path / f"{coder}.packet")
        write_packet(returned[-1], content._replace(packet=done, rows=tuple(rows)))
    box.setCurrentIndex(0)
    box.activated.emit(0)
    assert editing.words_area.isVisibleTo(view)
    qtbot.waitUntil(lambda: not len(editing.state.reserved.rows))
    view.packets.take_in(returned)  # the packets know their column
    question(qtbot, "Take codes in").buttons["take in"].click()
    qtbot.waitUntil(lambda: page.dataset is not view, timeout=PATIENCE)
    view = page.dataset
    qtbot.waitUntil(lambda: view.state.dataset is not None and view.table.model() is not None)
    assert not view.agreement.card.isVisibleTo(view), "nobody coded “parts”"
    view.state.choose_target("topic")
    qtbot.waitUntil(lambda: view.agreement.state.measured is not None)
    assert view.agreement.card.isVisibleTo(view)
    assert len(view.agreement.state.open_rows({})) == 4
    screen(view, "target-agreement")
    row = int(view.agreement.state.open_rows({})[0])
    view.table.selectRow(row)
    view.agreement._use_code_of(1)
    assert view.editing.state.rows[row].cells == {"topic": "staff"}


def test_suggestions_of_a_model_are_accepted_by_enter(
    qtbot, page, reviews, saved, one_time_workers
):
    view = open_coded(qtbot, page, reviews)
    view.packets.card.hand_out.click()
    asked, fields = question(qtbot, "Hand rows out"), view.packets.fields
    fields.coders.setText("Anna")
    fields.rows.setValue(6)
    fields.suggested.setCurrentIndex(fields.suggested.findData("model"))
    asked.buttons["hand out"].click()
    sent = one_time_workers[0].question
    assert isinstance(sent, SuggestLabels) and len(sent.rows) == 6
    items = tuple(Suggestion(row=row, label="staff", probability=0.5) for row in sent.rows)
    one_time_workers[0].done(LabelsSuggested(suggestions=items, rows=6))
    qtbot.waitUntil(saved.is_file, timeout=PATIENCE)
    coder = open_packet(qtbot, page, saved, "")
    qtbot.waitUntil(lambda: len(coder.editing.review.suggestions) == 6, timeout=PATIENCE)
    qtbot.keyClick(coder.table, Qt.Key.Key_Return)
    edits = coder.editing.state
    assert [edit.cells for edit in edits.rows.values()] == [{"topic": "staff"}]
    (entry,) = (edit.coding["topic"] for edit in edits.rows.values())
    assert (entry.coder, entry.suggestion, entry.drawn) == ("Anna", "staff", "random")


def test_labels_that_rows_have_are_suggested_also_sets(qtbot, page, studio, reviews, saved):
    view = open_coded(qtbot, page, reviews, SETS)
    view.editing.state.set_cells([0, 1], "topic", ['["price","staff"]', "[]"])
    view.packets.card.hand_out.click()
    assert view.editing.state.is_edited and not hasattr(view.packets, "fields"), "saved first"
    with qtbot.waitSignal(view.editing.state.saved):
        view.editing.state.save()
    qtbot.waitUntil(lambda: page.dataset is not view and page.dataset.state.dataset is not None)
    view = page.dataset
    qtbot.waitUntil(view.packets.card.hand_out.isVisible)
    hand_out(qtbot, view, saved, coders="Anna", rows=120, overlap=0, pool="All", suggested="have")
    suggested = {row.line: row.coding.suggestion for row in read_packet(saved).rows}
    lines = open_dataset(view.state.folder).column("_line").to_pylist()
    assert {line for line, label in suggested.items() if label} == {*lines[:2]}
    page.accept_drop([saved])
    qtbot.waitUntil(lambda: is_of(page, "Anna"), timeout=PATIENCE)
    coder = page.dataset
    qtbot.waitUntil(lambda: len(coder.editing.review.suggestions) == 2, timeout=PATIENCE)
    row = next(r for r, s in coder.editing.review.suggestions.items() if "price" in s.label)
    coder.table.selectRow(int(np.flatnonzero(coder.state.indices == row)[0]))
    qtbot.keyClick(coder.table, Qt.Key.Key_Return)
    assert coder.editing.state.rows[row].cells == {"topic": '["price","staff"]'}
