"""History of inputs: nothing is overwritten or lost."""

import json

import pytest
from PySide6.QtCore import Qt

from app.pages.explore.model_input import TextInput
from app.pages.explore.panels.history import state as module
from app.pages.explore.panels.history.state import Entry, History
from app.pages.explore.panels.history.view import HistoryView
from tests.app.accessible import assert_accessible

MASKED = TextInput("a dog", None, (frozenset({(2, 5)}), frozenset()))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "inputs.json"


@pytest.fixture
def make(explore, file, workshop, wait):
    """`make()` reads the history as a new window does."""

    def open_history() -> History:
        history = History(explore, file, workshop.notices)
        wait(lambda: history._is_loaded)
        return history

    return open_history


@pytest.fixture
def history(make) -> History:
    return make()


@pytest.fixture
def view(qtbot, history) -> HistoryView:
    view = HistoryView(history)
    qtbot.addWidget(view)
    view.resize(300, 400)
    view.show()
    return view


def show_texts(explore, wait, *texts):
    """Show each text until it is settled."""
    for text in texts:
        explore.set_texts(text)
        wait(lambda: explore.is_settled)


def texts(history):
    return [entry.input.text for entry in history.entries]


def test_a_settled_input_becomes_an_entry_and_an_edit_another(explore, history, wait):
    assert texts(history) == []
    history._entry_timer.setInterval(1)
    show_texts(explore, wait, "the cat.")
    wait(lambda: texts(history) == ["the cat."])
    show_texts(explore, wait, "the cat. sat")
    wait(lambda: texts(history) == ["the cat. sat", "the cat."])
    explore.toggle_mask(1)
    wait(lambda: len(history.entries) == 3)
    assert history.entries[0].input.masks[0] == {(0, 3)}


def test_entries_are_restored_at_the_next_start(explore, history, make, wait, file):
    explore.set_input(MASKED)
    history.add_input()
    history.pin(history.entries[0], True)
    show_texts(explore, wait, "<b>%s</b> \u202eשלום\u202c 😀")
    history.add_input()
    history.flush()
    reopened = make()
    assert reopened.entries == history.entries
    assert reopened.entries[1].input == MASKED
    assert reopened.entries[1].pinned
    assert json.loads(file.read_text("utf-8"))[1]["input"]["masks"] == [[[2, 5]], []]


def test_an_entry_is_saved_and_the_same_input_moves_to_the_top(explore, history, wait, file):
    history.add_input()
    wait(file.exists)
    wait(lambda: "the cat sat" in file.read_text("utf-8"))
    for text in ("the cat", "a dog", "the cat"):
        show_texts(explore, wait, text)
        history.add_input()
    assert texts(history) == ["the cat", "a dog", "the cat sat"]
    explore.set_texts("   ")
    history.add_input()
    assert texts(history) == ["the cat", "a dog", "the cat sat"]


def test_pinned_entries_stay_beyond_the_limit(explore, history, monkeypatch):
    monkeypatch.setattr(module, "MAX_ENTRIES", 3)
    explore.set_input(MASKED)
    history.add_input()
    history.pin(history.entries[0], True)
    for number in range(6):
        explore.set_texts(f"cat {number}")
        history.add_input()
    assert texts(history) == ["cat 5", "cat 4", "cat 3", "a dog"]


def test_a_removal_can_be_undone(explore, history, workshop, wait):
    for text in ("one", "two", "three"):
        show_texts(explore, wait, text)
        history.add_input()
    middle = history.entries[1]
    history.remove(middle)
    assert texts(history) == ["three", "one"]
    notice = workshop.notices.shown[-1]
    assert notice.action == "Undo"
    notice.act()
    assert texts(history) == ["three", "two", "one"]


@pytest.mark.parametrize("content", [b"{", b"[{}]", b'[{"input": {"text": 3}}]', b"\xff\xfe"])
def test_a_damaged_file_is_renamed_and_reported(explore, file, workshop, wait, content):
    file.write_bytes(content)
    history = History(explore, file, workshop.notices)
    wait(lambda: workshop.notices.shown)
    assert "damaged" in workshop.notices.shown[0].problem
    assert file.with_name("inputs.json.bad").read_bytes() == content
    assert history.entries == []
    history.add_input()
    history.flush()
    assert "the cat sat" in file.read_text("utf-8")


