"""torch is imported without garbage collection, otherwise as usual."""

import subprocess
import sys

import pytest

PROGRAM = """
import gc, sys
from importlib.machinery import SourceFileLoader
from engine.system.torch_import import load_torch_without_gc

if sys.argv[1] == "off":
    gc.disable()
collections = []
load_torch_without_gc()
load_torch_without_gc()
gc.callbacks.append(lambda phase, info: collections.append("torch.nn" in sys.modules))
import torch

assert not any(collections), collections
assert gc.isenabled() is (sys.argv[1] == "on")
assert gc.get_freeze_count() > 100_000
assert type(torch.__loader__) is SourceFileLoader and torch.__spec__.loader is torch.__loader__
assert (torch.ones(2) + 1).tolist() == [2, 2]
"""


@pytest.mark.long
@pytest.mark.parametrize("gc", ["on", "off"])
def test_no_garbage_is_collected_while_torch_is_loaded(gc):
    command = [sys.executable, "-c", PROGRAM, gc]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
