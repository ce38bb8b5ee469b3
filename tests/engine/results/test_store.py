"""Files of predictions, and the log of test evaluations."""

from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.results import store
from engine.results.predictions import Predictions
from tests.engine.results.test_predictions import predictions


def of(part: str, step: int, fingerprint: str = "one") -> Predictions:
    made = predictions()
    update = {"part": part, "step": step, "fingerprint": fingerprint}
    return Predictions(made.info.model_copy(update=update), made.table)


def test_what_is_kept_is_listed_by_its_metadata(tmp_path: Path) -> None:
    assert store.stored_predictions(tmp_path / "none") == []
    best, other = tmp_path, tmp_path / "step-00000004"
    of("test", 9).write(store.predictions_file(best, "test"))
    of("validation", 9).write(store.predictions_file(best, "validation"))
    of("validation", 4).write(store.predictions_file(other, "validation"))
    store.predictions_file(other, "test").write_bytes(b"no parquet")
    (tmp_path / "elsewhere").mkdir()
    of("validation", 5).write(store.predictions_file(tmp_path / "elsewhere", "validation"))
    found = store.stored_predictions(tmp_path)
    assert [(one.info.part, one.info.step, one.rows) for one in found] == [
        ("validation", 9, 2),
        ("test", 9, 2),
        ("validation", 4, 2),
    ]
    assert found[2].file == store.predictions_file(other, "validation")


def test_each_look_at_test_rows_is_counted_for_its_data(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    assert store.logged_evaluations(folder) == []
    assert store.log_evaluation(folder, of("test", 1).info) == 1
    assert store.log_evaluation(folder, of("test", 2).info) == 2
    assert store.log_evaluation(folder, of("test", 2, "other").info) == 1
    with open(folder / store.LOG_FILE, "ab") as file:
        file.write(b"damaged\n")
    assert store.log_evaluation(folder, of("test", 3).info) == 3
    first, *_, last = store.logged_evaluations(folder, "one")
    assert (first.step, last.step, len(store.logged_evaluations(folder))) == (1, 3, 4)
    assert first.metrics == {"accuracy": 0.5} and first.at.tzinfo is not None


def test_a_link_in_the_place_of_the_looks_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine", encoding="utf-8")
    (tmp_path / store.LOG_FILE).symlink_to(tmp_path / "target")
    with pytest.raises(StudioError, match="link"):
        store.log_evaluation(tmp_path, of("test", 1).info)
    assert (tmp_path / "target").read_text(encoding="utf-8") == "mine"
