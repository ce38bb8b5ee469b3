"""Workers share the CPU with other programs, and one heap among their threads."""

import os
import subprocess
import sys

import pytest

WHERE = """
import ctypes, os, threading
from engine.worker import configure_threads

configure_threads()
malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
taken = []
thread = threading.Thread(target=lambda: taken.append(malloc(50_000)))
thread.start()
thread.join()
for line in open("/proc/self/maps"):
    first, last = (int(end, 16) for end in line.split()[0].split("-"))
    if first <= taken[0] < last:
        print("[heap]" in line, os.environ.get("TOKENIZERS_PARALLELISM"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the maps of a process")
@pytest.mark.parametrize("arenas, shared", [(None, "True false"), ("4", "False None")])
def test_worker_threads_share_one_heap_unless_the_user_sets_more(arenas, shared):
    """With one heap, texts are tokenised by a single thread: more would wait for each other."""
    without = {"MALLOC_ARENA_MAX", "TOKENIZERS_PARALLELISM"}
    environment = {n: v for n, v in os.environ.items() if n not in without}
    if arenas:
        environment["MALLOC_ARENA_MAX"] = arenas
    command = [sys.executable, "-c", WHERE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == shared + "\n"
