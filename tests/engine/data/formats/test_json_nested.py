"""Nested JSON objects become columns without loss."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Reading
from engine.data.formats import json_nested
from engine.data.formats.json_nested import MAX_NESTED, flatten, nested_names
from engine.data.formats.reading import read, recognise
from engine.data.formats.rows import Remarks
from tests.engine.data.formats.outcomes import outcome, set_block_size
from tests.often import tries

REVIEWS = [
    {"id": n, "review": {"text": f"a film number {n}", "stars": n % 5}, "by": {"name": "Ann"}}
    for n in range(20)
]


def write(file: Path, items: list[object]) -> Path:
    if file.suffix == ".json":
        file.write_text(json.dumps(items))
    else:
        file.write_text("\n".join(map(json.dumps, items)))
    return file


@pytest.mark.parametrize("name", ["reviews.jsonl", "reviews.json"])
def test_values_of_nested_objects_become_columns_with_a_note(tmp_path, name):
    file = write(tmp_path / name, [*REVIEWS, {"id": 20, "review": None, "by": {"age": 3}}])
    guess = recognise(file)
    assert guess.columns == ("id", "review.text", "review.stars", "by.name", "by.age")
    assert guess.mapping is not None and guess.mapping.text == "review.text"
    table = read(file, guess.reading)
    rows = [row.cells for row in table]
    assert rows[1] == ("1", "a film number 1", "1", "Ann", "")
    assert rows[20] == ("20", "", "", "", "3")
    message = "“review” has several values, each of which is a column."
    assert message in table.notes and not any("null" in note for note in table.notes)


def test_answers_and_objects_with_many_keys_stay_cells(tmp_path):
    many = {f"word{n}": n for n in range(MAX_NESTED + 1)}
    item = {"answers": {"text": ["a"], "answer_start": [0]}, "counts": many, "odd": {"a": 1}}
    file = write(tmp_path / "rows.jsonl", [item, item | {"odd": "plain"}])
    table = read(file, recognise(file).reading)
    assert table.columns == ("answers", "counts", "odd")
    first = next(iter(table)).cells
    assert [json.loads(cell) for cell in first] == [*item.values()]


def test_values_without_a_column_stay_in_one_cell(tmp_path, monkeypatch):
    """Keys first seen after the sample, other values, and a key named like a column."""
    monkeypatch.setattr(json_nested, "SAMPLE_OBJECTS", 20)
    late = {"id": 20, "review": {"text": "new", "new": 1}, "by": "nobody"}
    file = write(tmp_path / "rows.jsonl", [*REVIEWS, late])
    table = read(file, recognise(file).reading)
    assert table.columns == ("id", "review.text", "review.stars", "by.name", "review", "by")
    assert list(table)[20].cells == ("20", "new", "", "", '{"new": 1}', "nobody")
    items = [{"a": {"b": 1}, "a.b": 2}]
    assert nested_names(items, Remarks()) == {}
    assert flatten({"a": {"b": 1}, "a.b": 2}, {"a": {"b": "a.b"}}) == {"a": {"b": 1}, "a.b": 2}


def test_null_instead_of_an_object_gives_the_same_notes(tmp_path, monkeypatch):
    """Also in blocks that pyarrow could parse."""
    small_blocks(monkeypatch, sample=1)
    late = [{"a": {"b": 1}}, {"a": {"late": 1}}, *([{"a": None, "x": "y"}] * 30)]
    file = write(tmp_path / "rows.jsonl", late)
    reading = Reading(format="jsonl")
    rows, _, notes = outcome(read(file, reading))
    assert (rows, notes) == outcome(read(file, reading, head_only=True))[::2]
    assert not any("null" in note for note in notes)


def small_blocks(patch: pytest.MonkeyPatch, sample: int) -> None:
    set_block_size(patch, 24)
    patch.setattr(json_nested, "SAMPLE_OBJECTS", sample)


VALUES = st.recursive(
    st.sampled_from([None, True, 1, "x", "ü\n", [], ["a", 1]]),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "a.b"]), inner, max_size=3),
    max_leaves=4,
)
ITEMS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "a.b"]), VALUES), min_size=1)


@tries(300)
@given(items=ITEMS)
def test_nested_objects_are_read_without_loss(tmp_path_factory, items):
    file = write(tmp_path_factory.getbasetemp() / "nested.jsonl", items)
    reading = Reading(format="jsonl")
    with pytest.MonkeyPatch.context() as patch:
        small_blocks(patch, sample=3)
        if not any(items):
            return
        assert outcome(read(file, reading)) == outcome(read(file, reading, head_only=True))
        names = nested_names(items, Remarks())
    for item in items:
        assert leaves(flatten(item, names)) == leaves(item)


def leaves(item: dict[str, object]) -> list[str]:
    """All values except null and empty objects, sorted as JSON."""
    result: list[str] = []
    for value in item.values():
        if isinstance(value, dict):
            result += leaves(value)
        elif value is not None:
            result.append(json.dumps(value))
    return sorted(result)