def test_a_file_of_a_newer_version_is_read(explore, file, workshop, wait):
    stored = {"text": "a", "masks": [[[0, 1]], []], "language": "en"}
    file.write_text(json.dumps([{"input": stored, "colour": "red"}]))
    history = History(explore, file, workshop.notices)
    wait(lambda: history.entries)
    assert history.entries == [Entry(TextInput("a", None, (frozenset({(0, 1)}), frozenset())), "")]
    assert not workshop.notices.shown


def test_a_failed_save_is_reported(explore, history, workshop, wait, file):
    file.mkdir()
    history.add_input()
    wait(lambda: workshop.notices.shown)
    assert "inputs.json is a folder" in workshop.notices.shown[0].problem


def test_a_compared_entry_is_pinned(explore, history, wait):
    explore.set_input(MASKED)
    history.add_input()
    show_texts(explore, wait, "the cat")
    history.compare(history.entries[0])
    wait(lambda: explore.is_settled)
    assert history.entries[0].pinned
    assert [side.text for side in explore.sides] == ["the cat", "a dog"]
    assert explore.sides[1].masked == (2,)


# ── the list ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def full(view, explore, history, wait):
    """A view of ten inputs, the third pinned."""
    for number in range(10):
        explore.set_texts(f"cat {number} <b>&amp;</b>")
        history.add_input()
    history.pin(history.entries[2], True)
    return view


def test_enter_opens_delete_removes_and_the_selection_stays(qtbot, full, history, explore):
    opened = []
    history.explore.input_requested.connect(lambda entry: opened.append(entry.text[:5]))
    full.choose(1)
    qtbot.keyClick(full.list, Qt.Key.Key_Return)
    assert opened == ["cat 9"]
    full.choose(2)
    qtbot.keyClick(full.list, Qt.Key.Key_Delete)
    assert not any(text.startswith("cat 8") for text in texts(history))
    assert full.chosen() is not None
    full.choose(4)
    chosen = full.chosen().input
    explore.set_texts("another one")
    history.add_input()
    assert full.chosen().input == chosen
    full.pin.click()
    assert full.chosen().input == chosen
    assert full.chosen().pinned
    assert full.pin.text().replace("&", "") == "Unpin"


def test_tooltips_show_the_full_texts(view, explore, history):
    prefix = "the president spoke to the people of the united states of "
    for end in ("america", "mexico"):
        explore.set_texts(prefix + end, "who spoke?")
        history.add_input()
    tips = [view.entries.index(row, 0).data(Qt.ItemDataRole.ToolTipRole) for row in (0, 1)]
    assert [tip.split()[-3:] for tip in tips] == [
        ["mexico", "who", "spoke?"],
        ["america", "who", "spoke?"],
    ]


def test_pinned_entries_come_first_and_a_search_filters(full, set_theme, qtbot):
    assert_accessible(full)
    index = full.entries.index(0, 0)
    assert "pinned" in index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert full.entries.rows[0].input.text.startswith("cat 7")
    assert full.search.isVisible()
    qtbot.keyClicks(full.search, "3 CAT")
    assert [entry.input.text[:5] for entry in full.entries.rows] == ["cat 3"]
    qtbot.keyClicks(full.search, "x")
    assert full.empty_note.text() == "No matching inputs."


def test_a_sentence_typed_with_pauses_is_one_entry(explore, history, wait):
    for text in ("a", "a dog", "a dog sat", "a dog sat.", "a dog sat. the", "a dog sat. the cat"):
        show_texts(explore, wait, text)
        history.add_input()
    assert texts(history) == ["a dog sat. the cat", "a dog sat."]
    show_texts(explore, wait, "a dog")
    history.add_input()
    show_texts(explore, wait, "a dog sat")
    history.pin(history.entries[0], True)
    history.add_input()
    assert texts(history)[:2] == ["a dog sat", "a dog"], "a pinned entry stays"
