"""How torch is loaded: as always, but for the search for garbage."""

import subprocess
import sys

import pytest

PROGRAM = """
import gc, sys
from importlib.machinery import SourceFileLoader
from engine.torch_import import load_torch_without_garbage

if sys.argv[1] == "off":
    gc.disable()
searches = []
load_torch_without_garbage()
load_torch_without_garbage()
gc.callbacks.append(lambda phase, info: searches.append("torch.nn" in sys.modules))
import torch

assert not any(searches), searches
assert gc.isenabled() is (sys.argv[1] == "on")
assert gc.get_freeze_count() > 100_000
assert type(torch.__loader__) is SourceFileLoader and torch.__spec__.loader is torch.__loader__
assert (torch.ones(2) + 1).tolist() == [2, 2]
"""


@pytest.mark.parametrize("garbage", ["on", "off"])
def test_nobody_looks_for_garbage_while_torch_is_loaded(garbage: str) -> None:
    command = [sys.executable, "-c", PROGRAM, garbage]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
