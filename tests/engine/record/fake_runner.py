"""The queue runner as a program, with workers without torch and short intervals."""

import sys

from engine.record import run_watch, runner
from engine.runs import launch
from tests.engine.runs import fake_worker, forked

if __name__ == "__main__":
    launch.command, launch.spawn = fake_worker.command, forked.spawn
    run_watch.START_TIMEOUT = 2.0
    sys.exit(runner.main())
