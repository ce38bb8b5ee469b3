import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from engine.errors import StudioError
from engine.files.atomic_write import atomic_folder
from engine.messages.events import Ended, Measured, Noted, Started, measured
from engine.runs.folder import RunFolder
from engine.runs.launch import CODE
from tests.engine.runs.fake_worker import job


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", job())


def python(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CODE)},
    )


HOLDER = """
import os, sys, time
from pathlib import Path
from engine.runs.folder import RunFolder
with RunFolder(Path(sys.argv[1])).lock():
    if len(sys.argv) > 2:
        begun, begins = os.pipe()
        if os.fork() == 0:
            os.write(begins, b".")
            time.sleep(600)
        os.read(begun, 1)  # the child has released the lock
    print("held", flush=True)
    time.sleep(600)
"""


# ── the job ──────────────────────────────────────────────────────────────────────────────────


def test_a_job_round_trips(folder):
    assert folder.job() == job()
    assert folder.path.stat().st_mode & 0o077 == 0


def test_a_run_is_not_created_in_a_folder_with_content(folder):
    with pytest.raises(StudioError, match="already"):
        RunFolder.create(folder.path, job())


def test_a_folder_without_a_valid_job_is_reported(tmp_path):
    with pytest.raises(StudioError, match=r"no spec\.json"):
        RunFolder(tmp_path).job()
    (tmp_path / "spec.json").write_text('{"name": ""}')
    with pytest.raises(StudioError, match="is not valid"):
        RunFolder(tmp_path).job()


# ── events ───────────────────────────────────────────────────────────────────────────────────


def test_reading_events_continues_at_the_last_byte(folder):
    folder.append(Started(pid=1))
    first, byte = folder.events_after(0)
    folder.append(measured("loss", 1, float("inf")))
    second, end = folder.events_after(byte)
    assert [e.kind for e in first] == ["started"]
    assert [(e.value, e.status) for e in second if isinstance(e, Measured)] == [(None, "inf")]
    assert folder.events_after(end) == ([], end)


def test_an_incomplete_last_line_is_not_read(folder):
    line = measured("loss", 1, 0.5).line()
    folder.events_file.write_bytes(line + line[:20])
    events, byte = folder.events_after(0)
    assert len(events) == 1 and byte == len(line)
    with open(folder.events_file, "ab") as file:
        file.write(line[20:])
    events, byte = folder.events_after(byte)
    assert len(events) == 1 and byte == 2 * len(line)


def test_a_damaged_line_is_skipped_with_a_note(folder):
    line = measured("loss", 1, 0.5).line()
    folder.events_file.write_bytes(line + b'{"kind":"meas\xff\n' + b"\0\0\0\n" + line)
    events, byte = folder.events_after(0)
    assert [e.kind for e in events] == ["measured", "noted", "noted", "measured"]
    assert isinstance(events[1], Noted) and f"byte {len(line)}" in events[1].text
    assert byte == folder.events_size()


@pytest.mark.parametrize(
    "between, kinds",
    [
        (b"%b,%b\n", ["noted"]),  # two events in a line
        (b'{"kind":"started","pid":1,"x":[{}\n{}]}\n', ["noted", "noted"]),  # one in two lines
        (b"\n", []),
    ],
)
def test_an_event_is_a_line(folder, between, kinds):
    """Many lines are parsed as one list, in which these would be events as well."""
    line = measured("loss", 1, 0.5).line()
    pieces = between.replace(b"%b", line.strip())
    folder.events_file.write_bytes(line + pieces + line)
    events, byte = folder.events_after(0)
    assert [e.kind for e in events] == ["measured", *kinds, "measured"]
    assert byte == folder.events_size()


def test_lines_of_a_newer_worker_are_counted_and_noted(folder):
    newer = b'{"kind":"dreamt","of":"sheep"}\n'
    folder.events_file.write_bytes(newer + Started(pid=1).line() + newer)
    events, _ = folder.events_after(0)
    assert [e.kind for e in events] == ["started", "noted"]
    assert isinstance(events[1], Noted) and "2 events are not shown" in events[1].text


def test_a_long_history_is_read_in_chunks(folder):
    lines = [measured("loss", step, 0.5).line() for step in range(1000)]
    folder.events_file.write_bytes(b"".join(lines))
    steps, byte, pieces = [], 0, 0
    while True:
        events, after = folder.events_after(byte, chunk_size=1000)
        if after == byte:
            break
        steps += [e.step for e in events if isinstance(e, Measured)]
        byte, pieces = after, pieces + 1
    assert steps == list(range(1000)) and pieces > 50


def test_a_shortened_file_is_read_from_its_start(folder):
    line = measured("loss", 1, 0.5).line()
    folder.events_file.write_bytes(line)
    events, byte = folder.events_after(10_000)
    assert len(events) == 1 and byte == len(line)


def test_the_last_events_of_a_long_history_are_found(folder):
    lines = [measured("loss", step, 0.5).line() for step in range(3000)]
    folder.events_file.write_bytes(b"".join(lines))
    folder.append(Ended(outcome="finished", step=3000))
    events = folder.last_events()
    assert len(events) < 1000 and isinstance(events[-1], Ended)
    assert all(event.kind != "noted" for event in events)


