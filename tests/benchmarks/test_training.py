"""The training benchmark: its texts, its operation counts and its table."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from benchmarks import synthetic
from benchmarks.training import compare as training
from benchmarks.training.size import Size
from engine.tokenizers.tokenizer import Tokenizer


def test_the_text_has_the_lengths_of_sst2_for_every_tokenizer(tmp_path):
    synthetic.write(tmp_path)
    tokenizer = Tokenizer.from_vocabulary(tmp_path / "vocab.txt", lowercase=True)
    assert tokenizer.size == synthetic.PIECES
    lines = (tmp_path / "sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
    labels, texts = zip(*(line.split("\t") for line in lines), strict=True)
    assert set(labels) == {"0", "1"}
    lengths = np.array([len(ids) + 2 for ids in tokenizer.contents(list(texts))])
    assert lengths.tolist() == [len(text.split()) + 2 for text in texts]
    assert lengths.mean() == pytest.approx(25.2, abs=0.5)  # 25.16 in SST-2
    assert (lengths.min(), lengths.max()) == (4, 55)


def test_operations_of_a_step_follow_from_weights_and_tokens():
    size = Size(layers=3, width=8, vocabulary=50)
    lengths = np.array([4, 6])
    weights = (2 * 12 + 2) * 8**2  # per token; of the last layer only keys and values
    head = 10 * 8**2  # per requested vector
    attention = 2 * 8 * (2 * (16 + 36) + 2 * 5)
    assert size.needed(lengths) == 6 * (weights * 10 + head * 2 + attention)
    two_frozen = 3 * size.answered(lengths, 2) - size.needed(lengths, frozen=2)
    assert two_frozen == 2 * 2 * (2 * 12 * 8**2 * 10 + 2 * 8 * 2 * (16 + 36))
    assert size.needed(lengths, adapts=True) == 2 * size.answered(lengths, 2)
    added = size.needed(lengths, predicted=3) - size.needed(lengths)
    assert added == 6 * (3 * head + 2 * 8 * 3 * 5 + 3 * (8**2 + 8 * 50))


def make_arguments(**changes: object) -> argparse.Namespace:
    defaults = {"pairs": 1, "threads": 1, "clock": "cpu", "verbose": False, "openmp": "studio"}
    return argparse.Namespace(**defaults | {"device": "cpu", "dry": False, "best": False} | changes)


def test_the_table_has_ratios_of_each_round_and_the_best_peer_first(monkeypatch):
    arguments = make_arguments(pairs=3, threads=2, clock="wall")
    bench = training.Bench(Path("made-up"), arguments, "fp32")
    seconds = {"studio": 1.0, "eager": 2.0, "sdpa": 4.0, "max": 10.0}
    slower = iter((1.0, 1.5, 1.0, 1.0, 1.0, 1.0))

    def run(module, *options):
        if module == "gemm":
            return {"peak": 1e12}
        key = next((key for key in seconds if any(key in o for o in options)), module)
        duration = seconds[key] * (next(slower) if key == "eager" else 1.0)
        measured = {"tokens": 1000, "operations": 4e11, "memory": 2e9, "load": 0.5}
        return measured | {"seconds": duration, "cpu_seconds": 9 * duration}

    monkeypatch.setattr(bench, "_run", run)
    lines = list(bench.compare(training.ROWS[0]))
    table = [line for line in lines if line.startswith("| ")][1:]
    assert [line.split(" | ")[0] for line in table] == [
        "| BERT Studio",
        "| Trainer, best: group_by_length, eager",
        "| Trainer, best: group_by_length, sdpa",
        "| Trainer as it comes: fp32, padded to 128",
    ]
    assert "| 1,000 |  | 40% | 2.00 GB | 0.5 |" in table[0]
    assert "| 500 | 2.00 (2.00 to 3.00) | 20% |" in table[1]
    assert "| 10.00 (10.00 to 10.00) | 4% |" in table[3]
    arguments.clock = "cpu"
    assert "| 111 |" in next(line for line in bench.compare(training.ROWS[0]) if "BERT" in line)


def test_the_trainer_is_measured_over_all_lengths():
    """The first steps have the longest texts: 41 tokens on average instead of 25."""
    pytest.importorskip("transformers")
    from transformers.trainer_pt_utils import get_length_grouped_indices

    lengths = list(range(training.synthetic.ROWS))
    order = get_length_grouped_indices(lengths, training.BATCH)
    group = [lengths[n] for n in order[training.BATCH : training.GROUP * training.BATCH]]
    assert group == sorted(group, reverse=True)
    assert lengths[order[training.GROUP * training.BATCH]] > group[-1], "the next group"
    for row in training.ROWS:
        assert row.work == "pretraining" or row.steps % training.GROUP == 0, row.name


def test_options_of_frozen_layers_and_adapters_reach_all_sides(monkeypatch):
    bench = training.Bench(Path("made-up"), make_arguments(best=True), "fp32")
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(training.dry, "has_accelerate", lambda: True)
    monkeypatch.setattr(training.dry, "has_peft", lambda: True)

    def run(*command):
        commands.append(command)
        measured = {"tokens": 1, "operations": 1, "memory": 1, "load": 0, "peak": 1}
        return measured | {"seconds": 1, "cpu_seconds": 1}

    monkeypatch.setattr(bench, "_run", run)
    rows = {row.name: row for row in training.ROWS}
    for name, option, count in (("frozen-base", "--frozen=8", 4), ("lora-base", "--lora=8", 3)):
        commands.clear()
        list(bench.compare(rows[name]))
        sides = [command for command in commands if command[0] != "gemm"]
        assert len(sides) == count and all(option in command for command in sides)
        assert sum("--cached" in command for command in sides) == (name == "frozen-base")
    monkeypatch.setattr(training.dry, "has_peft", lambda: False)
    assert "peft is not installed" in list(bench.compare(rows["lora-base"]))[-1]
    commands.clear()
    assert "--best does without it" in list(bench.compare(rows["finetuning-base"]))[-1]
    assert not any("--padding=max" in command for command in commands)


@pytest.mark.parametrize(
    "device, rates, expected",
    [
        ("cpu", {"fp32": 1.0, "bf16": 8.0}, "bf16"),
        ("cpu", {"fp32": 1.0, "bf16": 0.2}, "fp32"),
        ("cuda", {"fp32": 1.0, "bf16": 8.0, "fp16": 9.0}, "bf16"),
        ("cuda", {"fp32": 1.0, "bf16": 0.5, "fp16": 8.0}, "fp16"),
    ],
)
def test_the_precision_is_that_chosen_by_the_studio(monkeypatch, device, rates, expected):
    def run(module, *options, env):
        name = next(word for word in options if "--precision=" in word).partition("=")[2]
        return {"peak": rates[name]}

    monkeypatch.setattr(training.harness, "run_json", run)
    assert training._precision(make_arguments(device=device)) == expected


def test_the_waiting_policy_of_openmp_is_set_for_each_side(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    studio, default, passive = (
        training.openmp_environment(n) for n in ("studio", "default", "passive")
    )
    assert "OMP_WAIT_POLICY" not in studio and "OMP_NUM_THREADS" not in studio
    assert int(studio["GOMP_SPINCOUNT"]) < int(default["GOMP_SPINCOUNT"])
    assert passive["OMP_WAIT_POLICY"] == "PASSIVE" and "GOMP_SPINCOUNT" not in passive
