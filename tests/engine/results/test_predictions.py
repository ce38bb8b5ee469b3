"""Storage of predictions."""

from datetime import UTC, datetime

import numpy as np
import pytest

from engine.config.dataset import Mapping
from engine.errors import StudioError
from engine.results import store
from engine.results.predictions import PredictionInfo, Predictions, read_predictions


def predictions() -> Predictions:
    info = PredictionInfo(
        task="text_classification",
        labels=("bad", "good"),
        part="validation",
        source="Reviews",
        mapping=Mapping(text="text", label="label"),
        model="First",
        made=datetime(2026, 1, 1, tzinfo=UTC),
        metrics={"accuracy": 0.5},
    )
    record = {
        "row": [0, 1],
        "line": [2, 3],
        "gold": ["good", "bad"],
        "predicted": ["good", "good"],
        "probability": np.array([0.9, 0.8], dtype=np.float32),
        "loss": [0.1, float("nan")],
        "score": [1, 0],
        "scores": [[0.1, 0.9], [0.2, 0.8]],
    }
    return Predictions.from_columns(
        info, record, {"text": ["fine", "poor"], "label": ["good", "bad"]}
    )


def test_predictions_survive_a_round_trip(tmp_path):
    original = predictions()
    original.write(tmp_path / "results" / "validation.parquet")
    result = read_predictions(tmp_path / "results" / "validation.parquet")
    assert result.info == original.info
    assert result.table.equals(original.table)
    assert result.columns == ("text", "label")
    assert result.cells("text").to_pylist() == ["fine", "poor"]
    assert result.is_labelled
    np.testing.assert_allclose(result.scores, [[0.1, 0.9], [0.2, 0.8]])
    np.testing.assert_array_equal(result.numbers("loss"), np.array([0.1, np.nan], np.float32))
    assert result.table["details"].to_pylist() == ["", ""]


def test_an_invalid_file_is_refused(tmp_path):
    for content in [b"", b"no parquet"]:
        file = tmp_path / "validation.parquet"
        file.write_bytes(content)
        with pytest.raises(StudioError, match="cannot be read") as error:
            read_predictions(file)
        assert "elete" not in error.value.advice  # it may be the user's own file
        with pytest.raises(StudioError, match="is missing"):
            read_predictions(tmp_path / "none.parquet")


def build(part: str, step: int, fingerprint: str = "one") -> Predictions:
    rows = predictions()
    update = {"part": part, "step": step, "fingerprint": fingerprint}
    return Predictions(rows.info.model_copy(update=update), rows.table)


def test_stored_predictions_are_listed_by_metadata(tmp_path):
    assert store.stored_predictions(tmp_path / "none") == []
    best, other = tmp_path, tmp_path / "step-00000004"
    build("test", 9).write(store.predictions_file(best, "test"))
    build("validation", 9).write(store.predictions_file(best, "validation"))
    build("validation", 4).write(store.predictions_file(other, "validation"))
    store.predictions_file(other, "test").write_bytes(b"no parquet")
    (tmp_path / "elsewhere").mkdir()
    build("validation", 5).write(store.predictions_file(tmp_path / "elsewhere", "validation"))
    result = store.stored_predictions(tmp_path)
    assert [(item.info.part, item.info.step, item.rows) for item in result] == [
        ("validation", 9, 2),
        ("test", 9, 2),
        ("validation", 4, 2),
    ]
    assert result[2].file == store.predictions_file(other, "validation")


def test_evaluations_on_test_rows_are_counted_for_each_data_set(tmp_path):
    folder = tmp_path / "results"
    assert store.logged_evaluations(folder) == []
    assert store.log_evaluation(folder, build("test", 1).info) == 1
    assert store.log_evaluation(folder, build("test", 2).info) == 2
    assert store.log_evaluation(folder, build("test", 2, "other").info) == 1
    with open(folder / store.LOG_FILE, "ab") as file:
        file.write(b"damaged\n")
    assert store.log_evaluation(folder, build("test", 3).info) == 3
    first, *_, last = store.logged_evaluations(folder, "one")
    assert (first.step, last.step, len(store.logged_evaluations(folder))) == (1, 3, 4)
    assert first.metrics == {"accuracy": 0.5} and first.at.tzinfo is not None


def test_the_evaluation_log_is_not_written_through_a_link(tmp_path):
    (tmp_path / "target").write_text("mine", encoding="utf-8")
    (tmp_path / store.LOG_FILE).symlink_to(tmp_path / "target")
    with pytest.raises(StudioError, match="link"):
        store.log_evaluation(tmp_path, build("test", 1).info)
    assert (tmp_path / "target").read_text(encoding="utf-8") == "mine"
