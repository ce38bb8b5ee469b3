"""The benchmark of answers: what both sides read, and how they are asked."""

import argparse
import io
import json
import subprocess
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from engine.files.shipped import starter_model
from engine.tokenizers.tokenizer import Tokenizer

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
    words = [p for p in tokenizer.tokens if p.isalpha() and len(tokenizer.encode(p).ids) == 3]
    texts.write(tmp_path, words)
    for tokens in (16, 128, 512):
        assert len(tokenizer.encode(texts.text(tmp_path, tokens)).ids) == tokens
    masked = tokenizer.encode(texts.masked_text(tmp_path, 16)).ids
    assert len(masked) == 16
    assert masked.count(tokenizer.mask) == 1
    lengths = [len(tokenizer.encode(row).ids) for row in texts.rows(tmp_path)]
    assert len(lengths) == texts.ROWS
    assert sum(lengths) / len(lengths) == pytest.approx(sum(texts.SST2) / len(texts.SST2), abs=1)
    texts.write(tmp_path, words, count=40)
    assert len(texts.rows(tmp_path)) == 40


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
    assert "there are words, attention-128, attention-512, forward, rows" in said.stderr


@pytest.fixture
def answers(monkeypatch):
    """The script itself, by another name: one of the peers has the same."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    place = PEERS.parent / "answers.py"
    spec = spec_from_file_location("benchmark_of_answers", place)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "benchmark_of_answers", module)
    spec.loader.exec_module(module)
    return module


def test_what_an_answer_needs_is_a_third_of_a_step_and_less_for_maps(script):
    size = script("size").Size(layers=3, width=8, vocabulary=50)
    lengths = np.array([4, 6])
    assert 3 * size.answered(lengths, asked=5, predicted=3) == size.needed(lengths, predicted=3)
    full = 2 * 3 * (12 * 8**2 * 10 + 2 * 8 * (16 + 36))  # of all layers, for all tokens
    one = np.array([10])
    assert size.answered(one, asked=10) == 2 * 3 * (12 * 8**2 * 10 + 2 * 8 * 100)
    unused = 2 * (10 * 8**2 * 10 + 8 * (16 + 36))  # values, and all that follows the weights
    assert size.mapped(lengths) == full - unused
    assert size.weights(predicts=True) - size.weights(predicts=False) == 8 * 8 + 8 * 50
    assert size.weights(predicts=False) == 3 * 12 * 8**2


def test_the_table_holds_shares_of_the_limits_of_a_turn(answers, script, tmp_path):
    operations, size = answers.needed("words", answers.EXACT, tmp_path, layers=2)
    assert answers.needed("words", answers.QUICK, tmp_path, 2) == (operations, size / 4)
    limits = [{"peak": operations * 4, "reading": size * 2.0}] * 3
    spent = {who: [1.0, 1.0, 1.0] for who in answers.WORKS["words"].ours}
    spent |= {"pipeline": [2.0, 3.0, 4.0], "ort int8": [0.5, 0.5, 0.5]}
    given = argparse.Namespace(layers=2, rows=256)
    lines = list(answers.table("words", tmp_path, given, answers.Turns(spent, limits)))
    assert len(lines) == 6  # onnxruntime in float32 was not asked
    assert lines[0].endswith(
        "| studio float32 | 1000.0 | 25% | 50% | pipeline | 3000.0 | **3.00** | 2.00 – 4.00 |"
    )
    assert "| studio int8 | 1000.0 | 25% | 12% | ort int8 | 500.0 | **0.50** |" in lines[-1]


def test_every_work_knows_what_it_needs(answers, script, tmp_path):
    script("texts").write(tmp_path, ["one", "two"])
    needed = {name: answers.needed(name, answers.EXACT, tmp_path, 12)[0] for name in answers.WORKS}
    assert needed["attention-128"] < needed["forward"] < needed["attention-512"]
    assert needed["words"] < needed["forward"] < needed["rows"]
