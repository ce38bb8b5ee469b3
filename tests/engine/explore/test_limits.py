"""Memory limit for foreign folders."""

import subprocess
import sys

import pytest

from engine.explore.limits import limited_memory

GREEDY = """
import resource, sys
from pathlib import Path
from engine.explore import limits

limits.OVERHEAD = 300_000_000
before = resource.getrlimit(resource.RLIMIT_AS)
with limits.limited_memory(Path(sys.argv[1])):
    bytes(50_000_000)
    try:
        bytes(2_000_000_000)
    except MemoryError:
        print("refused")
assert resource.getrlimit(resource.RLIMIT_AS) == before
bytes(400_000_000)
print("free again")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can limit it")
def test_more_than_the_files_can_need_is_refused_and_only_inside(tmp_path):
    (tmp_path / "model.bin").write_bytes(bytes(1000))
    run = [sys.executable, "-c", GREEDY, str(tmp_path)]
    told = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert told.split("\n")[:2] == ["refused", "free again"]


def test_a_folder_that_is_not_there_is_no_error(tmp_path):
    with limited_memory(tmp_path / "nothing"):
        assert not (tmp_path / "nothing").exists()
