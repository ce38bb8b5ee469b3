"""Storage of predictions."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from engine.config.dataset import Mapping
from engine.errors import StudioError
from engine.results.predictions import PredictionInfo, Predictions, read_predictions


def predictions() -> Predictions:
    facts = PredictionInfo(
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
        facts, record, {"text": ["fine", "poor"], "label": ["good", "bad"]}
    )


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    written = predictions()
    written.write(tmp_path / "results" / "validation.parquet")
    found = read_predictions(tmp_path / "results" / "validation.parquet")
    assert found.info == written.info
    assert found.table.equals(written.table)
    assert found.columns == ("text", "label")
    assert found.cells("text").to_pylist() == ["fine", "poor"]
    assert found.is_labelled
    np.testing.assert_allclose(found.scores, [[0.1, 0.9], [0.2, 0.8]])
    np.testing.assert_array_equal(found.numbers("loss"), np.array([0.1, np.nan], np.float32))
    assert found.table["details"].to_pylist() == ["", ""]


def test_another_file_is_refused_in_words(tmp_path: Path) -> None:
    for content in [b"", b"no parquet"]:
        file = tmp_path / "validation.parquet"
        file.write_bytes(content)
        with pytest.raises(StudioError, match="cannot be read") as refused:
            read_predictions(file)
        assert "elete" not in refused.value.advice  # it may be the user's own file
        with pytest.raises(StudioError, match="is missing"):
            read_predictions(tmp_path / "none.parquet")
