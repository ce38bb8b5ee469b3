"""The queue runner, a program that starts the queued runs of a home while no window does.

It uses no port; locks in the home show which processes are alive:

| lock | held by |
| --- | --- |
| home.lock | the window, as long as it is open |
| queue.lock | the process that starts runs: the window or the runner |
| runner.lock | the runner |

While a window is open the runner only waits, so that the queue continues as soon as the
window is closed or killed. It ends when nothing is left to do.
"""

import sys
import time
from collections.abc import Iterable

from engine.errors import StudioError
from engine.files.atomic_write import keep_files_private
from engine.files.home import Home
from engine.messages import now
from engine.record.opening import Record, open_record
from engine.record.run_manager import RunManager
from engine.record.run_watch import RunEnd, RunUpdate
from engine.record.runs import WORKING, runs_in
from engine.record.searches import has_pending
from engine.runs.lock import hold, is_held
from engine.system.errors import explain_error
from engine.system.terminal import echo, echo_error

INTERVAL = 0.25  # seconds between checks while it starts runs
WAITING_INTERVAL = 0.5  # seconds while a window starts them


def main() -> int:
    """Run the queue of the user's home until it is empty; returns the exit code."""
    keep_files_private()
    try:
        run_queue(Home())
    except Exception as error:
        if (studio_error := explain_error(error)) is None:
            raise
        echo_error(studio_error)
        return 1
    return 0


def run_queue(home: Home) -> None:
    """Start what is in the queue of `home` until it is empty and nothing runs.

    Does nothing if another process is the runner. Raises StudioError if the record cannot be read.
    """
    others = StudioError("Another process runs the queue.")
    record = open_record(home.record, home.backups)
    try:
        while has_work(record):  # again for runs added while the lock was being released
            with hold(home.runner_lock, others):
                _until_done(home, record)
    except StudioError as error:
        if error is not others:
            raise
    finally:
        record.close()


def _until_done(home: Home, record: Record) -> None:
    manager = RunManager(record, home)
    try:
        while True:
            if is_held(home.lock):
                manager.release_queue()
                if not has_work(record):
                    return
                time.sleep(WAITING_INTERVAL)
                continue
            _log(manager.refresh())
            if not manager.is_busy:
                return
            time.sleep(0 if manager.watch.is_behind else INTERVAL)
    finally:
        manager.detach()


def has_work(record: Record) -> bool:
    """True if a run waits or works, or a search needs its next combination."""
    with record.read() as session:
        if runs_in(session, ("queued", *WORKING)):
            return True
    return has_pending(record)


def _log(updates: Iterable[RunUpdate]) -> None:
    for update in updates:
        for value in update.values:
            if isinstance(value, RunEnd):
                echo(f"{now():%Y-%m-%d %H:%M:%S} {value.name}: {value.state}")


if __name__ == "__main__":
    sys.exit(main())
