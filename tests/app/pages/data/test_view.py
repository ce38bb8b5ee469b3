"""The Data page as a whole: its list, drops, the sample, sources that change."""

import json
import os
import shutil
import threading

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QGuiApplication

from app.pages.data import state
from app.pages.data.state import DataState, source_state
from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.files.shipped import sample_data
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.pages.data.dataset.test_view import open_view, store

PATIENCE = 30_000  # ms


def marks(page) -> list[str]:
    model = page.list.list.cards
    return [model.rows[row].mark for row in range(model.rowCount())]


def test_an_empty_page_offers_the_sample_one_click_away(page, qtbot):
    assert page.list.empty.isVisible()
    assert page.list.first_sample.isVisible()
    assert_accessible(page)
    assert_distinct_keys(page)
    assert sample_data().is_file()
    qtbot.mouseClick(page.list.first_sample, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: page.dataset.state.dataset is not None, timeout=PATIENCE)
    assert len(page.dataset.state.spec.labels) == 10
    page.show_list()
    qtbot.waitUntil(lambda: bool(page.state.all_entries()), timeout=PATIENCE)
    assert page.state.has_sample()
    assert not page.list.sample.isVisible()


def test_a_data_set_is_listed_and_opened(qtbot, page, studio, reviews, qtmodeltester):
    store(page, reviews)
    studio.datasets_changed.emit()
    qtbot.waitUntil(page.list.list.isVisible, timeout=PATIENCE)
    assert_distinct_keys(page)
    model = page.list.list.cards
    text = model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "reviews" in text
    assert "120 rows" in text
    assert "reviews.csv" in text
    qtmodeltester.check(model)
    page.list.list.setFocus()
    qtbot.keyClick(page.list.list, Qt.Key.Key_Return)
    assert page.stack.currentWidget() is page.dataset


def test_a_source_that_changes_is_marked(qtbot, page, studio, reviews):
    view = open_view(qtbot, page, reviews)
    qtbot.waitUntil(lambda: page.state.sources.get(view.state.folder) == "same", timeout=PATIENCE)
    assert "Unchanged" in view.details.facts.values["Source status"].text()
    reviews.write_text(reviews.read_text() + "one more,1\n")
    studio.datasets_changed.emit()
    qtbot.waitUntil(lambda: marks(page) == ["Source changed"], timeout=PATIENCE)
    assert "Changed since" in view.details.facts.values["Source status"].text()
    reviews.unlink()
    studio.datasets_changed.emit()
    qtbot.waitUntil(
        lambda: "No longer available" in view.details.facts.values["Source status"].text(),
        timeout=PATIENCE,
    )


def test_a_source_is_read_again_only_when_it_changed(page, reviews):
    spec = open_dataset(store(page, reviews)).spec
    digests: dict = {}
    assert source_state(spec, digests) == "same"
    (key,) = digests
    digests[key] = "another digest"
    assert source_state(spec, digests) == "changed", "the known digest was used"


def test_data_can_be_dropped_and_other_files_are_ignored(page, tmp_path, write, qtbot):
    model = write("model/config.json", "{}").parent
    run = write("run/spec.json", "{}").parent
    (run / "checkpoints").mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    for other in (model, run, empty, model / "config.json"):
        assert not page.accept_drop([other])
    rows = "text,label\nlong,0\nshort,1\n"
    folder = write("films/train.csv", rows).parent
    write("films/dev.csv", rows)
    assert page.accept_drop([folder])
    qtbot.waitUntil(lambda: page.importing.state.preview is not None, timeout=PATIENCE)
    assert page.importing.state.name == "films"
    assert page.accept_drop([write("one.jsonl", '{"text": "a b c", "label": "x"}\n')])
    qtbot.waitUntil(lambda: page.importing.state.name == "one", timeout=PATIENCE)


