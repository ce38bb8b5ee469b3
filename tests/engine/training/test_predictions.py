"""A run saves the validation predictions of its best checkpoint."""

import numpy as np
import pytest

from engine.data.datasets.store import open_dataset
from engine.errors import DiskFull
from engine.messages.events import Measured, Saved
from engine.results.predictions import Predictions, read_predictions
from engine.results.store import predictions_file, stored_predictions
from engine.runs.folder import RunFolder
from engine.tasks.predicting import Predictor
from engine.tasks.row_predictions import Origin
from engine.tasks.scoring import score_rows
from engine.training import evaluation
from engine.training.loop import train
from tests.engine.training import small
from tests.engine.training.finished import notes


def stored_rows(run: RunFolder) -> Predictions:
    return read_predictions(predictions_file(run.results, "validation"))


def best_step(run: RunFolder) -> int:
    return [m.step for m in run.milestones() if isinstance(m, Saved) and m.best][-1]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("whole")
    return small.trained(folder / "run", small.classifying(folder, steps=12, evaluate_every=3))


def rescore(run: RunFolder) -> Predictions:
    """Predictions of the best checkpoint, computed as Explore does."""
    job, best = run.job(), best_step(run)
    predictor = Predictor(run.checkpoint(best), job.training.max_length)
    dataset = open_dataset(run.dataset)
    rows, cells = dataset.rows("validation"), dataset.cells("validation")
    origin = Origin("validation", job.data.name, dataset.spec.mapping, job.name, best)
    return score_rows(predictor, rows, cells, origin).predictions


def test_predictions_are_those_of_the_best_checkpoint(run):
    stored, best, job = stored_rows(run), best_step(run), run.job()
    assert (stored.info.step, stored.info.model, stored.info.part) == (best, job.name, "validation")
    curve = {
        e.name: e.value for e in run.all_events() if isinstance(e, Measured) and e.step == best
    }
    assert stored.info.metrics["accuracy"] == curve["validation_accuracy"]
    assert [(p.info, p.rows) for p in stored_predictions(run.results)] == [
        (stored.info, len(stored))
    ]
    rescored = rescore(run)
    assert rescored.table["predicted"].equals(stored.table["predicted"])
    np.testing.assert_allclose(rescored.scores, stored.scores, atol=1e-5)
    assert rescored.info.metrics == pytest.approx(stored.info.metrics, abs=1e-5)


def test_predictions_name_their_precision(run, tmp_path):
    assert stored_rows(run).info.precision == "fp32"
    job = run.job()
    hardware = job.hardware.model_copy(update={"precision": "bf16"})
    bf16_run = small.trained(tmp_path / "bf16", job.model_copy(update={"hardware": hardware}))
    assert stored_rows(bf16_run).info.precision == "bf16"
    rescored = rescore(bf16_run)
    assert rescored.info.precision == "fp32", "as Explore computes it"
    assert not np.array_equal(rescored.scores, stored_rows(bf16_run).scores), "precision matters"
    np.testing.assert_allclose(
        rescored.scores, stored_rows(bf16_run).scores, atol=2e-2
    )  # bf16 has 8 bits


def test_a_stopped_run_has_the_predictions_of_an_uninterrupted_one(run, tmp_path):
    job, resumed = run.job(), small.new_run(tmp_path / "parts", run.job())
    assert train(job, resumed, resumed.append, lambda: small.has_seen(resumed, 4)) == ("stopped", 4)
    assert stored_rows(resumed).info.step == 3
    assert train(job, resumed, resumed.append) == ("finished", 12)
    expected, actual = stored_rows(run), stored_rows(resumed)
    assert expected.table.equals(actual.table), "bit for bit"
    excluded = {"made"}
    assert expected.info.model_dump(exclude=excluded) == actual.info.model_dump(exclude=excluded)


@pytest.mark.parametrize("removable", [True, False])
def test_a_failed_save_of_predictions_is_noted_and_the_run_ends(removable, tmp_path, monkeypatch):
    def raise_disk_full(*_: object) -> None:
        raise DiskFull("There is no room left.")

    monkeypatch.setattr(evaluation, "build_predictions", raise_disk_full)
    job = small.classifying(tmp_path, steps=1, evaluate_every=1, epochs=1)
    run = small.new_run(tmp_path / "other", job)
    older = predictions_file(run.results, "validation")
    if removable:
        run.results.mkdir()
        older.write_bytes(b"of another step")
    else:
        older.mkdir(parents=True)  # a folder cannot be unlinked
    events: list[object] = []
    assert train(job, run, events.append) == ("finished", 1)
    text = " ".join(notes(events))
    assert "could not be saved: There is no room left." in text
    assert ("are still in validation.parquet: they could not" in text) is not removable
    assert not stored_predictions(run.results) and older.exists() is not removable
