"""Prediction for a long file of short texts (`file`), GUI pauses meanwhile (`window`), and times in
fewer bits and of equal texts, without the start of the command (`fast`).

The starter model, fine-tuned for one step (for 100 in `fast`), predicts a class for texts of 3 to
30 words. `file` runs the command `predict`, reads its memory twice a second, and predicts some rows
with the pipeline of transformers on the same cores in batches of the same size. `window` applies
the model in the background while the window changes pages and types into Explore. On a busy machine
read the CPU seconds rather than the clock.
"""

import json
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import harness

BATCH = 32
BETWEEN = 150  # ms between two actions
FAST_STEPS = 100  # of a model whose predictions are no ties
START_ROWS = 100  # rows predicted to measure the start
PEER = """
import csv, itertools, json, sys
import torch
from transformers import pipeline
torch.set_num_threads(int(sys.argv[4]))
with open(sys.argv[2], newline="", encoding="utf-8") as file:
    texts = [row["text"] for row in itertools.islice(csv.DictReader(file), int(sys.argv[3]))]
answers = pipeline("text-classification", model=sys.argv[1], device="cpu")(texts, batch_size=32)
print(json.dumps([answer["label"] for answer in answers]))
"""


def main(arguments: list[str]) -> None:
    harness.run_part("applying", __doc__, {"file": file, "fast": fast, "window": window}, arguments)


class Usage(NamedTuple):
    """Seconds and memory in MB of a process."""

    wall: float
    cpu: float
    early: float  # memory after a quarter of the time
    peak: float
    output: str


def file(arguments: list[str]) -> None:
    parser = harness.parser("applying file", "Rate and memory against transformers.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peer-rows", type=int, default=20_000, help="rows for transformers")
    options = parser.parse_args(arguments)
    with harness.work_folder(options.work) as work:
        model, cores = fine_tuned(work), len(os.sched_getaffinity(0))
        count = options.peer_rows
        few, many = (
            write_texts(work / "few.csv", count),
            write_texts(work / "many.csv", options.rows),
        )
        peer = run("-c", PEER, model, few, count, cores)
        ours = predict(model, few, work / "few.jsonl")
        lines = (work / "few.jsonl").read_text(encoding="utf-8").splitlines()
        labels = [json.loads(line)["label"] for line in lines]
        same = sum(a == b for a, b in zip(labels, json.loads(peer.output), strict=True))
        print(f"{count:,} rows, {cores} cores; {same:,} predictions are the same")
        for name, usage in (("BERT Studio", ours), ("pipeline of transformers", peer)):
            print(f"  {name}: {usage.wall:.0f} s, {usage.cpu:.0f} s of CPU, {usage.peak:.0f} MB")
        print(f"  ratio of CPU time: {peer.cpu / ours.cpu:.2f}")
        full = predict(model, many, work / "many.csv.parquet")
        print(
            f"{options.rows:,} rows: {full.wall:.0f} s, {full.cpu:.0f} s of CPU, "
            f"{options.rows / full.wall:.0f} rows/s; memory {full.early:.0f} MB after a quarter "
            f"of the time, {full.peak:.0f} MB at the peak"
        )


