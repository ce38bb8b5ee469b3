"""Stored rows that are predicted, and what becomes of the predictions; for any thread."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from app.row_edits import Cells
from engine.config.dataset import SPLITS, Mapping, Reading, Source, Split
from engine.config.tasks import TASKS, parse_task
from engine.data.columns.fit import matching_target
from engine.data.datasets.coding import Coding, read_coding, renumber
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.relabelling import read_corrections
from engine.data.datasets.store import Dataset, open_dataset
from engine.messages.applying import Applied

StoredRows = Source | Literal["unlabelled"] | tuple[int, ...]


def open_with_counts(
    version: Path, task: str, labels: Sequence[str]
) -> tuple[Dataset, dict[StoredRows, int]]:
    """A version, with its column of these labels if it has one, and the rows of each choice."""
    stored = open_dataset(version)
    stored = stored.with_target(matching_target(stored.spec, labels))
    choices: tuple[StoredRows, ...] = ("all", "unlabelled", *SPLITS)
    return stored, {choice: len(stored.select(choice, parse_task(task))) for choice in choices}


def import_result(
    answer: Applied,
    task: str,
    mapping: Mapping,
    stored: Dataset | None,
    rows: StoredRows,
    name: str,
    folder: Path,
) -> Path:
    """Import the written rows with the predictions as their labels, and delete the file.

    Rows of a `stored` version keep who coded them and how they came up.
    """
    read = TASKS[task].info.reads
    output = next((role for role in ("tags", "answers") if role in read), "label")
    roles = mapping.model_copy(update={output: answer.prediction})
    coding: Coding = {}
    if stored is not None:
        kept = stored.select(rows, parse_task(task))
        coding = renumber(read_coding(stored.folder), kept.tolist())
    reading = Reading(format="jsonl")
    import_dataset(name, {"all": answer.out}, reading, roles, Split(), folder, coding=coding)
    answer.out.unlink()
    return folder


def read_result(answer: Applied, stored: Dataset) -> Cells:
    """The predictions as cells of the stored rows; the written file is deleted."""
    edits = read_corrections(answer.out, stored, answer.prediction)
    answer.out.unlink()
    return {row: dict(edit.cells) for row, edit in edits.rows.items()}
