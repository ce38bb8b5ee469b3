"""Rows with labels that the model does not know are evaluated, as errors, for every task."""

from dataclasses import replace

import numpy as np
import pytest

from engine.config.tasks import TASKS
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.models.checkpoint import save
from engine.results.labels import labels
from engine.results.measures import interval, measures
from engine.results.neglected import neglect, never_predicted, unknown_classes
from engine.tasks.predicting import Predictor
from engine.tasks.row_predictions import Origin
from engine.tasks.scoring import score_rows
from engine.training.context import RunContext
from engine.training.setup import set_up
from tests.engine.training import small
from tests.tasks.jobs import HEAD_KINDS, JOBS

NEW = "brand new"
HEADS = {kind: TASKS[kind].info.head for kind in HEAD_KINDS}
WITH_CLASSES = [
    kind
    for kind, head in HEADS.items()
    if head is not None
    and (head.is_multi_label or head.tags_tokens or (head.classifies and not head.outputs))
]


def with_new_label(rows: Rows, every: bool = False) -> Rows:
    """The first row, or every one, has a label that no row had."""
    chosen = range(len(rows) if every else 1)
    if rows.tags is not None:
        tags = [" ".join(["S-NEW" if n in chosen else tag for tag in cell.split()])
                for n, cell in enumerate(rows.tags)]  # fmt: skip
        return replace(rows, tags=tags)
    assert rows.labels is not None
    cells = [NEW if n in chosen else label for n, label in enumerate(rows.labels)]
    return replace(rows, labels=cells)


@pytest.mark.parametrize("kind", WITH_CLASSES)
def test_rows_of_new_classes_count_as_misclassified(kind, tmp_path):
    job = JOBS[kind](tmp_path)
    setup = set_up(RunContext(job, small.new_run(tmp_path / "run", job)))
    learner, dataset = setup.data.learner, setup.data.dataset
    save(
        tmp_path / "model",
        setup.network,
        setup.data.tokenizer,
        learner.labels,
        extra={"bert_studio_task": learner.task.model_dump(mode="json")},
    )
    predictor = Predictor(tmp_path / "model", batch=8)
    rows, cells = with_new_label(dataset.rows("validation")), dataset.cells("validation")
    origin = Origin("file", "new.csv", dataset.spec.mapping, "Run")
    scored = score_rows(predictor, rows, cells, origin)
    made, report = scored.predictions, scored.report
    assert report is not None
    new = "S-NEW" if rows.tags is not None else NEW
    assert any(f"counted as misclassified: “{new}”" in note for note in scored.notes)
    assert new in made.table["gold"][0].as_py()
    assert made.numbers("score")[0] < 1
    assert made.info.labels == predictor.learner.labels, "the classes of the model stay"
    stored = {measure.name: interval(measure).value for measure in measures(made)}
    for name, value in report.metrics().items():
        assert np.isfinite(value), name
        if name in stored:
            assert stored[name] == pytest.approx(value, abs=1e-6), name
    if rows.tags is None:
        assert new in labels(made)
    assert unknown_classes(made) == ((new.removeprefix("S-"),))
    assert neglect(made).startswith(f"Unknown to the model: “{new.removeprefix('S-')}”.")
    assert new not in never_predicted(made)
    with pytest.raises(StudioError, match="knows"):  # the wrong column, or model
        Predictor(tmp_path / "model").evaluate(with_new_label(rows, every=True))


def test_tasks_with_classes_are_known():
    assert {"text_classification", "multi_label", "token_classification"} <= set(WITH_CLASSES)
