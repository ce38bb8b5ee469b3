"""How fast a model is applied to a long file of short texts, and how much memory that takes.

    python benchmarks/applying.py WORK [--rows 1000000] [--beside 20000]

The shipped starter, fine-tuned for a step, predicts a class for texts of 3 to 30 words, by the
command `predict` in a process of its own, whose memory is read twice a second. Some of the rows
are predicted by the pipeline of transformers, too, on the same cores and in batches as large.
Where the machine is busy with other things, seconds of the processor say more than the clock.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.files.shipped import sample_data, starter_model

REPOSITORY = Path(__file__).resolve().parents[1]
LONGEST = 30  # words of a text
BATCH = 32
PAUSE = 0.5  # s between two readings of the memory
PEER = """
import csv, itertools, json, sys
import torch
from transformers import pipeline
torch.set_num_threads(int(sys.argv[4]))
with open(sys.argv[2], newline="", encoding="utf-8") as file:
    texts = [row["text"] for row in itertools.islice(csv.DictReader(file), int(sys.argv[3]))]
said = pipeline("text-classification", model=sys.argv[1], device="cpu")(texts, batch_size=32)
print(json.dumps([one["label"] for one in said]))
"""


class Taken(NamedTuple):
    """What a process took: seconds by the clock and of the processor, MB when a quarter of its
    time had passed, and MB at the most."""

    clock: float
    work: float
    early: float
    peak: float
    printed: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--beside", type=int, default=20_000, help="rows for transformers")
    asked = parser.parse_args()
    work = asked.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    model, cores = fine_tuned(work), len(os.sched_getaffinity(0))
    few, many = texts(work / "few.csv", asked.beside), texts(work / "many.csv", asked.rows)
    theirs = run(["-c", PEER, str(model), str(few), str(asked.beside), str(cores)])
    ours = applied(model, few, work / "few.jsonl")
    labels = [json.loads(line)["label"] for line in (work / "few.jsonl").open(encoding="utf-8")]
    same = sum(a == b for a, b in zip(labels, json.loads(theirs.printed), strict=True))
    print(f"{asked.beside:,} rows, {cores} cores; {same:,} predictions are the same")
    for name, taken in (("BERT Studio", ours), ("pipeline of transformers", theirs)):
        print(
            f"  {name}: {taken.clock:.0f} s, {taken.work:.0f} s of the processor, "
            f"{taken.peak:.0f} MB"
        )
    print(f"  ratio: {theirs.work / ours.work:.2f} of the processor")
    whole = applied(model, many, work / "many.csv.parquet")
    print(
        f"{asked.rows:,} rows: {whole.clock:.0f} s, {whole.work:.0f} s of the processor, "
        f"{asked.rows / whole.clock:.0f} rows a second; {whole.early:.0f} MB after a quarter of "
        f"the time, {whole.peak:.0f} MB at the most"
    )


def fine_tuned(work: Path) -> Path:
    """The starter with a head for the sample, after one step."""
    folder = work / "run"
    if not folder.exists():
        given = ["--data", sample_data(), "--base-model", starter_model(), "--steps=1"]
        job = run(["-m", "app", "job", *map(str, given)]).printed
        (work / "job.json").write_text(job, encoding="utf-8")
        run(["-m", "app", "train", str(work / "job.json"), "--into", str(folder)])
    return max((folder / "checkpoints").iterdir())


def texts(path: Path, rows: int) -> Path:
    """A CSV of made-up texts from the words of the sample, the same every time."""
    words = sorted(
        set(sample_data().read_text("utf-8").replace(",", " ").replace('"', " ").split())
    )
    chance = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        file.write("id,text\n")
        for row in range(rows):
            file.write(f"{row},{' '.join(chance.choices(words, k=chance.randint(3, LONGEST)))}\n")
    return path


def applied(model: Path, file: Path, out: Path) -> Taken:
    given = ["predict", file, "--model", model, "--text", "text", "--out", out]
    return run(["-m", "app", *map(str, given), f"--batch-size={BATCH}"])


def run(arguments: list[str]) -> Taken:
    """Run Python to its end, and read its memory meanwhile."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    told, memory, work = psutil.Process(process.pid), list[float](), 0.0
    while True:
        try:
            printed, _ = process.communicate(timeout=PAUSE)
            break
        except subprocess.TimeoutExpired:
            memory.append(told.memory_info().rss / 1e6)
            work = sum(told.cpu_times()[:2])
    if process.returncode:
        sys.exit(f"{' '.join(arguments[:3])} ended with {process.returncode}")
    early = memory[len(memory) // 4] if memory else 0.0
    clock = time.perf_counter() - began
    return Taken(clock, work, early, max(memory, default=0.0), printed)


if __name__ == "__main__":
    main()
