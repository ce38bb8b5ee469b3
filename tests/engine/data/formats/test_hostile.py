"""Every malformed file is read completely, or fails with one error that names the line."""

import subprocess
import sys

import pytest

from engine.data.formats.reading import preview, read, recognise
from engine.errors import BadFile
from engine.runs.launch import CODE
from tests.engine.data.formats.hostile import CASES

READ = [case for case in CASES if case.rows is not None]
REFUSED = [case for case in CASES if case.rows is None]


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
def test_a_hostile_file_gives_all_its_rows(case, tmp_path):
    path = tmp_path / case.name
    case.make(path)
    recognised = recognise(path)
    table = read(path, recognised.reading)
    assert [row.cells for row in table] == case.rows
    assert case.notes in " ".join((*recognised.notes, *table.notes))
    head = preview(path, recognised.reading)
    assert len(head.rows) == min(len(case.rows or ()), 200)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_hostile_file_is_refused_with_its_line(case, tmp_path):
    path = tmp_path / case.name
    case.make(path)
    with pytest.raises(BadFile) as caught:
        list(read(path, recognise(path).reading))
    error = caught.value
    assert error.line == case.line, str(error)
    assert case.error in error.problem
    assert error.problem.startswith(case.name)
    assert error.problem.endswith(".") and error.advice.endswith(".")
    assert len(str(error)) <= 300


MEMORY_SCRIPT = """
import re, sys
from pathlib import Path
from engine.data.formats.reading import read, recognise
from engine.errors import BadFile
from tests.engine.data.formats.hostile import CASES
for case in CASES:
    path = Path(sys.argv[1]) / case.name
    case.make(path)
    try:
        for _ in read(path, recognise(path).reading):
            pass
    except BadFile:
        pass
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_hostile_file_takes_much_memory(tmp_path):
    """Peak memory of one process that reads all of them."""
    command = [sys.executable, "-c", MEMORY_SCRIPT, str(tmp_path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=CODE).stdout
    assert int(out) < 1_000_000  # kilobytes
