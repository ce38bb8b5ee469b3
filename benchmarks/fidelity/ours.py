"""Fine-tune with BERT Studio, by its headless commands, under the settings of the reference.

    python benchmarks/fidelity/ours.py ASSETS/models/bert-tiny-splade-en WORK

Each run is three commands (job, train, evaluate), which are printed; its folder stays in WORK/runs.
Runs that are in the results already are not made again.
"""

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.fidelity import results
from benchmarks.fidelity.settings import (
    MAX_ANSWER,
    MAX_QUESTION,
    NULL_THRESHOLD,
    SEEDS,
    STRIDE,
    TASKS,
    Setting,
    data_folder,
)

PROJECT = Path(__file__).parents[2]
NEVER = 1_000_000  # steps: only the last checkpoint is saved


@dataclass(frozen=True)
class Kind:
    """Figures in the report of `evaluate`, and fields of the job, of a kind of task."""

    figures: Callable[[dict[str, Any]], dict[str, float]]
    fields: Mapping[str, object] = field(default_factory=dict)  # of the job, besides the settings


def _of_classes(report: dict[str, Any]) -> dict[str, float]:
    figures = {name: report[name] for name in ("accuracy", "f1_macro")}
    if len(report["classes"]) == 2:
        figures["f1"] = report["classes"][1]["f1"]
    return figures


def _of_questions(report: dict[str, Any]) -> dict[str, float]:
    names = ("exact_match", "f1")
    figures = {name: report[name] for name in names}
    if report["no_answer"]["questions"]:
        figures |= {f"has_answer_{name}": report["has_answer"][name] for name in names}
        figures["no_answer_exact_match"] = report["no_answer"]["exact_match"]
    return figures


def _select(*names: str) -> Callable[[dict[str, Any]], dict[str, float]]:
    return lambda report: {name: report[name] for name in names}


KINDS: dict[str, Kind] = {
    "text_classification": Kind(_of_classes),
    "regression": Kind(_select("pearson", "spearman")),
    "token_classification": Kind(_select("f1", "precision", "recall")),
    "multiple_choice": Kind(_select("accuracy")),
    "question_answering": Kind(
        _of_questions,
        {
            "task.doc_stride": STRIDE,
            "task.max_question_length": MAX_QUESTION,
            "task.max_answer_length": MAX_ANSWER,
            "task.no_answer_threshold": NULL_THRESHOLD,
        },
    ),
}


def main(options: list[str]) -> None:
    parser = harness.parser("fidelity ours", __doc__)
    parser.add_argument("checkpoint", type=Path, help="the folder with the starting weights")
    parser.add_argument("work", type=Path, help="the folder that prepare.py filled")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args(options)
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # of `evaluate`, which has no option
    checkpoint, work = arguments.checkpoint.absolute(), arguments.work.absolute()
    versions = {name: version(name) for name in ("bert-studio", "torch")}
    for seed in arguments.seeds:
        for task in arguments.tasks:
            if not results.exists(work, "ours", task, seed):
                began = time.monotonic()
                figures = run(checkpoint, work, task, seed, arguments.threads)
                seconds = time.monotonic() - began
                results.add(work, "ours", task, seed, figures, seconds, versions)


def run(checkpoint: Path, work: Path, task: str, seed: int, threads: int) -> dict[str, float]:
    """Train once; the figures of the last weights."""
    setting, folder = TASKS[task], work / "runs" / f"{task}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    kind, data, job = KINDS[setting.kind], data_folder(work), folder / "job.json"
    options = _job_options(setting, kind, seed, threads)
    job.write_text(
        _studio("job", "--data", data / setting.train, "--base-model", checkpoint, *options),
        encoding="utf-8",
    )
    _studio("train", job, "--into", folder / "run")
    _check_finished(folder / "run")
    last = max((folder / "run" / "checkpoints").glob("step-*"))
    figures: dict[str, float] = {}
    for prefix, name in setting.evaluated.items():
        length = ("--max-length", setting.max_length)
        output = _studio("evaluate", data / name, "--model", last, *length, "--json")
        scores = kind.figures(json.loads(output))
        figures |= {prefix + figure: round(value, 6) for figure, value in scores.items()}
    return figures


def _check_finished(run: Path) -> None:
    """Exit unless the run was trained to its end; a stopped run also ends without an error."""
    last = json.loads((run / "events.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    if last["kind"] != "ended" or last["outcome"] != "finished":
        raise SystemExit(f"{run} was not trained to its end, so it is not evaluated.")


def _job_options(setting: Setting, kind: Kind, seed: int, threads: int) -> list[object]:
    """Every setting of a run; no row is kept for validation, since the last weights count."""
    fields = {
        "training.warmup_ratio": setting.warmup,
        "training.weight_decay": setting.weight_decay,
        "training.max_grad_norm": setting.clip,
        "training.save_every": NEVER,
        "data.split.validation": 0,
        "hardware.device": "cpu",
        **kind.fields,
    }
    return [
        *("--task", setting.kind, "--epochs", setting.epochs, "--batch-size", setting.batch),
        *("--learning-rate", setting.learning_rate, "--max-length", setting.max_length),
        *("--seed", seed, "--threads", threads),
        *(part for name, value in fields.items() for part in ("--set", f"{name}={value}")),
    ]


def _studio(*arguments: object) -> str:
    """Print a headless command and return its output; exit if it fails."""
    print("bert-studio", shlex.join(map(str, arguments)), file=sys.stderr, flush=True)
    return harness.run_studio(*arguments)
