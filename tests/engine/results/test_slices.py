"""Slices are found if and only if a model is worse in them."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from engine.errors import StudioError
from engine.results import slices
from engine.results.conditions import CellHasWord, CellIs, HasSpan, LabelIs, Outcome, mask
from engine.results.predictions import Predictions
from engine.results.slices import Slice, delete_slice, read_slices, rename_slice, save_slice
from tests.engine.results.rows import class_rows, new_info, tag_rows

WORDS = ("a", "plot", "film", "not", "good", "dull", "great", "long")


def reviews(rows: int, seed: int, accuracy: float = 0.8, planted: bool = False) -> Predictions:
    """Random reviews; if `planted`, “not” and the file “b” are mostly wrong."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(2, 6))) for _ in range(rows)]
    files = rng.choice(["a", "b", "c"], size=rows)
    gold = rng.choice(["bad", "good"], size=rows)
    chance = np.full(rows, accuracy)
    if planted:
        chance[["not" in text.split() for text in texts]] -= 0.5
        chance[files == "b"] -= 0.3
    is_right = rng.random(rows) < chance
    other = np.where(gold == "good", "bad", "good")
    return class_rows(gold, np.where(is_right, gold, other), text=texts, file=files)


def test_planted_slices_are_found_and_described():
    predictions = reviews(1500, 0, planted=True)
    result = slices.worst_slices(predictions)
    conditions = [entry.conditions for entry in result.slices]
    assert (CellHasWord(column="text", word="not"),) in conditions
    assert (CellIs(column="file", value="b"),) in conditions
    assert result.tried > 40 and result.rows == 1500
    for item in result.slices:
        rows = mask(predictions, item.conditions)
        right = predictions.numbers("score") == 1
        assert item.group.count == rows.sum() >= slices.MIN_ROWS
        assert item.group.score.value == pytest.approx(right[rows].mean())
        assert item.elsewhere.value == pytest.approx(right[~rows].mean())
        assert item.group.score.value < item.elsewhere.value
        single = stats.fisher_exact(
            [
                [right[rows].sum(), (~right[rows]).sum()],
                [right[~rows].sum(), (~right[~rows]).sum()],
            ],
            alternative="less",
        ).pvalue
        assert single <= item.p * (1 + 1e-6) < 0.05
        assert item.sentence == (
            f"{right[rows].sum():,} of {rows.sum():,} rows correct where {item.group.name}, "
            f"{100 * right[~rows].mean():.0f} % elsewhere"
        )


def test_a_pair_is_reported_if_both_conditions_matter():
    rng = np.random.default_rng(3)
    files, gold = rng.choice(["a", "b"], 2000), rng.choice(["bad", "good"], 2000)
    wrong = rng.random(2000) < np.where((files == "b") & (gold == "bad"), 0.7, 0.1)
    other = np.where(gold == "good", "bad", "good")
    predictions = class_rows(gold, np.where(wrong, other, gold), text=["x"] * 2000, file=files)
    [only] = slices.worst_slices(predictions).slices
    assert set(only.conditions) == {
        LabelIs(side="gold", label="bad"),
        CellIs(column="file", value="b"),
    }


def test_chance_alone_rarely_gives_a_slice():
    hits = [bool(slices.worst_slices(reviews(400, seed)).slices) for seed in range(15)]
    assert sum(hits) <= 3  # 0.75 are expected at most


def test_regression_slices_have_a_larger_error():
    rng = np.random.default_rng(4)
    files = rng.choice(["a", "b"], 600)
    gold = rng.random(600) * 5
    predicted = gold + rng.normal(0, np.where(files == "b", 1.5, 0.3))
    predictions = Predictions.from_columns(
        new_info("regression"),
        {"row": range(600), "gold": [str(item) for item in gold],
         "predicted": [f"{item:.2f}" for item in predicted],
         "scores": [[item] for item in predicted]},
        {"text": ["x y"] * 600, "file": files},
    )  # fmt: skip
    result = slices.worst_slices(predictions).slices
    assert result[0].conditions == (CellIs(column="file", value="b"),)
    assert result[0].sentence.startswith("mean error 1.")
    assert result[0].group.score.value > result[0].elsewhere.value


