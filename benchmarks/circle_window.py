"""The whole circle in the real window, by mouse and keys, with a picture of every step.

    python benchmarks/circle_window.py DATASETS WORK [--sets sst2 …] [--share 0.1]
                                       [--theme dark] [--size 1100x700] [--scale 2]

DATASETS has a folder for each set of benchmarks/circle.py, of which a part is taken and 5 % of the
training rows are made wrong. The first training row stands three times, so that there is something
to fix. Then tools/drive.py starts the program on a virtual screen and does what a person would:
import, fix, fine-tune, read the results beside baselines, keep a slice, open a mistake in Explore,
correct rows, save a version, train on it again and see what flipped, compare by hand with a file
that has no predictions and with the first run, apply the model to a file, copy its code, and, where
rows have one class, import rows of which two of three have no label, label some, and train on them.
WORK/SET has the pictures, the steps, and the home folder that can be opened afterwards.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from circle import SETS
from driven import driven

TRAINING = 1800  # s for one training, on a machine that does other things beside it
WORKING = 600  # s for what else a worker does


@dataclass(frozen=True)
class Road:
    """What differs between the sets: which rows are corrected, and how."""

    correcting: str  # a name of CORRECTIONS
    again: str  # copies of a row are planted in this way: “lines”, “sentences” or “” for none
    has_classes: bool = False  # so that rows without a label can be labelled


ROADS: dict[str, Road] = {
    "sst2": Road("label errors", "lines", has_classes=True),
    "trec-qc": Road("label errors", "lines", has_classes=True),
    "wnut17": Road("tags", "sentences"),
    "stsb": Road("cells", "lines"),
    "squad2-devhalf": Road("texts", ""),
}

OPENED = """
    window "BERT Studio" 120
    key ctrl+2
    window Data
"""
IMPORTED = """
    click "push button:Import…"
    window "Import a data set"
    type {files}
    key Return
    window Data
    expect "push button:Import" 120
    gone "label:Checking*" 120
    shot 01-import.png
    click "push button:Import"
    window Data
    expect "push button:Fine-tune on this…" 120
"""
FIXED = """
    expect "Exact duplicates: Drop the copies" 120
    shot 02-checks.png
    click "Exact duplicates: Show 3 rows"
    wait 1
    shot 03-rows-of-a-check.png
    click "Exact duplicates: Drop the copies"
    window "Drop the copies"
    click "push button:Make new version"
    window Data
    expect "push button:Show what changed since version *" 120
    wait 2
    shot 04-fixed.png
"""
TRAINED = """
    click "push button:Fine-tune on this…"
    window Train
    click "push button:Next" "list:Data sets"
    click "push button:Next" "list:Models"
    click "push button:Next" "Epochs: {epochs}"
    click "Epochs: {epochs}"
    shot 05-settings.png
    click "push button:Next" "push button:Start*"
    wait 2
    shot 06-review.png
    click "push button:Start*"
    window Runs
    expect "State: finished" {training}
    shot 07-curves.png
"""
EVALUATED = """
    click "page tab:Results"
    expect "table:Rows with their predictions" 60
    wait 1
    shot 08-results.png
"""
BESIDE = """
    click "push button:Compare with baselines"
    gone "push button:Compare with baselines" {working}
    wait 2
    shot 09-baselines.png
"""
SLICED = """
    click "Add a condition"
    wait 1
    type "e"
    key Return
    wait 1
    click "push button:Keep as a slice…"
    wait 1
    key ctrl+a
    type "with e"
    key Return
    window Runs
    expect "push button:Rename slice…" 60
    wait 1
    shot 10-slices.png
    click "push button:Show all rows"
"""
EXPLORED = """
    click "push button:Mistakes first"
    click "table:Rows with their predictions"
    key ctrl+Home
    wait 1
    shot 11-mistakes.png
    key Return
    window Explore
    wait 8
    shot 12-explore.png
"""
TO_DATA = """
    key ctrl+2
    window Data
"""
CORRECTIONS = {
    "keys": """
    click "table:Rows of the data set"
    key ctrl+Home
    key 1
    key 2
    key 1
    wait 1
    shot 14-corrected.png
""",
    "label errors": """
    click "push button:Find likely label errors"
    expect "push button:Show all rows" {working}
    shot 13-label-errors.png
    key Return
    key Return
    key space
    key Return
    wait 1
    shot 14-corrected.png
""",
    "tags": """
    click "table:Rows of the data set"
    key ctrl+Home
    wait 1
    click "Words of the selected row"
    key Home
    key 1
    wait 1
    shot 14-corrected.png
""",
    "cells": """
    click "table:Rows of the data set"
    key ctrl+Home
    key End
    key F2
    wait 1
    shot 13-editing.png
    key ctrl+a
    type "1"
    key Return
    wait 1
    shot 14-corrected.png
""",
    "texts": """
    click "table:Rows of the data set"
    key ctrl+Home
    key Right Right
    key F2
    wait 1
    shot 13-editing.png
    key ctrl+End
    type " Indeed?"
    key Return
    wait 1
    shot 14-corrected.png
""",
}
SAVED = """
    click "push button:Save as version *"
    gone "push button:Save as version *" 120
    window Data
    expect "push button:Show what changed since version *" 120
    click "push button:Show what changed since version *"
    wait 2
    screen 15-changes.png
    key Escape
    wait 1
"""
AGAIN = """
    key ctrl+5
    window Runs
    dclick "table cell:Name: *"
    click "push button:Train again on version *"
    window Train
    wait 1
    shot 16-again.png
    click "push button:Next" "push button:Start*"
    click "push button:Start*"
    window Runs
    gone "push button:Train again on version *" 60
    expect "State: finished" {training}
    click "page tab:Results"
    expect "push button:Stop comparing" 60
    wait 2
    shot 17-flips.png
