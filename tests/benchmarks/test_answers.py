"""The answers benchmark: texts, timing and table."""

import argparse
import io
import json

import numpy as np
import pytest

from benchmarks.answers import compare as answers
from benchmarks.answers import served, texts
from benchmarks.synthetic import SST2
from benchmarks.training.size import Size
from engine.files.shipped import starter_model
from engine.tokenizers.tokenizer import Tokenizer


def test_texts_have_the_requested_lengths(tmp_path):
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
    assert sum(lengths) / len(lengths) == pytest.approx(sum(SST2) / len(SST2), abs=1)
    texts.write(tmp_path, words, count=40)
    assert len(texts.rows(tmp_path)) == 40


def test_a_side_times_the_requested_number_of_answers(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr("sys.stdin", io.StringIO("3\n1\n"))
    texts.answer_in_turn(lambda: calls.append(1), warm=2)
    ready, first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert ready == {"ready": True}
    assert [len(times) for side in (first, second) for times in side.values()] == [3, 3, 1, 1]
    assert len(calls) == 6


def test_an_unknown_workload_is_refused(capsys):
    with pytest.raises(SystemExit):
        answers.main(["nothing"])
    assert "there are words, attention-128, attention-512, forward, rows" in capsys.readouterr().err


def test_an_answer_needs_a_third_of_a_step_and_less_for_maps():
    size = Size(layers=3, width=8, vocabulary=50)
    lengths = np.array([4, 6])
    assert 3 * size.answered(lengths, outputs=5, predicted=3) == size.needed(lengths, predicted=3)
    full = 2 * 3 * (12 * 8**2 * 10 + 2 * 8 * (16 + 36))  # all layers and tokens
    single = np.array([10])
    assert size.answered(single, outputs=10) == 2 * 3 * (12 * 8**2 * 10 + 2 * 8 * 100)
    unused = 2 * (10 * 8**2 * 10 + 8 * (16 + 36))  # values, and all after the attention weights
    assert size.mapped(lengths) == full - unused
    assert size.weights(predicts=True) - size.weights(predicts=False) == 8 * 8 + 8 * 50
    assert size.weights(predicts=False) == 3 * 12 * 8**2


def test_the_table_shows_fractions_of_the_measured_limits(tmp_path):
    operations, size = answers.needed("words", answers.EXACT, tmp_path, layers=2)
    assert answers.needed("words", answers.QUICK, tmp_path, 2) == (operations, size / 4)
    limits = [{"peak": operations * 4, "reading": size * 2.0}] * 3
    spent = {name: [1.0, 1.0, 1.0] for name in answers.WORKS["words"].ours}
    spent |= {"pipeline": [2.0, 3.0, 4.0], "ort int8": [0.5, 0.5, 0.5]}
    arguments = argparse.Namespace(layers=2, rows=256)
    lines = list(answers.table("words", tmp_path, arguments, answers.Turns(spent, limits)))
    assert len(lines) == 6  # without onnxruntime in float32
    assert lines[0].endswith(
        "| studio float32 | 1000.0 | 25% | 50% | pipeline | 3000.0 | **3.00** | 2.00 – 4.00 |"
    )
    assert "| studio int8 | 1000.0 | 25% | 12% | ort int8 | 500.0 | **0.50** |" in lines[-1]


def test_longer_work_needs_more_operations(tmp_path):
    texts.write(tmp_path, ["one", "two"])
    needed = {name: answers.needed(name, answers.EXACT, tmp_path, 12)[0] for name in answers.WORKS}
    assert needed["attention-128"] < needed["forward"] < needed["attention-512"]
    assert needed["words"] < needed["forward"] < needed["rows"]


def test_sides_of_a_trained_model_have_the_same_weights(tuned, tmp_path):
    folder = tuned("text_classification").checkpoint
    model = served._transformers(folder, "AutoModelForSequenceClassification")
    graph, short = served._graphs(folder, model, tmp_path, "logits")
    assert not model.training  # the exporter would leave dropout on
    given = ["a lovely warm film", "a dull cold film", "great acting"]
    sides = {
        "torch": served._classes(folder, served._torch_run(model, "logits")),
        "graph": served._classes(folder, served._session(graph, 1)),
        "int8": served._classes(folder, served._session(short, 1)),
    }
    spent, found = served._take_turns(sides, given, rounds=2)
    assert [len(times) for times in spent.values()] == [2, 2, 2]
    assert found["torch"].tolist() == found["graph"].tolist() and len(found["int8"]) == 3
    assert served._difference(np.zeros(3)) == "0"
    assert served._difference(np.array([1.0, -1.0, 1.0, 0.0])).startswith("+25.00 points (")
