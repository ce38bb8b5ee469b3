"""How a side of `answers.py` is asked: a line with a number, and as many answers are timed."""

import json
import sys
import time
from collections.abc import Callable


def answer_in_turn(call: Callable[[], object], warm: int = 2) -> None:
    """Until the input ends; says first that it is ready."""
    for _ in range(warm):
        call()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        wall, cpu = [], []
        for _ in range(int(line)):
            began, cpu_began = time.perf_counter(), time.process_time()
            call()
            cpu.append(time.process_time() - cpu_began)
            wall.append(time.perf_counter() - began)
        print(json.dumps({"wall": wall, "cpu": cpu}), flush=True)
