"""The queue runner as a program, with workers without torch and short intervals."""

import sys

from engine.record import run_watch, runner
from engine.runs import launch
from tests.engine.runs import fake_worker

if __name__ == "__main__":
    launch.command = fake_worker.command
    run_watch.START_TIMEOUT = 2.0
    sys.exit(runner.main())
