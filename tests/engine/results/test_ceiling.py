"""The score of one coder against another equals that of the libraries, as for a model."""

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import pearsonr
from seqeval.metrics import f1_score as span_f1
from sklearn.metrics import accuracy_score, f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from engine.config.dataset import Mapping
from engine.results.ceiling import ceiling, ceiling_note, ceiling_sentence
from engine.results.coders import coder_codes
from engine.results.conditions import CodersDisagree, Outcome, mask
from engine.results.predictions import CELL, Predictions
from tests.engine.results.rows import class_rows, span_rows, tag_rows

NAMES = ("bad", "fair", "good")


def with_coders(predictions: Predictions, **columns: list[str]) -> Predictions:
    """The predictions of rows that also have columns of coders."""
    info = predictions.info
    mapping = Mapping(text="text", **_target(info.mapping), coders=tuple(columns))
    table = predictions.table
    for name, cells in columns.items():
        table = table.append_column(CELL + name, pa.array(cells))
    return Predictions(info.model_copy(update={"mapping": mapping}), table)


def _target(mapping: Mapping) -> dict[str, str | None]:
    return {"label": mapping.label, "tags": mapping.tags}


def random_labels(rows: int, coders: int, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    base = rng.choice(NAMES, rows)
    return [np.where(rng.random(rows) < 0.7, base, rng.choice(NAMES, rows)).tolist()
            for _ in range(coders)]  # fmt: skip


def test_coders_are_scored_as_the_model_is_on_the_same_rows():
    gold, model, anna, ben = random_labels(90, 4)
    ben[80:] = [""] * 10
    predictions = with_coders(class_rows(gold, model, NAMES), Anna=anna, Ben=ben)
    found = ceiling(predictions)
    assert found.rows == 80 and found.metric == "accuracy" and found.coders == ("Anna", "Ben")
    assert found.human.value == pytest.approx(accuracy_score(anna[:80], ben[:80]))
    assert found.model.value == pytest.approx(accuracy_score(gold[:80], model[:80]))
    assert found.human.low < found.human.value < found.human.high
    wrong = np.array(gold) != np.array(model)
    disputed = np.array([b not in ("", a) for a, b in zip(anna, ben, strict=True)])
    assert found.mistakes == wrong.sum() and found.shared == (wrong & disputed).sum()
    sentence = str(ceiling_sentence(predictions))
    assert f"; this model {100 * found.model.value:.1f} % (" in sentence and "80 rows" in sentence
    assert f"{found.shared} of its {found.mistakes} mistakes are on rows in dispute" in sentence
    both = mask(predictions, (Outcome(right=False), CodersDisagree()))
    assert both.tolist() == (wrong & disputed).tolist()
    assert mask(predictions, (CodersDisagree(holds=False),)).tolist() == (~disputed).tolist()
    best = predictions.info.model_copy(update={"best_metric": "f1_macro"})
    macro = ceiling(Predictions(best, predictions.table)).human.value
    assert macro == pytest.approx(f1_score(anna[:80], ben[:80], average="macro"))


def test_three_coders_are_compared_pair_by_pair():
    gold, *coders = random_labels(60, 4, seed=1)
    coders[0][:30] = [""] * 30
    columns = dict(zip("abc", coders, strict=True))
    found = ceiling(with_coders(class_rows(gold, gold, NAMES), **columns))
    a, b, c = (np.array(column) for column in coders)
    means = [(a == b)[30:].mean(), (a == c)[30:].mean(), (b == c).mean()]
    assert found.rows == 60 and found.human.value == pytest.approx(np.mean(means))
    assert found.model.value == 1 and found.mistakes == 0


def test_tags_and_label_sets_and_numbers_of_coders_have_the_metric_of_their_task():
    rng = np.random.default_rng(2)
    tags = [[rng.choice(["O", "B-X", "I-X"], 5).tolist() for _ in range(40)] for _ in range(3)]
    first, second, model = ([" ".join(row) for row in side] for side in tags)
    tagged = tag_rows(
        [("a b c d e", gold, other) for gold, other in zip(first, model, strict=True)]
    )
    info = tagged.info.model_copy(update={"mapping": Mapping(text="text", tags="tags")})
    found = ceiling(with_coders(Predictions(info, tagged.table), A=first, B=[*second[:39], "O O"]))
    assert found.human.value == pytest.approx(span_f1(tags[0][:39], tags[1][:39]))

    text = "Ada met Bo-Li here"
    spans = ['[[0, 3, "X"], [8, 10, "X"]]', '[[0, 3, "X"], [8, 13, "X"], [8, 10, "X"]]', "[]"]
    codes = [[spans[n] for n in rng.integers(0, 3, 40)] for _ in range(2)]
    info = tagged.info.model_copy(update={"mapping": Mapping(text="text", tags="tags")})
    table = with_coders(Predictions(info, tagged.table), A=codes[0], B=codes[1])
    column = tagged.table.column_names.index(CELL + "text")
    texts = table.table.set_column(column, CELL + "text", pa.array([text] * 40))
    found = ceiling(Predictions(table.info, texts))
    flat = [{(0, 3), (8, 10)}, {(0, 3), (8, 13)}, set()]
    pairs = [(flat[spans.index(a)], flat[spans.index(b)]) for a, b in zip(*codes, strict=True)]
    shared, every = (
        sum(len(f(a, b)) for a, b in pairs) for f in (set.__and__, lambda a, b: [*a, *b])
    )
    assert found.human.value == pytest.approx(2 * shared / every), "of a tagger's spans"
    nested = span_rows([("Ada met Bo-Li here", [], [])] * 40)
    found = ceiling(with_coders(nested, A=codes[0], B=codes[1]))
    pairs = [
        tuple({*map(tuple, json.loads(cell))} for cell in pair) for pair in zip(*codes, strict=True)
    ]
    shared, every = (
        sum(len(f(a, b)) for a, b in pairs) for f in (set.__and__, lambda a, b: [*a, *b])
    )
    assert found.human.value == pytest.approx(2 * shared / every), "of all spans"

    sets = [[rng.choice(NAMES, rng.integers(1, 3), replace=False).tolist() for _ in range(40)]
            for _ in range(2)]  # fmt: skip
    labelled = class_rows([", ".join(s) for s in sets[0]], ["bad"] * 40, NAMES)
    details = [json.dumps({"gold": s, "predicted": ["bad"]}) for s in sets[0]]
    table = labelled.table.set_column(8, "details", [details])
    info = labelled.info.model_copy(update={"task": "multi_label"})
    columns = {name: ["|".join(s) for s in side] for name, side in zip("AB", sets, strict=True)}
    binary = [MultiLabelBinarizer(classes=NAMES).fit_transform(side) for side in sets]
    found = ceiling(with_coders(Predictions(info, table), **columns))
    assert found.human.value == pytest.approx(f1_score(*binary, average="micro"))

    scores = rng.normal(3, 1, 50).round(2)
    other = (scores + rng.normal(0, 0.5, 50)).round(2)
    texts = [[str(n) for n in side] for side in (scores, other)]
    regressed = class_rows(texts[0], texts[1], ("score",), scores=other[:, None])
    info = regressed.info.model_copy(update={"task": "regression"})
    found = ceiling(with_coders(Predictions(info, regressed.table), A=texts[0], B=texts[1]))
    assert found.human.value == pytest.approx(pearsonr(scores, other).statistic)
    assert found.human.value == pytest.approx(found.model.value, abs=1e-6)


def test_rows_without_dispute_say_why_the_ceiling_is_unknown():
    gold = ["bad", "good"] * 10
    found = ceiling(with_coders(class_rows(gold, gold), A=gold, B=gold))
    note = str(ceiling_note(found, "", ""))
    assert found.disputed == 0 and "all coders agree on these 20 rows" in note
    assert ceiling(class_rows(gold, gold)) is None and coder_codes(class_rows(gold, gold)) is None
    assert not mask(class_rows(gold, gold), (CodersDisagree(),)).any()
