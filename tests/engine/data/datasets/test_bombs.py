"""A small data.parquet that expands to much text takes little memory, or is refused."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.importing import DATA, import_dataset
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError

LETTERS = 1_000_000
MEGABYTE = 1 << 20


POOLS: list[pa.MemoryPool] = []  # kept alive: Arrow returns memory to its pool


@pytest.fixture
def pool() -> Iterator[pa.MemoryPool]:
    """Count the memory that Arrow allocates in a test."""
    default = pa.default_memory_pool()
    proxy = pa.proxy_memory_pool(default)
    POOLS.append(proxy)
    pa.set_memory_pool(proxy)
    yield proxy
    pa.set_memory_pool(default)


def bomb(folder: Path, rows: int, groups: int = 1) -> Path:
    """A data set in which every row has the same text of a million letters."""
    folder.mkdir(exist_ok=True)
    source = folder / "a.csv"
    source.write_text("text,label\n" + "a text,b\n" * rows)
    split = Split(validation=0, test=0)
    mapping = Mapping(text="text", label="label")
    into = folder / "bomb"
    import_dataset("a", {"all": source}, Reading(), mapping, split, into)
    indices = pa.array(np.zeros(rows, dtype=np.int32))
    table = pa.table(
        {
            "text": pa.DictionaryArray.from_arrays(indices, pa.array(["the " + "x" * LETTERS])),
            "label": pa.DictionaryArray.from_arrays(indices, pa.array(["b"])),
            "_line": pa.array(np.arange(rows)),
            "_split": pa.DictionaryArray.from_arrays(indices, pa.array(["train"])),
        }
    )
    size = max(1, rows // groups)
    pq.write_table(table, into / DATA, row_group_size=size, store_schema=False, compression="zstd")
    assert (into / DATA).stat().st_size < MEGABYTE
    return into


def test_long_texts_are_truncated_while_reading(tmp_path, pool):
    dataset = open_dataset(bomb(tmp_path, rows=400))
    rows = dataset.take(np.arange(200), ["text", "label"], 2_001)
    assert len(rows) == 200
    assert {len(row["text"]) for row in rows} == {2_001} and {r["label"] for r in rows} == {"b"}
    assert len(dataset.find("THE X")) == len(dataset.find(label="b")) == 400
    assert not len(dataset.find("y"))
    assert pool.max_memory() < 60 * MEGABYTE


def test_a_row_group_with_too_much_text_is_refused(tmp_path, pool):
    dataset = open_dataset(bomb(tmp_path, rows=2_000))
    with pytest.raises(StudioError, match="damaged"):
        dataset.take(np.arange(10), max_characters=100)
    assert pool.max_memory() < 60 * MEGABYTE


def test_a_row_group_with_too_many_rows_is_refused(tmp_path):
    folder = bomb(tmp_path, rows=12_000)
    with pytest.raises(StudioError, match="damaged"):
        open_dataset(folder)
    assert len(open_dataset(bomb(tmp_path / "more", rows=12_000, groups=2))) == 12_000
