"""Freed memory is kept while much of it is used again."""

import subprocess
import sys

import pytest

ADDED_PAGES = """
import resource
from engine.system import memory
{before}
def use():
    blocks = [bytearray(7_000_000) for _ in range(3)]
use(), use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is tuned")
def test_kept_memory_is_not_mapped_again():
    keeping, usual = (
        int(subprocess.check_output([sys.executable, "-c", ADDED_PAGES.format(before=before)]))
        for before in ("memory.keep_freed_memory()", "")
    )
    assert keeping < 100 < usual
