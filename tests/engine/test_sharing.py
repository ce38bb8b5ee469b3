"""Workers share the CPU with other programs, and one heap among their threads."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, os, threading
from engine.worker import configure_threads

configure_threads()
malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
addresses = []
thread = threading.Thread(target=lambda: addresses.append(malloc(50_000)))
thread.start()
thread.join()
for line in open("/proc/self/maps"):
    start, end = (int(address, 16) for address in line.split()[0].split("-"))
    if start <= addresses[0] < end:
        print("[heap]" in line, os.environ.get("TOKENIZERS_PARALLELISM"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the maps of a process")
@pytest.mark.parametrize("arenas, shared", [(None, "True false"), ("4", "False None")])
def test_worker_threads_share_one_heap_unless_the_user_sets_more(arenas, shared):
    """With one heap, texts are tokenised by a single thread: more would wait for each other."""
    removed = {"MALLOC_ARENA_MAX", "TOKENIZERS_PARALLELISM"}
    environment = {n: v for n, v in os.environ.items() if n not in removed}
    if arenas:
        environment["MALLOC_ARENA_MAX"] = arenas
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == shared + "\n"