def test_a_full_disk_is_reported_and_leaves_no_partial_line(folder):
    folder.append(Started(pid=1))
    code = """
import resource, signal, sys
from pathlib import Path
from engine.errors import DiskFull
from engine.messages.events import Noted
from engine.runs.folder import RunFolder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
try:
    RunFolder(Path(sys.argv[1])).append(Noted(text="x" * 5000))
except DiskFull as error:
    print(error)
"""
    before = folder.events_file.read_bytes()
    with python(code, folder.path) as process:
        printed, _ = process.communicate()
    assert "The disk is full" in printed
    assert folder.events_file.read_bytes() == before


def test_a_worker_repairs_the_partial_line_of_a_killed_one(folder):
    line = measured("loss", 1, 0.5).line()
    folder.events_file.write_bytes(line + line[:-1])  # only the newline is missing
    with folder.lock():
        folder.append(Started(pid=1))
    assert [e.kind for e in folder.events_after(0)[0]] == ["measured", "measured", "started"]
    folder.events_file.write_bytes(line + line[:15])
    with folder.lock():
        folder.append(Started(pid=1))
    assert [e.kind for e in folder.events_after(0)[0]] == ["measured", "started"]


def test_the_log_is_shown_without_control_characters(folder):
    folder.log.write_bytes(b"a" * 50_000 + b"\x1b[31mred\x07\r\nlast \xff line\n")
    end = folder.log_end()
    assert end.endswith("[31mred\nlast \ufffd line") and len(end) < 4100
    assert RunFolder(folder.path / "nothing").log_end() == ""


# ── the lock ─────────────────────────────────────────────────────────────────────────────────


def test_only_one_worker_trains_in_a_folder(folder):
    assert not folder.has_worker()
    with folder.lock():
        assert folder.has_worker()
        with pytest.raises(StudioError, match="already"), folder.lock():
            pass
        assert folder.has_worker()
    assert not folder.has_worker()


@pytest.mark.skipif(os.name == "nt", reason="no fork on Windows")
@pytest.mark.parametrize("forks", [False, True])
def test_the_lock_is_released_when_its_holder_dies(folder, forks):
    with python(HOLDER, folder.path, *(["fork"] if forks else [])) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        assert folder.has_worker()
        children = psutil.Process(holder.pid).children()
        assert len(children) == forks
        holder.kill()
        holder.wait()
        try:
            assert not folder.has_worker()
            with folder.lock():
                pass
        finally:
            for child in children:
                child.kill()


def test_testing_the_lock_never_blocks_a_worker(folder):
    finished = threading.Event()

    def poll() -> None:
        while not finished.is_set():
            folder.has_worker()

    threads = [threading.Thread(target=poll) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            with folder.lock():
                assert folder.has_worker()
    finally:
        finished.set()
        for thread in threads:
            thread.join()


def test_leftovers_of_an_interrupted_save_are_removed_by_the_next_worker(folder):
    leftovers = [folder.checkpoints / ".step-00000004.tmp-aaaa", folder.path / ".dataset.tmp-bbbb"]
    for entry in leftovers:
        entry.mkdir()
        (entry / "half").write_text("x")
    with folder.lock():
        assert not any(entry.exists() for entry in leftovers)


def test_a_stop_request_is_a_file(folder):
    folder.request_stop()
    folder.request_stop()
    assert folder.stop_requested() and folder.stop_file.read_bytes() == b""
    folder.clear_stop()
    folder.clear_stop()
    assert not folder.stop_requested()


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────


def test_only_complete_checkpoints_are_listed_by_step(folder):
    for step in (900, 1000, 2, 123_456_789):
        with atomic_folder(folder.checkpoint(step)) as temporary:
            (temporary / "config.json").write_text("{}")
    folder.checkpoint(3).mkdir()  # no manifest
    (folder.checkpoints / "best").mkdir()
    names = [path.name for path in folder.checkpoint_folders()]
    assert names == ["step-00000002", "step-00000900", "step-00001000", "step-123456789"]


# ── links ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.skipif(os.name == "nt", reason="links need privileges on Windows")
@pytest.mark.parametrize("name", ["events.jsonl", "run.lock", "stop", "checkpoints"])
def test_nothing_is_written_through_a_link(folder, tmp_path, name):
    target = tmp_path / "aim"
    if name == "checkpoints":
        folder.checkpoints.rmdir()
        target.mkdir()
    else:
        target.write_bytes(b"mine")
    (folder.path / name).symlink_to(target)
    for act in (lambda: folder.append(Started(pid=1)), folder.request_stop):
        with suppress(StudioError):
            act()
    assert list(target.iterdir()) == [] if target.is_dir() else target.read_bytes() == b"mine"
    if name in ("run.lock", "checkpoints", "events.jsonl"):
        with pytest.raises(StudioError, match="link"), folder.lock():
            pass
    if name == "stop":
        assert folder.stop_requested() and not folder.stop_file.is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="links need privileges on Windows")
def test_a_run_is_not_created_through_a_link(tmp_path):
    (tmp_path / "aim").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "aim")
    with pytest.raises(StudioError, match="already"):
        RunFolder.create(tmp_path / "run", job())
    assert list((tmp_path / "aim").iterdir()) == []
