"""A window without Qt, for tests."""

import os

from engine.config.job import JobSpec
from engine.files.home import Home
from engine.record.opening import open_record
from engine.record.run_manager import RunManager
from engine.record.run_watch import RunUpdate
from engine.record.runs import Run, all_runs, find_run
from tests.engine.runs.waiting import until


class Window:
    """Polls the record and stores the updates."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.record = open_record(home.record, home.backups)
        self.manager = RunManager(self.record, home)
        self.updates: list[RunUpdate] = []

    def add(self, job: JobSpec) -> str:
        """Put a job for one run in the queue."""
        (run_id,) = self.manager.add(job)
        return run_id

    def run(self, run_id: str) -> Run:
        with self.record.read() as session:
            run = find_run(session, run_id)
        assert run is not None
        return run

    def refresh(self) -> None:
        self.updates += self.manager.refresh()

    def until(self, run_id: str, state: str) -> Run:
        def has_state() -> bool:
            self.refresh()
            return self.run(run_id).state == state

        until(has_state)
        return self.run(run_id)

    def until_waiting(self, run_id: str) -> Run:
        """Wait until a “long” run has measured three steps and waits for a command."""

        def is_waiting() -> bool:
            self.refresh()
            run = self.run(run_id)
            return run.state in ("running", "stopping") and run.step - run.paced_step == 2

        until(is_waiting)
        return self.run(run_id)

    def send(self, run_id: str, command: str) -> None:
        file = self.run(run_id).folder / "do"
        file.with_suffix(".new").write_text(command)
        os.replace(file.with_suffix(".new"), file)

    def clear_command(self, run_id: str) -> None:
        (self.run(run_id).folder / "do").unlink()

    def states(self) -> dict[str, str]:
        with self.record.read() as session:
            return {run.id: run.state for run in all_runs(session)}