def fast(arguments: list[str]) -> None:
    parser = harness.parser("applying fast", "Fewer bits, and equal texts, against exact rows.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--each", type=int, default=20, help="copies of an equal text")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--model", type=Path, help="of a run; default: the starter, for 100 steps")
    options = parser.parse_args(arguments)
    with harness.work_folder(options.work) as work:
        model = options.model or fine_tuned(work, FAST_STEPS)
        texts = write_texts(work / "distinct.csv", options.rows)
        start = write_texts(work / "start.csv", START_ROWS)
        head, *lines = texts.read_text("utf-8").splitlines()
        equal, few = work / "equal.csv", lines[: options.rows // options.each]
        equal.write_text("\n".join([head, *(few * options.each)]) + "\n", "utf-8")
        sides: dict[str, tuple[Path, tuple[str, ...]]] = {
            "exact": (texts, ()),
            "fast": (texts, ("--precision", "fast")),
            "equal": (equal, ()),
        }
        predict(model, texts, work / "first.jsonl", "--precision", "fast")  # measures once
        spent: dict[str, list[float]] = {name: [] for name in sides}
        started = work / "start.jsonl"
        for _ in range(options.pairs):
            for name, (given, more) in sides.items():
                usage = predict(model, given, work / f"{name}.jsonl", *more)
                spent[name].append(usage.cpu - predict(model, start, started, *more).cpu)
        for name in ("fast", "equal"):
            ratios = [a / b for a, b in zip(spent["exact"], spent[name], strict=True)]
            print(
                f"{options.rows:,} rows, {name}: {median(ratios):.2f} times exact "
                f"({min(ratios):.2f} to {max(ratios):.2f}) in CPU time; "
                f"{median(spent['exact']):.0f} s against {median(spent[name]):.0f} s"
            )


def fine_tuned(work: Path, steps: int = 1) -> Path:
    """Checkpoint of the starter model with a head for the sample, after so many steps."""
    from engine.files.shipped import sample_data, starter_model

    folder = work / f"run-{steps}"
    if not folder.exists():
        base = ("--data", sample_data(), "--base-model", starter_model())
        (work / "job.json").write_text(
            harness.run_studio("job", *base, f"--steps={steps}"), "utf-8"
        )
        harness.run_studio("train", work / "job.json", "--into", folder)
    return max((folder / "checkpoints").iterdir())


def write_texts(path: Path, rows: int) -> Path:
    """A CSV of random texts from the words of the sample; the same every time."""
    from engine.files.shipped import sample_data

    text = sample_data().read_text("utf-8").replace(",", " ").replace('"', " ")
    words, chance = sorted(set(text.split())), random.Random(1)
    with path.open("w", encoding="utf-8") as out:
        out.write("id,text\n")
        for row in range(rows):
            out.write(f"{row},{' '.join(chance.choices(words, k=chance.randint(3, 30)))}\n")
    return path


def predict(model: Path, texts: Path, out: Path, *options: str) -> Usage:
    command = ("predict", texts, "--model", model, "--text", "text", "--out", out, *options)
    return run("-m", "app", *command, f"--batch-size={BATCH}")


def run(*arguments: object) -> Usage:
    """Run Python to its end and sample its memory every half second."""
    import psutil

    began, cpu = time.perf_counter(), _children_cpu()
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=harness.PROJECT,
    )
    watched, memory, output = psutil.Process(process.pid), list[float](), ""
    while True:
        try:
            output, _ = process.communicate(timeout=0.5)
            break
        except subprocess.TimeoutExpired:
            memory.append(watched.memory_info().rss / 1e6)
    cpu = _children_cpu() - cpu
    if process.returncode:
        sys.exit(f"{arguments[:3]} ended with {process.returncode}")
    early = memory[len(memory) // 4] if memory else 0.0
    return Usage(time.perf_counter() - began, cpu, early, max(memory, default=0.0), output)


def _children_cpu() -> float:
    """CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def window(arguments: list[str]) -> None:
    parser = harness.parser("applying window", "GUI pauses without and with a running prediction.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--alone", type=float, default=10.0, help="seconds without the worker")
    options = parser.parse_args(arguments)
    with harness.work_folder(options.work) as work:
        model, texts = fine_tuned(work), write_texts(work / "window.csv", options.rows)
        with harness.offscreen_window(work / "home") as (studio, main_window):
            for _ in range(2):
                use(main_window)
            pauses = harness.Pauses()
            end = time.perf_counter() + options.alone
            while time.perf_counter() < end:
                use(main_window)
            print(f"alone: {pauses.summary()}", flush=True)
            apply_model(studio, main_window, model, texts, pauses)


def apply_model(
    studio: Any, main_window: Any, model: Path, texts: Path, pauses: harness.Pauses
) -> None:
    from app.using.applying_state import ApplyingState

    state = ApplyingState(studio, model, "Starter", "text_classification", main_window)
    state.open(texts)
    harness.wait_until(lambda: state.preview is not None or state.problem is not None)
    if state.problem is not None:
        sys.exit(f"{state.problem.problem} {state.problem.advice}")
    state.set_format(".parquet")
    began = time.perf_counter()
    state.start()
    pauses.reset()
    while state.is_running:
        use(main_window)
    if state.applied is None:
        sys.exit(str(state.problem))
    seconds = time.perf_counter() - began
    print(f"{state.applied.rows:,} rows predicted in {seconds:.0f} s: {pauses.summary()}")


def use(main_window: Any) -> None:
    """Visit the pages once and type a word into Explore."""
    from PySide6.QtTest import QTest

    for page in ("data", "runs", "models", "home", "explore"):
        main_window.go(page)
        QTest.qWait(BETWEEN)
    text = main_window.pages["explore"].text
    text.clear()
    for letter in "fluent":
        QTest.keyClicks(text, letter)
        QTest.qWait(BETWEEN // 5)
