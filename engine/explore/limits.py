"""Memory limit while an imported folder is read.

A small file can claim to be a huge one: compressed zeros, a tensor of stride 0, a false header.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY_FACTOR = 6  # float16 on disk becomes float32 in memory, with two copies during conversion
OVERHEAD = 2_000_000_000  # bytes for libraries, threads and small files


@contextmanager
def limited_memory(folder: Path) -> Iterator[None]:
    """Limit the additional memory of this process to the needs of the files in `folder`.

    Only on Linux, which can limit and measure the address space; no limit elsewhere.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    present = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = present + OVERHEAD + MEMORY_FACTOR * _size(folder)
    limit = min([limit, *(n for n in (soft, hard) if n != resource.RLIM_INFINITY)])
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _size(folder: Path) -> int:
    """Bytes of the regular files in `folder`; 0 if it does not exist."""
    try:
        return sum(f.stat().st_size for f in folder.iterdir() if f.is_file())
    except OSError:
        return 0
