"""A limit on memory while a foreign folder is read.

A small file can claim to be a huge one: packed zeros, a tensor of stride 0, a header that lies.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TIMES = 6  # float16 on disk becomes float32 in memory, and is held twice while it is converted
BESIDES = 2_000_000_000  # bytes for libraries, threads and small files


@contextmanager
def limited_memory(folder: Path) -> Iterator[None]:
    """Allow this process only so much more memory as the files in `folder` can need.

    Only on Linux, where address space can be limited and measured; elsewhere nothing is limited.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    present = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = present + BESIDES + TIMES * _size(folder)
    wanted = min([wanted, *(n for n in (soft, hard) if n != resource.RLIM_INFINITY)])
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _size(folder: Path) -> int:
    """Bytes of the plain files in `folder`; 0 where there is none."""
    try:
        return sum(f.stat().st_size for f in folder.iterdir() if f.is_file())
    except OSError:
        return 0
