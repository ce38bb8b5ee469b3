"""The tests of GPU code in `tests/simulated`, run in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulated.conftest import OWN_PROCESS

FOLDER = Path(__file__).parent / "simulated"
WITHOUT_QT = (
    *("-p", "no:cacheprovider", "-p", "no:pytest-qt", "-o", "addopts=--import-mode=importlib"),
    *("-o", "filterwarnings=error\nignore:Unknown config option"),
)


@pytest.mark.first
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("option", ["-q", pytest.param("--long", marks=pytest.mark.long)])
def test_gpu_code_on_a_simulated_device(option):
    command = [sys.executable, "-m", "pytest", option, *WITHOUT_QT, str(FOLDER)]
    environment = {**os.environ, OWN_PROCESS: "1"}
    done = subprocess.run(
        command, cwd=FOLDER.parents[1], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout
