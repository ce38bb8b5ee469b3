"""Coefficients of agreement equal those of five libraries over random tables with gaps."""

import numpy as np
import pyarrow as pa
import pytest
from nltk.metrics import interval_distance, jaccard_distance, masi_distance
from nltk.metrics.agreement import AnnotationTask
from numpy.typing import NDArray
from seqeval.metrics import f1_score
from sklearn.metrics import cohen_kappa_score

from engine.config.dataset import Mapping
from engine.data.columns.coders import Codings, read_codings
from engine.evaluation.agreement import (
    Codes,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    interval_alpha,
    krippendorff_alpha,
    ordinal_alpha,
    percent_agreement,
)
from engine.results import agreement as module
from engine.results.agreement import agreement

TOLERANCE = 1e-9
WEIGHTS = (None, "linear", "quadratic")
# ordinal alpha of the first random tables: krippendorff 0.9.0, under the GPL
ORDINAL = (0.42408073412, 0.527777777778, -0.125, 0.326198624757, 0.447160232491, 0.481888551512)
# AC1 and Fleiss' kappa of `random_rows` by seed: irrCAC 0.4.4, which needs an older SciPy
RECORDED = {
    0: (0.314397649363, 0.101412066752),
    1: (0.13609267, 0.116409035532),
    2: (0.360140279564, 0.347979691073),
    3: (0.169690238183, 0.154348919055),
}


def random_rows(rng: np.random.Generator, rows: int, coders: int, size: int) -> NDArray[np.int64]:
    """Codes of rows, of which coders agree on many and miss a fifth."""
    base = rng.integers(0, size, (rows, 1))
    codes = np.where(rng.random((rows, coders)) < 0.6, base, rng.integers(0, size, (rows, coders)))
    return np.where(rng.random((rows, coders)) < 0.2, -1, codes)


def random_tables() -> list[tuple[NDArray[np.int64], int]]:
    rng = np.random.default_rng(0)
    shapes = [rng.integers((8, 2, 2), (40, 5, 6)).tolist() for _ in range(30)]
    return [(random_rows(rng, rows, coders, size), size) for rows, coders, size in shapes]


def test_alpha_equals_that_of_nltk_and_the_recorded_ordinal_one():
    tables = random_tables()
    for rows, size in tables:
        codes, numbers = Codes.from_rows(rows, size), np.arange(size, dtype=float)
        coded = [(c, r, int(code)) for (r, c), code in np.ndenumerate(rows) if code >= 0]
        nominal = AnnotationTask(coded).alpha()
        interval = AnnotationTask(coded, interval_distance).alpha()
        assert krippendorff_alpha(codes).value() == pytest.approx(nominal, abs=TOLERANCE)
        assert interval_alpha(codes, numbers).value() == pytest.approx(interval, abs=TOLERANCE)
        squares = krippendorff_alpha(codes, (numbers[:, None] - numbers) ** 2)
        assert squares.value() == pytest.approx(interval, abs=TOLERANCE)
    ordinal = [ordinal_alpha(Codes.from_rows(*table)).value() for table in tables[: len(ORDINAL)]]
    assert ordinal == pytest.approx(ORDINAL, abs=TOLERANCE)


def test_cohens_kappa_equals_that_of_scikit_learn():
    for rows, size in random_tables():
        codes = Codes.from_rows(rows, size)
        for power, weights in enumerate(WEIGHTS):
            pairs = [
                cohen_kappa_score(*both.T, labels=range(size), weights=weights)
                for first in range(codes.coders)
                for second in range(first)
                if len(
                    both := rows[(rows[:, [first, second]] >= 0).all(axis=1)][:, [first, second]]
                )
            ]
            assert cohen_kappa(codes, power).value() == pytest.approx(np.mean(pairs), abs=TOLERANCE)


def test_ac1_and_fleiss_kappa_equal_those_recorded_from_irrcac():
    for seed, expected in RECORDED.items():
        rows = random_rows(np.random.default_rng(seed), 30, 2 + seed % 3, 2 + seed)
        codes = Codes.from_rows(rows, 2 + seed)
        ours = (gwet_ac1(codes).value(), fleiss_kappa(codes).value())
        assert ours == pytest.approx(expected, abs=TOLERANCE), seed


def read(columns: dict[str, list[str]], tags: str | None = None) -> Codings:
    cells = {name: pa.chunked_array([column]) for name, column in columns.items()}
    return read_codings(cells.__getitem__, Mapping(text="t", coders=tuple(cells), tags=tags))


def test_alpha_of_label_sets_equals_that_of_nltk():
    rng = np.random.default_rng(4)
    names = ["anger", "fear", "joy", "love"]
    sets = [
        [frozenset(n for n in names if rng.random() < 0.4) or frozenset(["joy"]) for _ in range(60)]
        for _ in range(3)
    ]
    columns = {
        c: ["|".join(sorted(s)) for s in column] for c, column in zip("abc", sets, strict=True)
    }
    columns["b"][:9] = [""] * 9
    figures = agreement(read(columns)).overall.figures
    coded = [(c, r, s) for c, column in zip("abc", sets, strict=True) for r, s in enumerate(column)]
    coded = [code for code in coded if columns[code[0]][code[1]]]
    for name, distance in (("alpha_masi", masi_distance), ("alpha_jaccard", jaccard_distance)):
        expected = AnnotationTask(coded, distance).alpha()
        assert figures[name].value == pytest.approx(expected, abs=TOLERANCE), name


def test_f1_of_spans_equals_that_of_seqeval():
    rng = np.random.default_rng(5)
    tags = ["O", "O", "B-PER", "I-PER", "B-LOC"]
    columns = {c: [" ".join(rng.choice(tags, 6)) for _ in range(50)] for c in "ab"}
    table = agreement(read(columns, "tags"))
    sides = [[cell.split() for cell in column] for column in columns.values()]
    assert table.overall.figures["span_f1"].value == pytest.approx(f1_score(*sides), abs=TOLERANCE)
    assert [row.name for row in table.labels] == ["LOC", "PER"]
    differing = [
        r for r, cells in enumerate(zip(*columns.values(), strict=True)) if len({*cells}) > 1
    ]
    assert table.overall.disputed.tolist() == differing


def test_the_table_has_each_label_and_pair_with_an_interval_from_the_seed():
    rng = np.random.default_rng(6)
    rows = random_rows(rng, 120, 3, 3)
    columns = {c: ["" if n < 0 else "xyz"[n] for n in rows[:, i]] for i, c in enumerate("abc")}
    codings = read(columns)
    table = agreement(codings, seed=1)
    assert [row.name for row in table.labels] == ["x", "y", "z"]
    assert [row.coders for row in table.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    for label, row in enumerate(table.labels):
        binary = Codes.from_rows(np.where(rows < 0, -1, rows == label), 2)
        assert row.figures["ac1"].value == pytest.approx(gwet_ac1(binary).value())
        split = [r for r, codes in enumerate(rows) if len({*(codes[codes >= 0] == label)}) > 1]
        assert row.disputed.tolist() == split
    for row, pair in zip(table.pairs, ([0, 1], [0, 2], [1, 2]), strict=True):
        codes = rows[:, pair][(rows[:, pair] >= 0).all(axis=1)]
        assert row.coded == len(codes)
        assert row.figures["agreement"].value == pytest.approx((codes[:, 0] == codes[:, 1]).mean())
    for row in (table.overall, *table.labels, *table.pairs):
        assert all(low <= value <= high for value, low, high in row.figures.values())
    assert agreement(codings, seed=1).overall.figures == table.overall.figures
    assert agreement(codings, seed=2).overall.figures != table.overall.figures


def test_too_many_labels_are_named_instead_of_left_out(monkeypatch):
    columns = {c: ["".join(p) for p in ("ab", "cd", "ef") * 4] for c in "ab"}
    assert read(columns).labels == ("ab", "cd", "ef") and not agreement(read(columns)).note
    monkeypatch.setattr(module, "MAX_ELEMENTS", 2)
    table = agreement(read(columns))
    assert table.note == module.TOO_MANY and [*table.overall.figures] == ["agreement"]
    monkeypatch.setattr(module, "MAX_LABELS", 1)
    cut = agreement(read(columns))
    assert [row.name for row in cut.labels] == ["ab"]
    assert "Of 3 labels, only the first 1 are compared" in str(cut.note)


def test_coefficients_of_many_labels_take_little_time():
    """Rows that differ only in other labels are drawn together for a label."""
    rng = np.random.default_rng(8)
    rows = rng.integers(0, 60, (3_000, 2))
    codes = Codes.from_rows(rows, 60)
    assert len(codes.table) > 1_000
    binary = codes.recoded((codes.table == 7).astype(np.int64), 2)
    assert len(binary.table) == 4 and (binary.table[binary.kinds] == (rows == 7)).all()
    pairs = Codes.from_rows(np.column_stack([rows, rng.integers(0, 9, 3_000)]), 60).of([0, 2])
    assert len(pairs.table) <= 60 * 9


def test_agreement_is_undefined_if_all_codes_are_the_same():
    codes = Codes.from_rows(np.zeros((5, 2), dtype=np.int64), 1)
    assert percent_agreement(codes).value() == 1
    for measure in (krippendorff_alpha(codes), cohen_kappa(codes), fleiss_kappa(codes)):
        assert np.isnan(measure.value())
