"""State of the sources of data sets, read outside the GUI thread."""

import os
import threading

from app.pages.data import state
from app.pages.data.state import DataState, source_state
from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.importing import import_dataset


def test_a_pipe_in_the_place_of_a_source_is_no_source(tmp_path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("text,label\na,b\nc,d\n")
    mapping = Mapping(text="text", label="label")
    spec = import_dataset("a", {"all": source}, Reading(), mapping, Split(), tmp_path / "into")
    assert source_state(spec, {}) == "same"
    source.unlink()
    os.mkfifo(source)
    assert source_state(spec, {}) == "missing"


def test_a_source_on_a_dead_drive_holds_one_thread_however_often_the_list_changes(
    qtbot, studio, monkeypatch
) -> None:
    waiting, go_on, calls = threading.Event(), threading.Event(), []

    def hangs(spec: object, _digests: object) -> str:
        calls.append(spec)
        waiting.set()
        go_on.wait(60)
        return "same"

    source = studio.home.root / "a.csv"
    source.write_text("text,label\na,b\nc,d\n")
    into = studio.home.datasets / "a" / "1"
    import_dataset("a", {"all": source}, Reading(), Mapping(text="text"), Split(), into)
    monkeypatch.setattr(state, "source_state", hangs)
    page = DataState(studio)
    page.read_list()
    qtbot.waitUntil(waiting.is_set)
    for _ in range(3):
        with qtbot.waitSignal(page.listed):
            page.read_list()
    assert len(calls) == 1
    go_on.set()
    qtbot.waitUntil(lambda: page.sources == {into: "same"} and len(calls) == 2)
