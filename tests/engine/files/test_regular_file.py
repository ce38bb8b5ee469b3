"""Files are checked before they are read: no pipe blocks, no device is read to its end."""

import io
import os
from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.files import regular_file
from engine.files.regular_file import iter_lines, open_regular, read_json, read_regular
from engine.messages.events import Noted
from engine.runs.folder import RunFolder
from engine.runs.lock import is_held, open_here
from engine.system.errors import explain_error
from tests.engine.training.small import classifying, new_run

IRREGULAR = ("pipe", "device", "endless", "folder", "socket")


def create(path: Path, kind: str) -> Path:
    """Create a file at `path` that is irregular or far too large."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "endless":
            with open(path, "wb") as file:
                file.truncate(6 << 30)  # takes no space
        case "folder":
            path.mkdir()
        case "socket":
            os.mknod(path, 0o140600)
    return path


@pytest.mark.parametrize("kind", IRREGULAR)
def test_nothing_but_a_plain_file_within_the_limit_is_read(tmp_path, kind):
    path = create(tmp_path / "file", kind)
    for read in (read_regular, read_json):
        with pytest.raises(OSError, match="Errno") as caught:
            read(path)
        error = explain_error(caught.value)
        assert (
            error is not None
            and str(path) in error.problem
            and "cannot be used" not in error.problem
        )


def test_size_limits_and_links(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"[1]")
    link = tmp_path / "link"
    link.symlink_to(file)
    assert read_json(link) == [1] and read_regular(file, 3) == b"[1]"
    with pytest.raises(OSError, match="Errno"):
        read_regular(file, 2)
    with pytest.raises(OSError, match="Errno"):
        open_regular(link, follows_links=False)


def test_deep_json_is_a_value_error(tmp_path):
    file = tmp_path / "deep.json"
    file.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="deep"):
        read_json(file)


def test_a_line_above_the_limit_is_skipped(monkeypatch):
    monkeypatch.setattr(regular_file, "MAX_LINE", 5)
    content = b"one\n" + b"x" * 17 + b"\nfour\ntwo\nhalf"
    assert list(iter_lines(io.BufferedReader(io.BytesIO(content)))) == [
        b"one\n",
        b"four\n",
        b"two\n",
    ]


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return new_run(tmp_path / "run", classifying(tmp_path))


@pytest.mark.parametrize("kind", IRREGULAR)
def test_irregular_files_of_a_run_raise_immediately(run, kind):
    create(run.log, kind)
    assert len(run.log_end()) <= 4_000
    run.spec_file.unlink()
    create(run.spec_file, kind)
    with pytest.raises(StudioError, match="cannot be read"):
        run.job()
    create(run.events_file, kind)
    for read in (
        lambda: run.events_after(0),
        run.milestones,
        run.count_newer_events,
        run.last_started,
    ):
        with pytest.raises(OSError, match="Errno"):
            read()


def test_a_line_of_events_without_an_end_is_skipped(run, monkeypatch):
    monkeypatch.setattr("engine.runs.folder.MAX_LINE", 1_000)
    run.events_file.write_bytes(b"x" * 5_000)
    byte, before, notes = 0, -1, 0
    while byte != before:
        before = byte
        events, byte = run.events_after(byte, 1_000)
        notes += sum(isinstance(event, Noted) for event in events)
    assert byte >= 4_000 and notes
    run.repair_last_line()
    run.append(Noted(text="goes on"))
    assert [event.text for event in run.milestones() if isinstance(event, Noted)][-1] == "goes on"


@pytest.mark.parametrize("kind", IRREGULAR)
def test_an_irregular_lock_file_cannot_be_held(run, kind):
    create(run.lock_file, kind)
    if kind != "endless":
        assert not is_held(run.lock_file)
        with pytest.raises((StudioError, OSError)):
            open_here(run.lock_file, os.O_RDWR | os.O_CREAT)
    assert not run.has_worker()
