"""The benchmark of answers: what both sides read, and how they are asked."""

import io
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from engine.data.tokenizer import Tokenizer
from engine.shipped import starter_model

PROJECT = Path(__file__).parents[2]
PEERS = PROJECT / "benchmarks" / "peers"


@pytest.fixture
def script(monkeypatch):
    """Imports a script of the benchmark; its plain name does not stay behind."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(PEERS)
    yield import_module
    for name in {path.stem for path in PEERS.glob("*.py")} & set(sys.modules) - before:
        del sys.modules[name]


def test_texts_have_the_lengths_that_are_told(script, tmp_path):
    texts = script("texts")
    tokenizer = Tokenizer.from_folder(starter_model())
    words = [p for p in tokenizer.pieces if p.isalpha() and len(tokenizer.encode(p).ids) == 3]
    texts.write(tmp_path, words)
    for tokens in (16, 128, 512):
        assert len(tokenizer.encode(texts.text(tmp_path, tokens)).ids) == tokens
    masked = tokenizer.encode(texts.masked_text(tmp_path, 16)).ids
    assert len(masked) == 16
    assert masked.count(tokenizer.mask) == 1
    lengths = [len(tokenizer.encode(row).ids) for row in texts.rows(tmp_path)]
    assert len(lengths) == texts.ROWS
    assert sum(lengths) / len(lengths) == pytest.approx(sum(texts.SST2) / len(texts.SST2), abs=1)


def test_a_side_times_as_many_answers_as_it_is_asked_for(script, monkeypatch, capsys):
    called = []
    monkeypatch.setattr("sys.stdin", io.StringIO("3\n1\n"))
    script("turns").answer_in_turn(lambda: called.append(1), warm=2)
    ready, three, one = map(json.loads, capsys.readouterr().out.splitlines())
    assert ready == {"ready": True}
    assert [len(times) for said in (three, one) for times in said.values()] == [3, 3, 1, 1]
    assert len(called) == 6


def test_what_is_no_work_is_named():
    asked = [sys.executable, PROJECT / "benchmarks" / "answers.py", "nothing"]
    said = subprocess.run(asked, capture_output=True, text=True)
    assert said.returncode == 2
    assert "there are words, attention-128, attention-512, rows" in said.stderr