"""
COMPARED = """
    click "push button:Stop comparing"
    click "push button:Evaluate"
    key c
    window "Compare with"
    wait 1
    screen 22-compare-with.png
    click "push button:Choose a file…"
    window "Compare with"
    wait 1
    type {no_predictions}
    key Return
    window Runs
    wait 2
    shot 23-no-predictions.png
    gone "push button:Stop comparing"
    click "push button:Evaluate"
    key c
    window "Compare with"
    wait 1
    key Return
    window Runs
    expect "push button:Stop comparing" 60
    wait 1
    shot 24-compared.png
"""
LABELLED = """
    key ctrl+2
    window Data
    click "Back to data sets"
    click "push button:Import…"
    window "Import a data set"
    type {partly}
    key Return
    window Data
    expect "push button:Import" 120
    gone "label:Checking*" 120
    click "push button:Import"
    window Data
    click "push button:Label rows…"
    expect "push button:Show all rows" {working}
    key Return
    key Return
    key 1
    wait 1
    shot 25-labelling.png
    click "push button:Train again…"
    window Train 120
    expect "label:Version 3 skips the rows in which*" 120
    wait 1
    shot 26-train-on-labelled.png
"""
USED = """
    click "page tab:Use it"
    wait 2
    shot 18-use.png
    click "push button:Apply to a file…"
    window "to a file"
    click "push button:Choose a file…"
    window "Choose a file to predict for"
    type {new}
    key Return
    window "to a file"
    expect "table cell:*" 120
    wait 1
    screen 19-first-rows.png
    click "push button:Apply"
    expect "push button:Close" {working}
    screen 20-applied.png
    click "push button:Close"
    window Runs
    click "push button:Use it elsewhere…"
    window "Use it elsewhere"
    wait 2
    screen 21-elsewhere.png
    click "push button:Close"
    window Runs
"""
PARTS = ("opened", "imported", "fixed", "trained", "evaluated", "beside", "sliced", "explored")
PARTS += ("corrected", "saved", "again", "compared", "used", "labelled")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", nargs="+", choices=tuple(ROADS), default=list(ROADS))
    parser.add_argument("--share", type=float, default=0.1, help="of the rows that are taken")
    parser.add_argument("--epochs", default="3", help="as a button of the settings has it")
    parser.add_argument("--theme", default="light", choices=("light", "dark"))
    parser.add_argument("--size", default="1280x800")
    parser.add_argument("--scale", default="1")
    asked = parser.parse_args()
    failed = []
    for name in asked.sets:
        work = asked.work.absolute() / name
        work.mkdir(parents=True)
        part = SETS[name](asked.datasets / name, work, asked.share)
        began = time.perf_counter()
        said = went_round(
            ROADS[name], part.files, work, asked.epochs, asked.theme, asked.size, asked.scale
        )
        print(f"{name}: {said or 'closed'}, {time.perf_counter() - began:.0f} s", flush=True)
        failed += [name] if said else []
    sys.exit(1 if failed else 0)


def went_round(
    road: Road,
    files: Mapping[str, Path],
    work: Path,
    epochs: str = "3",
    theme: str = "light",
    size: str = "1280x800",
    scale: str = "1",
    parts: Sequence[str] = PARTS,
) -> str:
    """Go round once in a window of its own; what went wrong, or “”."""
    if road.has_classes:
        files = {**files, "partly": partly_labelled(files["train"], work / "partly.jsonl")}
    if road.again:
        REPEATS[road.again](files["train"])
    steps = steps_of(road, files, epochs, parts)
    return driven(steps, work / "home", work, {"theme": theme}, size, scale)


def steps_of(
    road: Road, files: Mapping[str, Path], epochs: str, parts: Sequence[str] = PARTS
) -> str:
    """The steps of tools/drive.py for one set."""
    chosen = " ".join(
        f'"{files[split]}"' for split in ("train", "validation", "test") if split in files
    )
    steps = {
        "opened": OPENED,
        "imported": IMPORTED,
        "fixed": FIXED if road.again else "",
        "trained": TRAINED,
        "evaluated": EVALUATED,
        "beside": BESIDE,
        "sliced": SLICED,
        "explored": EXPLORED,
        "corrected": TO_DATA + CORRECTIONS[road.correcting],
        "saved": SAVED,
        "again": AGAIN,
        "compared": COMPARED,
        "used": USED,
        "labelled": LABELLED if road.has_classes else "",
    }
    given = {
        "files": f"'{chosen}'",
        "new": f'"{files.get("new", "")}"',
        "no_predictions": f'"{files["train"]}"',
        "partly": f'"{files.get("partly", "")}"',
        "epochs": epochs,
        "training": TRAINING,
        "working": WORKING,
    }
    return "".join(steps[part] for part in parts).format(**given) + "    quit\n"


def repeated_lines(path: Path) -> None:
    """The first line twice more."""
    text = path.read_text(encoding="utf-8")
    path.write_text(text + 2 * text[: text.index("\n") + 1], encoding="utf-8")


def repeated_sentences(path: Path) -> None:
    """The first sentence twice more."""
    text = path.read_text(encoding="utf-8").rstrip("\n")
    first = text.split("\n\n", 1)[0]
    path.write_text(f"{text}\n\n{first}\n\n{first}\n", encoding="utf-8")


def partly_labelled(train: Path, to: Path) -> Path:
    """The rows of a file, of which only every third one keeps its label."""
    rows = [json.loads(line) for line in train.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(rows):
        row["label"] = "" if number % 3 else row["label"]
    to.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return to


REPEATS: dict[str, Callable[[Path], None]] = {
    "lines": repeated_lines,
    "sentences": repeated_sentences,
}

if __name__ == "__main__":
    main()
