"""Storage of named slices."""

from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.results.conditions import CellIs, Outcome
from engine.results.slices import Slice, delete_slice, read_slices, rename_slice, save_slice


def test_slices_are_saved_replaced_and_deleted(tmp_path: Path) -> None:
    file = tmp_path / "new" / "slices.json"
    assert read_slices(file) == ()
    first = Slice(name="B", source="Reviews", conditions=(CellIs(column="file", value="b"),))
    other = Slice(name="B", source="News", conditions=())
    changed = first.model_copy(update={"conditions": (Outcome(right=False),)})
    for one in (first, other, changed):
        save_slice(file, one)
    assert read_slices(file) == (other, changed)
    assert read_slices(file, "Reviews") == (changed,)
    delete_slice(file, "B", "Reviews")
    delete_slice(file, "C", "News")
    assert read_slices(file) == (other,)


def test_a_slice_is_renamed_in_its_place_and_never_over_another_one(tmp_path: Path) -> None:
    file = tmp_path / "slices.json"
    one, two = (Slice(name=name, source="Reviews", conditions=()) for name in "AB")
    other = Slice(name="C", source="News", conditions=())
    for each in (one, two, other):
        save_slice(file, each)
    rename_slice(file, "A", "Reviews", "C")
    renamed = one.model_copy(update={"name": "C"})
    assert read_slices(file) == (renamed, two, other)
    with pytest.raises(StudioError, match="already a slice “B”"):
        rename_slice(file, "C", "Reviews", "B")
    rename_slice(file, "Z", "Reviews", "Y")
    assert read_slices(file) == (renamed, two, other)


def test_another_file_is_refused_in_words(tmp_path: Path) -> None:
    for content in [b"", b"{}", b'[{"name": "a", "conditions": 3}]']:
        file = tmp_path / "slices.json"
        file.write_bytes(content)
        with pytest.raises(StudioError, match=r"slices.json cannot be read"):
            read_slices(file)
        with pytest.raises(StudioError):
            save_slice(file, Slice(name="a", source="b", conditions=()))
        assert file.read_bytes() == content
