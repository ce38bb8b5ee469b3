"""Train with the settings of plan.py and append a line per run to the results.

WORK is the folder of `fidelity prepare`. Runs in the results are skipped, so this may be stopped at
any time. One thread, fp32.
"""

import json
import os
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.defaults.plan import MINILM, SETS, STARTER, TEXTS, TINY, VALIDATION_ROWS, Run, runs
from benchmarks.fidelity.settings import data_folder
from engine.config.dataset import FileData, Mapping
from engine.config.families.bert import PRESETS
from engine.config.features import Features
from engine.config.job import FromCheckpoint, FromScratch, JobSpec
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec
from engine.data.formats.reading import recognise
from engine.files.shipped import starter_model
from engine.messages.events import Event, Measured, Noted, Prepared
from engine.runs.folder import RunFolder

SHUFFLE = 0  # seed of the order from which rows are taken
NEVER = 1_000_000  # steps between two checkpoints
POINTS = 24  # stored means of the training loss


def main(arguments: list[str]) -> None:
    parser = harness.parser("defaults measure", __doc__)
    parser.add_argument("work", type=Path, help="the folder of `fidelity prepare`")
    parser.add_argument("--tiny", type=Path, required=True, help="a checkpoint, L2 H128")
    parser.add_argument("--minilm", type=Path, required=True, help="a checkpoint, L6 H384")
    parser.add_argument("--results", type=Path, required=True)
    options = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    models = {TINY: options.tiny, STARTER: starter_model(), MINILM: options.minilm}
    lines = options.results.read_text("utf-8").splitlines() if options.results.exists() else []
    done = {json.loads(line)["key"] for line in lines}
    for run in runs():
        if run.key not in done:
            done.add(run.key)
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(_measure(run, options.work, models)) + "\n")


def _measure(run: Run, work: Path, models: dict[str, Path]) -> dict[str, Any]:
    """Train once; settings and results."""
    from engine.training.loop import train

    folder = work / "run"
    shutil.rmtree(folder, ignore_errors=True)
    job, events = _make_job(run, work, models), list[Event]()
    began = time.process_time()
    train(job, RunFolder.create(folder, job), events.append)
    seconds = time.process_time() - began
    shutil.rmtree(folder)
    prepared = next(event for event in events if isinstance(event, Prepared))
    name = prepared.best_metric.removeprefix("validation_")
    curves = _curves(events, name)
    scores = [value for _, value in curves[prepared.best_metric] if value is not None]
    best = max(scores) if prepared.higher_is_better else min(scores)
    line = {
        "key": run.key,
        "model": run.model,
        "set": run.data,
        "task": job.task.kind,
        "way": run.way,
        "rate": run.rate,
        "epochs": run.epochs,
        "warmup": run.warmup,
        "batch": run.batch,
        "max_length": SETS[run.data].max_length,
        "seed": run.seed,
        "rows": run.row_count,
        "examples": prepared.examples,
        "parameters": prepared.parameters,
        "steps": prepared.steps,
        "metric": name,
        "usual_answer": prepared.majority,
        "usual_share": round(prepared.majority_score, 4),
        "best": round(best, 4),
        "last": round(scores[-1], 4),
        "seconds": round(seconds, 1),
        "notes": [str(event.text) for event in events if isinstance(event, Noted)],
        "curves": curves,
    }
    print(run.key, line["best"], line["seconds"], flush=True)
    return line


def _make_job(run: Run, work: Path, models: dict[str, Path]) -> JobSpec:
    data = SETS[run.data]
    path = sample_file(data_folder(work), data.train, run.row_count)
    validation = sample_file(data_folder(work), data.validation, VALIDATION_ROWS)
    recognised = recognise(path)
    fresh = run.way == "from scratch"
    training: dict[str, object] = {
        "learning_rate": run.rate,
        "epochs": run.epochs,
        "warmup_ratio": run.warmup,
        "batch_size": run.batch,
        "max_length": data.max_length,
        "seed": run.seed,
        "save_every": NEVER,
    }
    features: dict[str, object] = {}
    if run.way == "LoRA":
        training["lora_rank"] = 8
    if run.way.startswith("probe"):
        features = {"vectors": "sum of last four", "probe": run.way.split()[1], "probe_size": 256}
        features |= {"learning_rate": run.rate, "epochs": run.epochs}
    return JobSpec(
        name=run.key[:200],
        task=TASKS[data.task](kind=data.task),
        base_model=FromScratch(model=PRESETS[run.model], tokenizer=starter_model())
        if fresh
        else FromCheckpoint(path=models[run.model].absolute()),
        data=FileData(
            path=path,
            validation=validation,
            reading=recognised.reading,
            mapping=Mapping(text="text") if run.data == TEXTS else recognised.mapping,
        ),
        training=TrainingSpec.model_validate(training),
        features=Features.model_validate(features),
        hardware=HardwareSpec(device="cpu", precision="fp32", threads=1),
    )


def sample_file(folder: Path, name: str, count: int) -> Path:
    """A file with `count` random rows, always the same."""
    stem, suffix = name.rsplit(".", 1)
    path = folder / f"{stem}-{count}.{suffix}"
    if not path.exists():
        text = (folder / name).read_text(encoding="utf-8")
        path.write_text(_sample(text, suffix, count), encoding="utf-8", newline="")
    return path


def _sample(text: str, suffix: str, count: int) -> str:
    if suffix == "json":
        content = json.loads(text)
        paragraphs = [item for article in content["data"] for item in article["paragraphs"]]
        kept = list[Any]()
        for paragraph in shuffled(paragraphs):
            if sum(len(item["qas"]) for item in kept) < count:
                kept.append(paragraph)
        content["data"] = [{"title": "", "paragraphs": kept}]
        return json.dumps(content, ensure_ascii=False) + "\n"
    if suffix == "conll":
        return "".join(f"{block}\n\n" for block in shuffled(text.strip().split("\n\n"))[:count])
    header, *lines = text.splitlines()
    return "".join(f"{line}\n" for line in [header, *shuffled(lines)[:count]])


def shuffled(rows: Sequence[Any]) -> list[Any]:
    return random.Random(SHUFFLE).sample(rows, len(rows))


def _curves(events: list[Event], best: str) -> dict[str, list[tuple[int, float | None]]]:
    """All validation curves, and the training loss averaged over spans of steps."""
    names = ("loss", "validation_loss", f"validation_{best}", "validation_accuracy")
    curves: dict[str, list[tuple[int, float | None]]] = {}
    for event in events:
        if isinstance(event, Measured) and event.name in names:
            curves.setdefault(event.name, []).append((event.step, event.value))
    loss = curves["loss"]
    size = max(1, len(loss) // POINTS)
    curves["loss"] = [_mean(loss[first : first + size]) for first in range(0, len(loss), size)]
    return {
        name: [(step, None if value is None else round(value, 4)) for step, value in points]
        for name, points in curves.items()
    }


def _mean(points: list[tuple[int, float | None]]) -> tuple[int, float | None]:
    """The last step and the mean of the values."""
    values = [value for _, value in points if value is not None]
    return points[-1][0], sum(values) / len(values) if values else None