def test_stored_versions_from_other_folders_are_imported(qtbot, page, studio, reviews, tmp_path):
    folder = store(page, reviews)
    external = folder.parents[2] / "away"
    shutil.move(folder, external)
    spec = json.loads((external / "spec.json").read_text())
    spec["fingerprint"] = "0" * 64
    (external / "spec.json").write_text(json.dumps(spec))
    assert page.accept_drop([external])
    qtbot.waitUntil(lambda: bool(studio.notices.shown), timeout=PATIENCE)
    assert "damaged" in studio.notices.shown[-1].problem
    assert page.dataset is None
    shutil.rmtree(studio.home.datasets / "reviews")
    external = tmp_path / "usb" / "reviews"
    external.parent.mkdir()
    shutil.move(store(page, reviews), external)
    shutil.rmtree(studio.home.datasets / "reviews")
    assert page.accept_drop([external])
    qtbot.waitUntil(lambda: page.dataset is not None, timeout=PATIENCE)
    assert page.dataset.state.folder.is_relative_to(studio.home.datasets)
    open_dataset(page.dataset.state.folder).verify()


def test_a_damaged_folder_is_listed_with_its_problem(qtbot, page, studio):
    folder = studio.home.datasets / "broken" / "1"
    folder.mkdir(parents=True)
    (folder / "spec.json").write_text("{}")
    studio.datasets_changed.emit()
    qtbot.waitUntil(lambda: marks(page) == ["Damaged"], timeout=PATIENCE)


def test_tables_and_files_are_pasted_but_an_empty_clipboard_is_not(qtbot, page, studio, reviews):
    announcements = []
    studio.notices.added.connect(lambda notice: announcements.append(notice.problem))
    QGuiApplication.clipboard().setText(" ")
    page.paste()
    qtbot.waitUntil(lambda: any("clipboard has no text" in text for text in announcements))
    content = QMimeData()
    content.setUrls([QUrl.fromLocalFile(str(reviews))])
    QGuiApplication.clipboard().setMimeData(content)
    page.paste()
    qtbot.waitUntil(lambda: page.importing.state.files == [reviews], timeout=PATIENCE)
    rows = "".join(f"a text, number {n}\t{'ab'[n % 2]}\r\n" for n in range(20))
    QGuiApplication.clipboard().setText(f"text\tlabel\r\n{rows}")
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    state = page.importing.state
    qtbot.waitUntil(
        lambda: bool("Pasted" in state.name and state.count.split_rows), timeout=PATIENCE
    )
    assert page.stack.currentWidget() is page.importing
    assert state.name == "Pasted table" and state.reading.format == "tsv"
    assert state.preview.columns == ("text", "label") and len(state.preview.table.rows) == 20
    assert state.files[0].is_relative_to(studio.home.cache)


def test_a_named_pipe_counts_as_missing(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("text,label\na,b\nc,d\n")
    mapping = Mapping(text="text", label="label")
    spec = import_dataset("a", {"all": source}, Reading(), mapping, Split(), tmp_path / "into")
    assert source_state(spec, {}) == "same"
    source.unlink()
    os.mkfifo(source)
    assert source_state(spec, {}) == "missing"


def test_a_source_on_a_dead_drive_blocks_one_thread_only(qtbot, studio, monkeypatch):
    waiting, resume, calls = threading.Event(), threading.Event(), []

    def hang(spec: object, _digests: object) -> str:
        calls.append(spec)
        waiting.set()
        resume.wait(60)
        return "same"

    source = studio.home.root / "a.csv"
    source.write_text("text,label\na,b\nc,d\n")
    folder = studio.home.datasets / "a" / "1"
    import_dataset("a", {"all": source}, Reading(), Mapping(text="text"), Split(), folder)
    monkeypatch.setattr(state, "source_state", hang)
    data_state = DataState(studio)
    data_state.read_list()
    qtbot.waitUntil(waiting.is_set)
    for _ in range(3):
        with qtbot.waitSignal(data_state.listed):
            data_state.read_list()
    assert len(calls) == 1
    resume.set()
    qtbot.waitUntil(lambda: data_state.sources == {folder: "same"} and len(calls) == 2)