def test_slices_of_tags_are_by_type():
    rows = [("Bob ran", "B-person O", "B-person O")] * 60 + [("Oslo ran", "B-place O", "O O")] * 30
    predictions = tag_rows(rows)
    score = np.where(np.arange(90) % 9 == 0, 0.5, predictions.numbers("score")).astype(np.float32)
    table = predictions.table.set_column(
        predictions.table.column_names.index("score"), "score", pa.array(score)
    )
    [first, *_] = slices.worst_slices(Predictions(predictions.info, table)).slices
    assert first.conditions == (HasSpan(gold="place"),)
    assert first.sentence == (
        "mean F1 of the rows 0.05 in 30 rows where the row has a span: true type “place”, "
        "0.942 elsewhere"
    )


def test_few_rows_have_no_slices():
    for item in (class_rows([], []), reviews(30, 1), class_rows([None] * 50, ["good"] * 50)):
        assert slices.worst_slices(item).slices == ()


def test_a_pair_has_conditions_on_different_subjects():
    predictions = reviews(300, 5)
    result = slices.candidates(predictions, np.arange(300), 20)
    assert {entry.subject for entry in result} == {"label", "length", "column file", "word"}
    for item in result:
        np.testing.assert_array_equal(item.rows, mask(predictions, [item.condition]))
        assert not item.pairs_with(item)


def test_the_length_of_texts_without_blanks_is_in_characters():
    assert slices.length_figure(
        class_rows(["good"], ["good"], text=["这部电影非常好看我很喜欢它因为演员"])
    ) == ("characters")
    assert (
        slices.length_figure(class_rows(["good"], ["good"], text=["a long and dull film"]))
        == "words"
    )


def test_named_slices_have_scores():
    predictions = reviews(100, 6)
    named = slices.Slice(name="B", source="Reviews", conditions=(CellIs(column="file", value="b"),))
    [result] = slices.score_slices(predictions, [named])
    assert result.count == sum(cell == "b" for cell in predictions.cells("file").to_pylist())
    assert slices.Slice.model_validate_json(named.model_dump_json()) == named


def test_slices_are_saved_replaced_and_deleted(tmp_path):
    file = tmp_path / "new" / "slices.json"
    assert read_slices(file) == ()
    first = Slice(name="B", source="Reviews", conditions=(CellIs(column="file", value="b"),))
    other = Slice(name="B", source="News", conditions=())
    changed = first.model_copy(update={"conditions": (Outcome(right=False),)})
    for item in (first, other, changed):
        save_slice(file, item)
    assert read_slices(file) == (other, changed)
    assert read_slices(file, "Reviews") == (changed,)
    delete_slice(file, "B", "Reviews")
    delete_slice(file, "C", "News")
    assert read_slices(file) == (other,)


def test_a_renamed_slice_keeps_its_position_and_replaces_no_other(tmp_path):
    file = tmp_path / "slices.json"
    first, second = (Slice(name=name, source="Reviews", conditions=()) for name in "AB")
    other = Slice(name="C", source="News", conditions=())
    for item in (first, second, other):
        save_slice(file, item)
    rename_slice(file, "A", "Reviews", "C")
    renamed = first.model_copy(update={"name": "C"})
    assert read_slices(file) == (renamed, second, other)
    with pytest.raises(StudioError, match="already a slice “B”"):
        rename_slice(file, "C", "Reviews", "B")
    rename_slice(file, "Z", "Reviews", "Y")
    assert read_slices(file) == (renamed, second, other)


def test_an_invalid_file_is_refused(tmp_path):
    for content in [b"", b"{}", b'[{"name": "a", "conditions": 3}]']:
        file = tmp_path / "slices.json"
        file.write_bytes(content)
        with pytest.raises(StudioError, match=r"slices.json cannot be read"):
            read_slices(file)
        with pytest.raises(StudioError):
            save_slice(file, Slice(name="a", source="b", conditions=()))
        assert file.read_bytes() == content
