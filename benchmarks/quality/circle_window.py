"""The workflow of circle.py in a real window by mouse and keys, with a picture of every step.

The first training row is tripled, so that there is something to fix. tools/drive.py starts the
program on a virtual screen and carries out circle.steps. WORK/SET gets the pictures, the steps and
the home folder.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import harness
from benchmarks.quality.circle import SETS

TRAINING = 1800  # s for one training on a busy machine
WORKING = 600  # s for other work of a worker
STEPS = harness.read_sections(Path(__file__).with_name("circle.steps"))


@dataclass(frozen=True)
class Variant:
    """Differences between the sets."""

    correcting: str  # section “correct NAME” of the steps
    again: str  # copies of a row are added as “lines”, “sentences” or “” (none)
    has_classes: bool = False  # rows without a label can be labelled


VARIANTS: dict[str, Variant] = {
    "sst2": Variant("label errors", "lines", has_classes=True),
    "trec-qc": Variant("label errors", "lines", has_classes=True),
    "wnut17": Variant("tags", "sentences"),
    "stsb": Variant("cells", "lines"),
    "squad2-devhalf": Variant("texts", ""),
}

PARTS = ("opened", "imported", "fixed", "trained", "evaluated", "beside", "sliced", "explored")
PARTS += ("corrected", "saved", "again", "compared", "used", "labelled")


def main(options: argparse.Namespace) -> None:
    """Run the sets of the parsed options of circle.py."""
    failed = False
    for name in options.sets:
        work = options.work.absolute() / name
        work.mkdir(parents=True)
        part = SETS[name](options.datasets / name, work, options.fraction)
        began = time.perf_counter()
        error = run_window(
            VARIANTS[name],
            part.files,
            work,
            options.epochs,
            options.theme,
            options.size,
            options.scale,
        )
        print(f"{name}: {error or 'completed'}, {time.perf_counter() - began:.0f} s", flush=True)
        failed |= bool(error)
    sys.exit(failed)


def run_window(
    variant: Variant,
    files: Mapping[str, Path],
    work: Path,
    epochs: str = "3",
    theme: str = "light",
    size: str = "1280x800",
    scale: str = "1",
    parts: Sequence[str] = PARTS,
) -> str:
    """Run the workflow once in a window; return the error, or “”."""
    if variant.has_classes:
        files = {**files, "partly": partly_labelled(files["train"], work / "partly.jsonl")}
    if variant.again:
        repeat_first(files["train"], variant.again)
    steps = make_steps(variant, files, epochs, parts)
    return harness.drive(steps, work / "home", work, {"theme": theme}, size, scale)


def make_steps(
    variant: Variant, files: Mapping[str, Path], epochs: str, parts: Sequence[str] = PARTS
) -> str:
    """Steps of tools/drive.py for one set."""
    steps = STEPS | {"corrected": STEPS["to_data"] + STEPS[f"correct {variant.correcting}"]}
    if not variant.again:
        steps["fixed"] = ""
    if not variant.has_classes:
        steps["labelled"] = ""
    splits = ("train", "validation", "test")
    chosen = " ".join(f'"{files[split]}"' for split in splits if split in files)
    values = {
        "files": f"'{chosen}'",
        "new": f'"{files.get("new", "")}"',
        "no_predictions": f'"{files["train"]}"',
        "partly": f'"{files.get("partly", "")}"',
        "epochs": epochs,
        "training": TRAINING,
        "working": WORKING,
    }
    return "".join(steps[part] for part in parts).format(**values) + "quit\n"


def repeat_first(path: Path, form: str) -> None:
    """Append the first line, or the first sentence of a CoNLL file, twice."""
    text = path.read_text(encoding="utf-8")
    if form == "lines":
        text += 2 * text[: text.index("\n") + 1]
    else:
        text = text.rstrip("\n")
        first = text.split("\n\n", 1)[0]
        text = f"{text}\n\n{first}\n\n{first}\n"
    path.write_text(text, encoding="utf-8")


def partly_labelled(train: Path, to: Path) -> Path:
    """The rows of a file with only every third label."""
    rows = [json.loads(line) for line in train.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        row["label"] = "" if number % 3 else row["label"]
    to.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return to
