"""Rows without a label belong to a data set: kept, left out of training, predicted or labelled."""

from pathlib import Path

import numpy as np
import pytest

from engine.config.dataset import Split
from engine.config.job import JobSpec
from engine.config.tasks import TASKS
from engine.data.columns.fit import (
    dataset_problems,
    labelled_spec,
    open_targets,
    unlabelled_notes,
    unlabelled_rows,
)
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import Dataset, open_dataset, resolve
from engine.tasks import learner_for
from tests.engine.training import small
from tests.tasks.jobs import JOBS

MAKE = JOBS | {"flags": lambda folder: small.learning("flags", folder)}
SPLIT = Split(validation=0.2, test=0.1)


def unlabel(job: JobSpec, folder: Path) -> tuple[Dataset, Dataset, list[int]]:
    """The data of a job as version 1, and as version 2 without the labels of every third row."""
    source = job.data.model_copy(update={"split": SPLIT})
    first = resolve(source, folder / "films" / "1")
    columns = first.spec.mapping.label_columns
    rows = list(range(0, len(first), 3))
    edits = Edits(cells={row: dict.fromkeys(columns, "") for row in rows})
    target = folder / "films" / "2"
    if columns:
        derive(first.folder, target, 2, edits=edits)
    else:
        derive(first.folder, target, 2)
    return first, open_dataset(target), rows if columns else []


@pytest.mark.parametrize("name", MAKE)
def test_rows_without_a_label_are_kept_and_not_learned(name, tmp_path):
    job = MAKE[name](tmp_path)
    task = job.task
    first, dataset, rows = unlabel(job, tmp_path)
    spec, columns = dataset.spec, task.label_columns(dataset.spec.mapping)
    assert len(dataset) == len(first) and sum(spec.rows.values()) == len(first)
    assert sum(spec.unlabelled.values()) == len(rows)
    assert not dataset_problems(spec, task)
    lost = [f"{len(rows)} labels removed."] if spec.mapping.label_columns else []
    assert list(spec.changes) == lost
    if not columns:  # an empty cell is a label, or there are none
        assert not len(dataset.unlabelled(task)) and dataset.for_task(task) is dataset
        is_open = any(map(spec.empty.get, open_targets(spec.mapping, task)))
        assert unlabelled_notes(spec, task) == ([task.info.empty_label] if is_open else [])
        return
    assert dataset.unlabelled(task).tolist() == rows == dataset.select("unlabelled", task).tolist()
    assert dataset.find(label="").tolist() == rows
    (note,) = unlabelled_notes(spec, task)
    assert f"{len(rows):,} of {len(first):,} rows (33." in note
    view = dataset.for_task(task)
    assert view.spec.rows == labelled_spec(spec, task).rows
    assert view.identity != dataset.identity and view.spec.fingerprint == spec.fingerprint
    learner = learner_for(task)
    learner.fit_labels(learner.rows(view, "train"))
    for split in ("train", "validation", "test"):
        seen = view.rows(split)
        missing = unlabelled_rows(spec, task).get(split, 0)
        assert view.left_out(split) == missing
        assert len(seen) == dataset.spec.rows[split] - missing == len(view.cells(split)["text"])
        numbers = dataset.select(split)[np.array(seen.numbers, dtype=np.int64)]
        assert not {*numbers.tolist()} & {*rows}, "numbers count all rows of the split"
        assert list(seen.lines or ()) == dataset.column("_line").to_numpy()[numbers].tolist()
    labels = {row: {name: first.page(row, 1)[0][name] for name in columns} for row in rows[1:]}
    derive(dataset.folder, tmp_path / "films" / "3", 3, edits=Edits(cells=labels))
    third = open_dataset(tmp_path / "films" / "3")
    assert third.unlabelled(task).tolist() == rows[:1]
    assert third.spec.changes == (f"{len(rows) - 1} rows labelled.",)
    assert [third.column(name).to_pylist()[1:] for name in columns] == [
        first.column(name).to_pylist()[1:] for name in columns
    ]
    if name == "flags":  # yes/no columns without any yes or no: no label applies
        return
    none = {row: dict.fromkeys(columns, "") for row in range(len(first))}
    derive(dataset.folder, tmp_path / "none", 4, edits=Edits(cells=none))
    (problem,) = dataset_problems(open_dataset(tmp_path / "none").spec, task)
    assert problem.problem == "No training row has a label."


def test_a_task_knows_rows_without_a_label_or_says_what_they_count_as():
    for kind, task in TASKS.items():
        info = task.info
        roles = {
            role
            for role in (*info.reads, *info.may_read)
            if role in ("label", "flags", "tags", "answers")
        }
        open_roles = roles - {*info.labelled_by}
        assert bool(open_roles) == bool(info.empty_label), kind
        assert not {*info.labelled_by} & {*info.required_cells}, kind
