"""A run as a folder: the only code that knows the file names in it.

The window makes it and asks the run to stop; one worker at a time holds its lock and appends to its
events. Nothing is ever written through a link.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from engine.config.job import JobSpec
from engine.config.phrases import PhraseField
from engine.config.validation import describe_validation
from engine.errors import StudioError
from engine.files import atomic_write
from engine.files.regular_file import MAX_LINE, iter_lines, open_regular, read_regular
from engine.files.snapshot_folder import SNAPSHOTS
from engine.messages import CALENDAR
from engine.messages.events import EVENT, EVENTS, AnyEvent, Ended, Event, Noted, Saved, Started
from engine.phrases import phrase
from engine.runs.lock import hold, is_held, open_here

CHUNK = 4 << 20  # bytes of events read per call
TAIL_BYTES = 64 << 10  # bytes searched for the last events
MAX_EVENTS_BYTES = 4 << 30  # bytes, about 40 million events
STATE_CHANGES = (Started, Saved, Ended)
KINDS = {
    *("started", "prepared", "progressed", "measured", "saved", "removed", "noted", "waiting"),
    *("branched", "ended"),
}
FREQUENT = re.compile(rb'"kind":"(?:measured|progressed)"')
KIND = re.compile(rb'"kind":"(\w+)"')
_REASON: TypeAdapter[str] = TypeAdapter(PhraseField)
STEP = re.compile(r"step-(\d{8,18})")  # the record holds no larger numbers


class RunFolder:
    """The files of one run, and operations on them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec_file = path / "spec.json"
        self.events_file = path / "events.jsonl"
        self.stop_file = path / "stop"
        self.changed_data_file = path / "changed-data"  # allows changed data once
        self.after_file = path / "after"  # id of the run that must finish first
        self.lock_file = path / "run.lock"
        self.log = path / "worker.log"
        self.machine_file = path / "machine.jsonl"  # see engine/desktop/machine_history.py
        self.reserve_file = path / "reserve"  # see full_disk.py
        self.checkpoints = path / "checkpoints"
        self.snapshots = path / SNAPSHOTS  # see snapshots.py
        self.dataset = path / "dataset"
        self.cache = path / "cache"
        self.results = path / "results"  # see engine/results/store.py

    @classmethod
    def create(cls, path: Path, job: JobSpec) -> Self:
        """Create the folder of a new run; an existing folder must be empty."""
        atomic_write.check_new_folder(path)
        with atomic_write.disk_errors_for(path):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = cls(path)
        folder.checkpoints.mkdir(mode=0o700)
        atomic_write.write_file(folder.spec_file, job.model_dump_json(indent=1).encode("utf-8"))
        return folder

    def job(self) -> JobSpec:
        """Read the job. Raises StudioError."""
        try:
            return JobSpec.model_validate_json(read_regular(self.spec_file))
        except FileNotFoundError as error:
            raise StudioError(
                "{path} is not a run folder: it has no {spec_file}.",
                "Choose the folder of a run.",
                path=self.path,
                spec_file=self.spec_file.name,
            ) from error
        except OSError as error:
            raise StudioError(
                "{spec_file} of {path} cannot be read: {error}.",
                "Check the file and its permissions.",
                spec_file=self.spec_file.name,
                path=self.path.name,
                error=error.strerror,
            ) from error
        except ValidationError as error:
            raise describe_validation(
                error,
                phrase("{spec_file} of {path}", spec_file=self.spec_file.name, path=self.path.name),
            ) from error

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def append(self, event: Event) -> None:
        """Append an event; one that changes the state of the run is flushed to the disk."""
        with atomic_write.disk_errors_for(self.events_file):
            descriptor = open_here(self.events_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                _write_all(descriptor, event.line())
                if isinstance(event, STATE_CHANGES):
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def events_after(self, offset: int, chunk_size: int = CHUNK) -> tuple[list[AnyEvent], int]:
        """Read events from `offset` on; returns them and the offset of their end.

        Long files are read in chunks of about `chunk_size` bytes: call again until the offset stays
        the same. A last line that is still being written is left for the next call. Lines that
        cannot be parsed are skipped, with a `Noted`. A file that is now shorter than `offset` was
        replaced and is read from its start.
        """
        try:
            with self._open_events() as file:
                if offset > os.fstat(file.fileno()).st_size:
                    offset = 0
                file.seek(offset)
                chunk = file.read(chunk_size)
                if chunk and not chunk.endswith(b"\n"):
                    chunk += file.readline(MAX_LINE)
        except FileNotFoundError:
            return [], 0
        complete = chunk[: chunk.rfind(b"\n") + 1]
        if not complete and len(chunk) >= MAX_LINE:
            complete = chunk  # a line without an end is not ours
        return _events(complete, offset), offset + len(complete)

    def all_events(self) -> Iterator[AnyEvent]:
        offset, previous = 0, -1
        while offset != previous:
            previous = offset
            events, offset = self.events_after(offset)
            yield from events

    def milestones(self) -> list[AnyEvent]:
        """All events but points of curves and progress, which are many."""
        try:
            with self._open_events() as file:
                lines = [x for x in iter_lines(file) if not FREQUENT.search(x)]
        except FileNotFoundError:
            return []
        return _events(b"".join(lines), 0)

    def count_newer_events(self) -> int:
        """Number of events of a kind that only a newer version knows."""
        try:
            with self._open_events() as file:
                kinds = (KIND.search(line) for line in iter_lines(file))
                return sum(1 for kind in kinds if kind and kind[1].decode() not in KINDS)
        except FileNotFoundError:
            return 0

    def events_size(self) -> int:
        try:
            return self.events_file.stat().st_size
        except FileNotFoundError:
            return 0

    def last_events(self) -> list[AnyEvent]:
        """The last events, found quickly in a file of any length."""
        events, _ = self.events_after(self._line_start(max(0, self.events_size() - TAIL_BYTES)))
        return events

    def last_started(self) -> Started | None:
        """The Started event of the current or last worker."""
        started = None
        for event in self.all_events():
            started = event if isinstance(event, Started) else started
        return started

    def log_end(self, characters: int = 4000) -> str:
        """The end of the worker's output, without control characters."""
        try:
            with open_regular(self.log) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 4 * characters))
                text = file.read(4 * characters).decode("utf-8", "replace")
        except OSError:
            return ""
        printable = "".join(c for c in text.replace("\r\n", "\n") if c.isprintable() or c in "\n\t")
        return printable[-characters:].strip()

    def created(self) -> datetime:
        return modified_at(self.spec_file)

    def _line_start(self, offset: int) -> int:
        """The first byte of the first line that begins at or after `offset`."""
        if offset == 0:
            return 0
        with self._open_events() as file:
            file.seek(offset - 1)
            file.readline(MAX_LINE)
            return file.tell()

    def _open_events(self) -> BufferedReader:
        """Raises OSError, also if it is not a plain file, or too large."""
        return open_regular(self.events_file, MAX_EVENTS_BYTES)

    # ── the worker ───────────────────────────────────────────────────────────────────────────

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of this run for the block; raises StudioError if a worker holds it.

        Leftovers of an interrupted worker are removed first.
        """
        error = StudioError(
            "{run} is already training.",
            "Wait until it has finished, or stop it first.",
            run=self.path.name,
        )
        for inner in (
            self.checkpoints,
            self.snapshots,
            self.dataset,
            self.cache,
            self.results,
            self.events_file,
        ):
            if inner.is_symlink():
                raise StudioError(
                    "{inner} in {path} is a symbolic link, and links are not written to.",
                    "Replace the link with the file or folder itself, then try again.",
                    inner=inner.name,
                    path=self.path,
                )
        with hold(self.lock_file, error):
            self.checkpoints.mkdir(mode=0o700, exist_ok=True)
            self.repair_last_line()
            for folder in (self.path, self.checkpoints, self.snapshots, self.results):
                atomic_write.clear_leftovers(folder)
            yield

    def has_worker(self) -> bool:
        return is_held(self.lock_file)

    def request_stop(self, reason: str = "") -> None:
        """Ask the worker to save and end; it checks once per step, and repeats the reason."""
        self.clear_stop()
        if reason:
            atomic_write.write_file(self.stop_file, _REASON.dump_json(reason))
        else:
            os.close(open_here(self.stop_file, os.O_WRONLY | os.O_CREAT))

    def stop_requested(self) -> bool:
        return self.stop_file.exists()

    def stop_reason(self) -> str:
        """Reason for the stop; empty if the user requested it."""
        try:
            return _REASON.validate_json(read_regular(self.stop_file))
        except (OSError, ValueError):
            return ""

    def clear_stop(self) -> None:
        self.stop_file.unlink(missing_ok=True)

    def wait_for(self, run_id: str) -> None:
        """Start only after this run has finished; “”: at any time."""
        self.after_file.unlink(missing_ok=True)
        if run_id:
            atomic_write.write_file(self.after_file, run_id.encode("utf-8"))

    def waits_for(self) -> str:
        """The id of the run that must finish first; empty: none."""
        try:
            return read_regular(self.after_file).decode("utf-8").strip()
        except (OSError, ValueError):
            return ""

    def allow_changed_data(self) -> None:
        """Let the next worker continue with data that have changed since the last checkpoint."""
        self.changed_data_file.unlink(missing_ok=True)
        os.close(open_here(self.changed_data_file, os.O_WRONLY | os.O_CREAT))

    def repair_last_line(self) -> None:
        """Complete the line that a killed worker left open, or drop it if it is incomplete."""
        if not self.events_file.exists():
            return
        descriptor = open_here(self.events_file, os.O_RDWR)
        with open(descriptor, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            start, tail = size, b""
            while start > 0 and b"\n" not in tail and len(tail) < MAX_LINE:
                start = max(0, start - 65536)
                file.seek(start)
                tail = file.read(size - start)
            rest = tail[tail.rfind(b"\n") + 1 :]
            if rest and (len(rest) >= MAX_LINE or _event(rest) is not None):
                file.write(b"\n")
            elif rest:
                file.truncate(size - len(rest))

    # ── checkpoints ──────────────────────────────────────────────────────────────────────────

    def checkpoint(self, step: int) -> Path:
        return self.checkpoints / f"step-{step:08d}"

    def checkpoint_folders(self) -> list[Path]:
        """All complete checkpoints, by step."""
        if not self.checkpoints.is_dir():
            return []
        folders = (f for f in self.checkpoints.iterdir() if STEP.fullmatch(f.name))
        return sorted(
            (f for f in folders if (f / atomic_write.MANIFEST).is_file()), key=checkpoint_step
        )

    def best_step(self) -> int | None:
        """Step of the best checkpoint at the time it was saved; None without one."""
        saved = (e for e in reversed(self.milestones()) if isinstance(e, Saved))
        return next((event.step for event in saved if event.best), None)


def modified_at(path: Path) -> datetime:
    """Modification time; the first valid day if unknown."""
    first, end = CALENDAR
    try:
        at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return first
    return at if first <= at < end else first


def checkpoint_step(checkpoint: Path) -> int:
    match = STEP.fullmatch(checkpoint.name)
    return int(match[1]) if match else 0


def _write_all(descriptor: int, line: bytes) -> None:
    """Append all of `line`, or nothing of it if the disk is full."""
    old_size = os.fstat(descriptor).st_size
    written = 0
    try:
        while written < len(line):
            written += os.write(descriptor, line[written:])
    except OSError:
        if written:
            os.ftruncate(descriptor, old_size)
        raise


def _events(lines: bytes, offset: int) -> list[AnyEvent]:
    split = lines.splitlines(keepends=True)
    try:  # in one call, which saves a third of the time
        events = EVENTS.validate_json(b"[%b]" % b",".join(split))
        if len(events) == len(split):
            return events
    except ValidationError:
        pass  # one of them is damaged, or of a newer kind
    events, unknown = [], 0
    for line in split:
        event = _event(line)
        if event is not None:
            events.append(event)
        elif _is_of_newer_kind(line):
            unknown += 1
        elif line.strip():
            text = phrase("Skipped a damaged line of events.jsonl at byte {byte}.", byte=offset)
            events.append(Noted(text=text))
        offset += len(line)
    if unknown:
        text = phrase(
            "This run was written by a newer BERT Studio: {n} event(s) are not shown.", n=unknown
        )
        events.append(Noted(text=text))
    return events


def _event(line: bytes) -> AnyEvent | None:
    try:
        return EVENT.validate_json(line)
    except ValidationError:
        return None


def _is_of_newer_kind(line: bytes) -> bool:
    try:
        message = from_json(line)
    except ValueError:
        return False
    kind = message.get("kind") if isinstance(message, dict) else None
    return isinstance(kind, str) and kind not in KINDS
