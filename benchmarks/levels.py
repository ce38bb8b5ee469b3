"""Losses and decisions for labels that are paths, on the question types of trec-qc (DESC:manner).

    python -m benchmarks levels ASSETS

The model is fine-tuned with each loss and scored on test.txt. `flat`: the cross-entropy of the
whole path; `levels`: the sum of those of its nodes, whose probability is the sum of the paths
below. `path`: the most likely path is predicted; `top down`: the most likely node of each level
below the one before.
"""

import argparse
import csv
import tempfile
from pathlib import Path
from statistics import fmean
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks import harness
from engine.config.dataset import FileData, Mapping, Reading, Split
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.levels import Levels
from engine.config.tasks.hierarchical_classification import HierarchicalClassification
from engine.config.training import HardwareSpec, TrainingSpec
from engine.data.datasets.rows import Rows
from engine.evaluation.hierarchical_classification import (
    HierarchicalReport,
    cut,
    likely_paths,
    report,
)
from engine.runs.folder import RunFolder
from engine.tasks import hierarchical_classification as tasks
from engine.tasks.hierarchical_classification import (
    HierarchicalClassificationLearner,
    PathCollector,
)
from engine.tasks.predicting import Predictor
from engine.training.loop import train

MAX_LENGTH = 40
LOSSES, DECISIONS = ("flat", "levels"), ("path", "top down")


def main(arguments: list[str]) -> None:
    options = _arguments(arguments)
    folder = options.assets / "datasets" / "trec-qc"
    questions = {part: _read(folder / f"{part}.txt") for part in ("train", "test")}
    found: dict[tuple[str, str], list[HierarchicalReport]] = {}
    for seed in options.seeds:
        for loss in options.losses:
            for decision, scores in _train(loss, seed, questions, options).items():
                found.setdefault((loss, decision), []).append(scores)
    print(f"{harness.cpu_name()}; seeds {options.seeds}, {options.epochs} epochs\n")
    print(harness.table_head("loss", "decision", "level 1", "level 2", "macro F1", "hF1", "range"))
    for (loss, decision), reports in found.items():
        f1 = [item.hierarchical_f1 for item in reports]
        columns = [
            [item.levels[0].accuracy for item in reports],
            [item.accuracy for item in reports],
            [item.f1_macro for item in reports],
            f1,
        ]
        means = [f"{100 * fmean(values):.2f}" for values in columns]
        harness.print_row(loss, decision, *means, f"{100 * min(f1):.2f}–{100 * max(f1):.2f}")


def _train(
    loss: str,
    seed: int,
    questions: dict[str, list[tuple[str, str]]],
    options: argparse.Namespace,
) -> dict[str, HierarchicalReport]:
    with tempfile.TemporaryDirectory(prefix="bert-studio-benchmark-") as scratch:
        file = Path(scratch) / "train.csv"
        with file.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([("label", "text"), *questions["train"]])
        job = JobSpec(
            name=loss,
            task=HierarchicalClassification(),
            base_model=FromCheckpoint(path=options.model.absolute()),
            data=FileData(
                path=file,
                reading=Reading(format="csv"),
                mapping=Mapping(text="text", label="label"),
                split=Split(validation=0, test=0),
            ),
            training=TrainingSpec(
                epochs=options.epochs,
                learning_rate=options.rate,
                batch_size=32,
                max_length=MAX_LENGTH,
                seed=seed,
            ),
            hardware=HardwareSpec(device="cpu", precision="fp32", threads=1),
        )
        run = RunFolder.create(Path(scratch) / "run", job)
        learner = LevelsLearner if loss == "levels" else HierarchicalClassificationLearner
        with patch.object(tasks, "HierarchicalClassificationLearner", learner):
            train(job, run)
        predictor = Predictor(run.checkpoint_folders()[-1], MAX_LENGTH)
        labels, texts = zip(*questions["test"], strict=True)
        collector = predictor.collect(Rows([*texts], labels=[*labels]))
    assert isinstance(collector, PathCollector)
    names = predictor.learner.labels
    gold = [names.index(label) for label in labels]
    p = torch.from_numpy(collector.logits).double().softmax(1).numpy()
    chosen = {"path": p.argmax(1), "top down": likely_paths(p, Levels(names).paths)}
    reports = {
        decision: report(collector.logits, gold, names, chosen[decision], len(names))
        for decision in DECISIONS
    }
    for decision, scores in reports.items():
        line = [round(item.accuracy, 4) for item in scores.levels]
        print(
            f"{loss}, seed {seed}, {decision}: {line}, hF1 {scores.hierarchical_f1:.4f}", flush=True
        )
    return reports


class LevelsLearner(HierarchicalClassificationLearner):
    """The loss is the sum over levels of -log P(node of the true path)."""

    def label_loss(self, logits: Tensor, targets: Tensor, count: float | Tensor) -> Tensor:
        hierarchy, log_p = Levels(self.labels), logits.log_softmax(1)
        total = logits.new_zeros(())
        for level in range(1, hierarchy.depth + 1):
            nodes = torch.from_numpy(cut(hierarchy.paths, level)[1])
            outside = nodes[targets][:, None] != nodes  # [B, C]
            total = total - log_p.masked_fill(outside, -torch.inf).logsumexp(1).sum()
        return total / count


def _read(file: Path) -> list[tuple[str, str]]:
    """Labels and questions."""
    lines = file.read_text(encoding="latin-1").splitlines()
    pairs = (line.split(" ", 1) for line in lines)
    return [(label, question) for label, question in pairs]


def _arguments(arguments: list[str]) -> argparse.Namespace:
    options = harness.parser("levels", __doc__)
    options.add_argument("assets", type=Path)
    options.add_argument("--model", type=Path, help="Default: the tiny BERT of the assets.")
    options.add_argument("--losses", nargs="+", choices=LOSSES, default=LOSSES)
    options.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    options.add_argument("--epochs", type=int, default=8)
    options.add_argument("--rate", type=float, default=5e-4)
    chosen = options.parse_args(arguments)
    chosen.model = chosen.model or chosen.assets / "models" / "bert-tiny-splade-en"
    return chosen
