"""The nearest rows of a data set, compared with sentence-transformers."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import util

from engine.config.dataset import Split
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from engine.explore.nearest import encode_rows, find_nearest
from engine.messages.explore.nearest import EncodeRows, FindNearest
from engine.messages.question import Working
from engine.models.checkpoint import Checkpoint, load
from engine.models.heads import Heads
from engine.tasks.similarity import sentence_vectors
from tests.engine.models.small import folder
from tests.engine.training.small import sentences

TEXT = "a warm happy film"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    file = sentences(folder / "rows.csv", rows=40)
    recognised = recognise(file)
    assert recognised.mapping is not None
    import_dataset(
        "rows", {"all": file}, recognised.reading, recognised.mapping, Split(), folder / "rows/1"
    )
    return folder / "rows/1"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return load(folder(tmp_path_factory.mktemp("model") / "small", Heads()))


def query(data: Path, file: Path) -> FindNearest:
    return FindNearest(
        number=3, checkpoint=Path(), data=data, part="train", file=file, text=TEXT, top=5
    )


def encode_split(model: Checkpoint, data: Path, file: Path) -> list[Working]:
    messages = list[Working]()
    question = EncodeRows(number=2, checkpoint=data, data=data, part="train", file=file)
    answer = encode_rows(model, question, messages.append)
    assert (answer.to, answer.rows) == (2, len(open_dataset(data).rows("train")))
    return messages


def test_nearest_rows_match_sentence_transformers(model, data, tmp_path):
    messages = encode_split(model, data, tmp_path / "cache" / "rows.npy")
    assert messages and messages[-1].done == messages[-1].total > 0
    result = find_nearest(model, query(data, tmp_path / "cache" / "rows.npy"))
    texts = open_dataset(data).rows("train").texts
    vectors = sentence_vectors(model, list(texts))
    hits = util.semantic_search(sentence_vectors(model, [TEXT]), vectors, top_k=5)[0]
    assert [row.cosine for row in result.nearest] == pytest.approx(
        [hit["score"] for hit in hits], abs=1e-5
    )
    assert [row.text for row in result.nearest] == [texts[row.number - 1] for row in result.nearest]
    assert (result.to, result.rows, len(result.nearest)) == (3, len(texts), 5)


def test_missing_or_invalid_vectors_are_reported(model, data, tmp_path):
    for content in (None, b"no array", np.zeros((3, 16), np.float32)):
        file = tmp_path / "rows.npy"
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif content is not None:
            np.save(file, content)
        with pytest.raises(StudioError, match="no longer available") as raised:
            find_nearest(model, query(data, file))
        assert raised.value.advice == "Compute them again."


def test_an_empty_split_is_reported(model, data, tmp_path):
    question = EncodeRows(checkpoint=Path(), data=data, part="test", file=tmp_path / "rows.npy")
    assert not open_dataset(data).spec.rows.get("test")
    with pytest.raises(StudioError, match="no rows in this split"):
        encode_rows(model, question, lambda _: None)
