"""Estimated peak memory of a run against the measured one.

A fresh worker process is asked for the estimate, as the window does it; then the run is started,
draws real batches, evaluates, saves, and reports its peak. An estimate may be off by 15 %.
"""

import argparse
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import harness
from benchmarks.synthetic import PIECES, write

if TYPE_CHECKING:
    from engine.config.dataset import StoredData
    from engine.config.families.bert import BertSpec
    from engine.config.job import JobSpec
    from engine.messages.estimating import Estimated

BOUND = 0.15  # relative error of an estimate


@dataclass(frozen=True)
class Row:
    """A job of the table."""

    title: str
    layers: int
    width: int
    batch: int
    pretrains: bool = False
    recomputes: bool = False  # gradient checkpointing


ROWS = {
    "small": Row("classes, small 4/256, batches of 32", 4, 256, 32),
    "base": Row("classes, base 12/768, batches of 32", 12, 768, 32),
    "words": Row("masked words and next sentence, base, 8 rows of 128", 12, 768, 8, True),
    "checkpointing": Row(
        "classes, base, batches of 32, gradient checkpointing", 12, 768, 32, recomputes=True
    ),
    "large": Row("classes, large 24/1024, batches of 32", 24, 1024, 32),
    "large-checkpointing": Row(
        "classes, large, batches of 32, gradient checkpointing", 24, 1024, 32, recomputes=True
    ),
}


def main(arguments: list[str]) -> None:
    parser = harness.parser("memory", __doc__)
    parser.add_argument("--rows", type=_rows, default=tuple(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16"), default="auto")
    options = parser.parse_args(arguments)
    with harness.work_folder() as folder:
        os.environ["BERT_STUDIO_HOME"] = str(folder / "home")
        os.environ["OMP_NUM_THREADS"] = str(options.threads)
        data = import_data(folder)
        print(harness.table_head("run", "estimated, GB", "measured, GB", "difference"), flush=True)
        for name in options.rows:
            row = ROWS[name]
            job = make_job(row, data[row.pretrains], folder, options)
            estimated, measured = estimate(job, folder).memory, run(job, folder / f"run-{name}")
            error = estimated / measured - 1
            remark = "" if abs(error) <= BOUND else " **(too far off)**"
            harness.print_row(
                row.title,
                f"{estimated / 1e9:.2f}",
                f"{measured / 1e9:.2f}",
                f"{error:+.0%}{remark}",
            )
    print(f"\n{options.steps} steps, {options.threads} thread(s), {options.device}")


def import_data(folder: Path) -> "dict[bool, StoredData]":
    """Imported sentences with classes (False) and documents for pre-training (True)."""
    from engine.config.dataset import Mapping, Reading, Split, StoredData
    from engine.data.datasets.importing import import_dataset

    write(folder)
    table = Reading(format="csv", delimiter="\t")
    sources = {
        False: ("sentences.tsv", table, Mapping(text="text", label="label")),
        True: ("documents.txt", Reading(format="text"), Mapping(text="text")),
    }
    data = {}
    for pretrains, (name, reading, mapping) in sources.items():
        into = folder / "home" / "datasets" / name / "1"
        import_dataset(name, {"all": folder / name}, reading, mapping, Split(validation=0.02), into)
        data[pretrains] = StoredData(folder=into)
    return data


def make_job(row: Row, data: "StoredData", folder: Path, options: argparse.Namespace) -> "JobSpec":
    """Fine-tuning starts from a checkpoint, pre-training from scratch."""
    from engine.config.families.bert import bert
    from engine.config.job import FromCheckpoint, FromScratch, JobSpec
    from engine.config.tasks.pretraining import Pretraining
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec, TrainingSpec

    model = bert(row.layers, row.width, vocabulary=PIECES)
    return JobSpec(
        name=row.title,
        task=Pretraining(nsp=True) if row.pretrains else TextClassification(),
        base_model=FromScratch(model=model, tokenizer=folder / "vocab.txt")
        if row.pretrains
        else FromCheckpoint(path=checkpoint(model, folder)),
        data=data,
        training=TrainingSpec(
            steps=options.steps,
            batch_size=row.batch,
            max_length=128,
            gradient_checkpointing=row.recomputes,
            evaluate_every=max(1, options.steps // 2),  # so that steps follow an evaluation
        ),
        hardware=HardwareSpec(
            device=options.device, precision=options.precision, threads=options.threads
        ),
    )


def checkpoint(model: "BertSpec", folder: Path) -> Path:
    from engine.tokenizers.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_vocabulary(folder / "vocab.txt", lowercase=True)
    return harness.random_model(folder / f"model-{model.hidden_size}", model, tokenizer)


def estimate(job: "JobSpec", scratch: Path) -> "Estimated":
    """Answer of a fresh worker."""
    from engine.messages.estimating import Estimate, Estimated
    from engine.messages.question import Working, parse_answer
    from engine.runs import launch

    with subprocess.Popen(
        launch.worker("explore", str(scratch)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=launch.environment(),
        cwd=launch.CODE,
    ) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        question = Estimate(number=1, job=job)
        worker.stdin.write(question.line())
        worker.stdin.flush()
        answers = (parse_answer(line, question) for line in worker.stdout)
        last = next((answer for answer in answers if not isinstance(answer, Working)), None)
        worker.stdin.close()
    if not isinstance(last, Estimated):
        raise SystemExit(f"There is no estimate: {last}")
    return last


def run(job: "JobSpec", into: Path) -> int:
    """Peak memory in bytes of a training in a separate process."""
    from engine.messages.events import Ended
    from engine.runs import launch
    from engine.runs.folder import RunFolder

    folder = RunFolder.create(into, job)
    subprocess.run(launch.command(into), env=launch.environment(), cwd=launch.CODE, check=True)
    ended = [event for event in folder.events_after(0)[0] if isinstance(event, Ended)][-1]
    return ended.device_memory or ended.memory


def _rows(names: str) -> tuple[str, ...]:
    """Names of rows, separated by commas."""
    chosen = tuple(names.split(","))
    if unknown := [name for name in chosen if name not in ROWS]:
        raise argparse.ArgumentTypeError(f"no “{unknown[0]}”; there are {', '.join(ROWS)}")
    return chosen
