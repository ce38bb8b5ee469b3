"""The benchmark of label errors: what it changes, and what it counts."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """The script; its plain name does not stay behind."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    yield import_module("label_errors")
    del sys.modules["label_errors"]


def test_five_in_a_hundred_labels_are_changed_and_found(script):
    true = np.arange(200) % 3
    given, wrong = script.changed(true, 3, seed=0)
    assert wrong.sum() == 10 and np.array_equal(given != true, wrong)
    knows = np.eye(3)[true] * 0.9 + 0.1 / 3
    assert script.share_found(knows, given, wrong) == 1
    assert script.share_found(np.full((200, 3), 1 / 3), given, np.arange(200) < 10) == 1
    assert script.share_found(np.full((200, 3), 1 / 3), given, np.arange(200) >= 190) == 0
