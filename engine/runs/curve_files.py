"""The curves of a run as files for other programs: written once, or extended while it trains.

A point measured again after a resume appears once: a point counts unless a later worker started at
an earlier step. If a worker has started since, all is rewritten; otherwise points are appended. The
position stores the progress and the length of each file, so that a line
that a killed program wrote only partly is removed first.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.regular_file import read_json
from engine.messages.events import AnyEvent, Ended, Measured, Started
from engine.progress import Cancelled, ProgressCallback
from engine.runs.folder import RunFolder

POSITION = "bert-studio-position.json"
MAX_POSITION_BYTES = 1_000_000  # bytes
REPORT_EVERY = 2_000  # points between progress reports
POINT_BYTES = 110  # approximate size of a point in the events


@dataclass
class Position:
    """Progress of the files: the offset in the events of the run, and the size of each file."""

    offset: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a position; an empty one if the file is missing or damaged."""
        try:
            content = read_json(file, MAX_POSITION_BYTES)
            sizes = {str(name): int(size) for name, size in content["sizes"].items()}
            return cls(int(content["byte"]), sizes)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return cls()


class CurveFiles(ABC):
    """The curves of one run in one format, in the folder `folder`.

    Raises StudioError if writing fails.
    """

    form: ClassVar[str]  # name of the program

    def __init__(self, run: RunFolder, parent: Path) -> None:
        """`parent` holds many runs, each in its own folder."""
        self.run, self.parent = run, parent
        self.folder = self._run_folder()

    def write_all(
        self,
        report: ProgressCallback = lambda done, total: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Write everything, replacing earlier files. Raises Cancelled."""
        with disk_errors_for(self.parent):
            self._write_all(report, cancelled)

    def catch_up(self, is_finished: bool = False) -> bool:
        """Append the new points of the run; returns True if there were any events.

        `is_finished`: no worker trains it any more, even if the last one did not report its end.
        """
        with disk_errors_for(self.parent):
            return self._catch_up(is_finished)

    def _catch_up(self, is_finished: bool) -> bool:
        position_file = self.folder / POSITION
        position = Position.read(position_file)
        events, offset = self.run.events_after(position.offset)
        was_replaced = offset < position.offset  # the file was replaced
        files_exist = all((self.folder / name).is_file() for name in position.sizes)
        can_append = position.offset > 0 and files_exist and not was_replaced
        if can_append and not events:
            if is_finished:
                self._write_end(last_end(self.run.last_events()))
            return False
        if not can_append or any(isinstance(event, Started) for event in events):
            offset = self._write_all(lambda done, total: None, lambda: False)
        else:
            self._truncate(position)
            self._append(event for event in events if isinstance(event, Measured))
            self._write_end(last_end(self.run.last_events()))
        sizes = {
            file.relative_to(self.folder).as_posix(): file.stat().st_size
            for file in self._point_files()
        }
        write_file(position_file, json.dumps({"byte": offset, "sizes": sizes}).encode("utf-8"))
        return True

    def _write_all(self, report: ProgressCallback, cancelled: Callable[[], bool]) -> int:
        """Return the position in the events up to which all is written."""
        (self.folder / POSITION).unlink(missing_ok=True)
        for file in list(self._point_files()):
            file.unlink()
        total = max(1, self.run.events_size())
        limits = _step_limits(self.run)
        first = next(iter(self.run.events_after(0, chunk_size=1)[0]), None)
        self._write_header(first)
        offset, previous, session, done = 0, -1, 0, 0
        while offset != previous:
            previous = offset
            events, offset = self.run.events_after(offset)
            pending = list[Measured]()
            for event in events:
                session += isinstance(event, Started)
                if session == len(limits):  # a worker has started since they were read
                    return self._write_all(report, cancelled)
                if isinstance(event, Measured) and event.step <= limits[session]:
                    pending.append(event)
            for start in range(0, len(pending), REPORT_EVERY):
                self._append(iter(pending[start : start + REPORT_EVERY]))
                done += REPORT_EVERY * POINT_BYTES
                report(min(done, total), total)
                if cancelled():
                    raise Cancelled
        self._write_end(last_end(self.run.last_events()))
        report(total, total)
        return offset

    def _truncate(self, position: Position) -> None:
        for file in list(self._point_files()):
            size = position.sizes.get(file.relative_to(self.folder).as_posix())
            if size is None:
                file.unlink()
            elif file.stat().st_size > size:
                with open(file, "r+b") as open_file:
                    open_file.truncate(size)

    @abstractmethod
    def _run_folder(self) -> Path:
        """The folder of the run below `parent`."""

    @abstractmethod
    def _point_files(self) -> Iterator[Path]:
        """The existing files to which points are appended."""

    @abstractmethod
    def _write_header(self, first: AnyEvent | None) -> None:
        """Write what precedes the points; `first` is the first event of the run."""

    @abstractmethod
    def _append(self, points: Iterator[Measured]) -> None:
        """Append these points."""

    @abstractmethod
    def _write_end(self, end: Ended | None) -> None:
        """Write the end of the run; None if it has not ended, as far as is known."""


def point_value(point: Measured) -> float:
    """Value of a point, with NaN and infinities restored."""
    if point.value is not None:
        return point.value
    return math.nan if point.status == "finite" else float(point.status)


def last_end(events: list[AnyEvent]) -> Ended | None:
    """The end of the last worker; None if another one has started since."""
    for event in reversed(events):
        if isinstance(event, Ended | Started):
            return event if isinstance(event, Ended) else None
    return None


def _step_limits(run: RunFolder) -> list[int]:
    """For each worker, the first step at which a later one started: later points do not count.

    The first limit is for points before any worker, as in a branch.
    """
    starts = [event.step for event in run.milestones() if isinstance(event, Started)]
    limits, lowest = [1 << 63], 1 << 63
    for step in reversed(starts):
        lowest = min(lowest, step)
        limits.append(lowest)
    return limits[::-1]
