"""Columns of a table become estimates by period and group; what cannot be read is named."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from engine.data.columns.periods import are_dates, group_by_period
from engine.data.datasets.coding import RowCoding
from engine.errors import MissingColumn, StudioError
from engine.results.estimate_table import (
    EstimateRequest,
    estimate_lines,
    estimate_table,
    random_rows,
)
from engine.results.estimates import prediction_powered

ROWS = 1_200
RNG = np.random.default_rng(3)
TRUTH = RNG.choice(["good", "bad", "none"], ROWS, p=[0.5, 0.3, 0.2])
MACHINE = np.where(RNG.random(ROWS) < 0.85, TRUTH, RNG.choice(["good", "bad", "none"], ROWS))
IS_CODED = np.arange(ROWS) % 4 == 0
DATES = [f"{1 + n % 28:02}.{1 + n % 12:02}.2025" for n in range(ROWS)]
CELLS = {
    "predicted": MACHINE.tolist(),
    "hand": np.where(IS_CODED, TRUTH, "").tolist(),
    "date": DATES,
    "group": ["east" if n % 5 else "west" for n in range(ROWS)],
}
REQUEST = EstimateRequest("predicted", "hand")
MEAN = EstimateRequest("predicted", "hand", is_mean=True)
OF_GOOD = EstimateRequest("predicted", "hand", "good")
BY_GROUP = EstimateRequest("predicted", "hand", compare="group")


def change(**columns):
    return CELLS | columns


def test_the_share_of_each_label_is_estimated_by_month_and_between_groups():
    table = estimate_table(CELLS, EstimateRequest("predicted", "hand", by="date", compare="group"))
    assert table.labels == ("bad", "good", "none") and table.is_share
    whole = next(r for r in table.rows if (r.label, r.period, r.group) == ("good", "", ""))
    hand, machine = (
        (np.array(CELLS[name]) == "good").astype(float) for name in ("hand", "predicted")
    )
    parts = hand[IS_CODED], machine[IS_CODED], machine[~IS_CODED]
    assert whole.estimate == prediction_powered(*parts, True)
    periods = [r.period for r in table.rows if (r.label, r.group, r.minus) == ("good", "", None)]
    assert periods == ["", *(f"2025-{month:02}" for month in range(1, 13))]
    gaps = [r for r in table.rows if r.minus is not None]
    assert len(gaps) == 3 * 13 and {(r.group, r.minus) for r in gaps} == {("west", "east")}
    notes = " ".join(map(str, table.notes))
    assert "drawn at random" in notes and "fewer than 30 hand-coded rows" in notes
    lines = estimate_lines(table)
    assert len(lines) == len(table.rows) and lines[0]["naive_estimate"] is not None


def test_means_sets_of_labels_and_probabilities_are_estimated():
    score = [f"{n % 50 / 10}" for n in range(ROWS)]
    some = ["" if n % 5 else s for n, s in enumerate(score)]
    table = estimate_table({"a": score, "b": ["n/a", *some[1:]]}, EstimateRequest("a", "b"))
    assert not table.is_share and table.labels == ()  # many numbers are averaged
    assert table.rows[0].estimate.corrected.value == pytest.approx(2.45, abs=0.15)
    with_text = estimate_table(
        {"a": score, "b": ["late", *some[1:]]}, EstimateRequest("a", "b", is_mean=True)
    )
    assert "1 cell of “b” without a number, such as “late”" in " ".join(map(str, with_text.notes))
    sets = {"a": ["x|y", "x", "", "y|z"] * 50, "b": ["x|y", "x", "[]", ""] * 50}
    found = estimate_table(sets, EstimateRequest("a", "b", "x")).rows[0].estimate
    assert (found.coded, found.naive.value) == (150, 0.5)
    chances = np.where(np.array(CELLS["predicted"]) == "good", 0.8, 0.1).astype(str).tolist()
    found = estimate_table(change(predicted=chances), EstimateRequest("predicted", "hand", "good"))
    assert found.rows[0].estimate.corrected.value == pytest.approx(
        (TRUTH == "good").mean(), abs=0.06
    )


@pytest.mark.parametrize(
    "spelled, missing, notes",
    [
        ({"good": "Good ", "bad": "BAD", "none": "none"}, "", ("“Good” of “hand” read as “good”",)),
        (
            {"good": "1.0", "bad": "0.0", "none": "2.0"},
            "",
            ("“1.0” of “hand” read as “1”",),
        ),  # of pandas
        ({}, "NA", ("900 cells “NA” in “hand” read as empty",)),  # of R
    ],
)
def test_hand_codes_in_another_spelling_are_those_of_the_machine(spelled, missing, notes):
    machine = {label: f"{float(name):g}" for label, name in spelled.items() if "." in name}
    cells = {
        "predicted": [machine.get(label, label) for label in MACHINE.tolist()],
        "hand": [spelled.get(x, x) if x else missing for x in CELLS["hand"]],
    }
    table = estimate_table(cells, REQUEST)
    expected = {r.label: r.estimate for r in estimate_table(CELLS, REQUEST).rows}
    assert {r.label: r.estimate for r in table.rows} == {
        machine.get(label, label): estimate for label, estimate in expected.items()
    }
    assert all(any(note in str(found) for found in table.notes) for note in notes)


def test_true_values_are_next_to_the_estimates_and_change_none():
    known = ["", *TRUTH[1:].tolist()]
    asked = EstimateRequest("predicted", "hand", by="date", compare="group")
    plain, table = (
        estimate_table(change(truth=known), request)
        for request in (asked, replace(asked, truth="truth"))
    )
    assert table.has_truth and not plain.has_truth
    assert str([row.estimate for row in table.rows]) == str([row.estimate for row in plain.rows])
    facts = {"group": CELLS["group"][1:], "good": (TRUTH[1:] == "good").astype(float)}
    groups = pa.table(facts).group_by("group").aggregate([("good", "mean")]).to_pydict()
    means = dict(zip(groups["group"], groups["good_mean"], strict=True))
    found = {(r.label, r.period, r.group): r.truth for r in table.rows if r.minus is None}
    assert found["good", "", "west"] == pytest.approx(means["west"], abs=1e-12)
    gap = next(r for r in table.rows if r.minus is not None and (r.label, r.period) == ("good", ""))
    assert gap.truth == pytest.approx(means["west"] - means["east"], abs=1e-12)
    notes = " ".join(map(str, table.notes))
    assert "1 row has no true code" in notes and "intervals contain the true value" in notes
    assert estimate_lines(table)[0]["truth"] == table.rows[0].truth
    assert "truth" not in estimate_lines(plain)[0]
    score = [f"{n % 50 / 10}" for n in range(ROWS)]
    some = ["" if n % 5 else s for n, s in enumerate(score)]
    of_mean = estimate_table({"a": score, "b": some, "c": score}, EstimateRequest(*"ab", truth="c"))
    assert of_mean.rows[0].truth == pytest.approx(2.45)
    other = [label.upper() for label in TRUTH]  # another spelling
    assert estimate_table(change(truth=other), replace(OF_GOOD, truth="truth")).rows[
        0
    ].truth == pytest.approx((TRUTH == "good").mean())


def test_a_share_stays_between_0_and_1():
    machine = ["a"] * 60 + ["b"] * 940  # "a" is far more frequent in the hand-coded rows
    hand = ["a"] + ["b"] * 40 + [""] * 19 + ["b"] * 59 + [""] * 881
    table = estimate_table({"m": machine, "h": hand}, EstimateRequest("m", "h", "a"))
    assert table.rows[0].estimate.corrected.value == 0.0


def test_probabilities_that_end_at_0_and_1_stay_probabilities():
    chances = np.where(MACHINE == "good", 1.0, np.round(RNG.random(ROWS) / 4, 2))
    hand = np.where(IS_CODED, (TRUTH == "good").astype(int).astype(str), "").tolist()
    cells = {"predicted": [f"{chance:g}" for chance in chances], "hand": hand}
    found = estimate_table(cells, EstimateRequest("predicted", "hand", "1")).rows[0].estimate
    assert found.naive.value == pytest.approx(chances.mean())
    with_point = cells | {"hand": [f"{code}.0" if code else "" for code in hand]}
    table = estimate_table(with_point, EstimateRequest("predicted", "hand", "1"))
    assert table.rows[0].estimate == found


def test_only_random_rows_correct_the_others_and_known_chances_are_used():
    coding = {
        n: {"hand": RowCoding(drawn="random" if n % 8 else "uncertain")}
        for n in np.flatnonzero(IS_CODED).tolist()
    }
    mask = random_rows(coding, "hand", ROWS)
    assert mask is not None and mask.sum() == 150 and random_rows({}, "hand", ROWS) is None
    table = estimate_table(CELLS, REQUEST, mask)
    assert table.rows[0].estimate.coded == 150
    assert "150 hand-coded rows were not drawn at random" in str(table.notes[0])
    assert not any("biased" in str(note) for note in table.notes)
    (note, *_) = estimate_table(CELLS, REQUEST, np.zeros(ROWS, dtype=bool)).notes
    assert note.startswith("No hand-coded row was drawn at random: the estimates are biased")
    (note, *_) = estimate_table(CELLS, REQUEST).notes
    assert note.startswith("It is not known whether the hand-coded rows were drawn at random")
    chance = change(chance=["0.25"] * ROWS)
    request = EstimateRequest("predicted", "hand", "good", chance="chance")
    table = estimate_table(chance, request)
    assert not any("biased" in str(note) for note in table.notes)
    drawn = table.rows[0].estimate
    assert (
        drawn.tuning == 1 and drawn.corrected.low < (TRUTH == "good").mean() < drawn.corrected.high
    )
    with pytest.raises(StudioError, match="“0” in row 5 of “chance” is not a probability"):
        estimate_table(change(chance=["0.25"] * 4 + ["0"] * (ROWS - 4)), request)


@pytest.mark.parametrize(
    "cells, request_, problem",
    [
        (CELLS, EstimateRequest("predicted", "missing"), "no column “missing”"),
        (CELLS, EstimateRequest("hand", "hand"), "in the same column"),
        (CELLS, EstimateRequest("predicted", "hand", "great"), "No row has the label “great”"),
        (change(hand=[""] * ROWS), REQUEST, "No row with a prediction has a hand code"),
        (change(hand=DATES, predicted=DATES), REQUEST, "labels, too many for"),
        (CELLS, EstimateRequest("predicted", "date"), "in common: “bad”, but “01.01.2025”"),
        (CELLS, replace(REQUEST, truth="date"), "“date” have no label in common"),
        (CELLS, replace(REQUEST, truth="hand"), "in the same column, “hand”"),
        (change(truth=[""] * ROWS), replace(REQUEST, truth="truth"), "has a true code in “truth”"),
        (change(predicted=["45%"] * ROWS), OF_GOOD, "no label in common: “45%”, but “bad”"),
        (change(predicted=["0.4"] * ROWS), REQUEST, "no label in common: “0.4”, but “bad”"),
        (CELLS, MEAN, "“predicted” has no numbers"),
        (change(hand=["1,368"] * ROWS, predicted=["5"] * ROWS), MEAN, "may be a decimal comma"),
        (change(group=["x"] * ROWS), BY_GROUP, "only one"),
        (change(group=[f"x{n}" for n in range(ROWS)]), BY_GROUP, "more than the 500"),
    ],
)  # fmt: skip
def test_what_cannot_be_estimated_is_said(cells, request_, problem):
    with pytest.raises(StudioError, match=problem):
        estimate_table(cells, request_)
    assert MissingColumn.__base__ is StudioError


def test_rows_without_a_date_are_named_and_count_in_the_whole():
    dates = ["soon", "", *DATES[2:]]
    table = estimate_table(
        change(date=dates),
        EstimateRequest("predicted", "hand", "good", by="date", period="quarter"),
    )
    assert [row.period for row in table.rows] == ["", *(f"2025-Q{n}" for n in range(1, 5))]
    notes = " ".join(map(str, table.notes))
    assert "1 row has no date in “date”, such as “soon”" in notes and "an empty “date”" in notes
    assert sum(row.estimate.rows for row in table.rows[1:]) == ROWS - 2
    assert table.rows[0].estimate.rows == ROWS


def test_dates_of_each_usual_format_are_grouped_and_others_named():
    cells = ["2026-11-30", "2026-01-02T23:00:00-05:00", "2025-12-29", "n/a", "soon", ""]
    weeks, others = group_by_period(cells, "week")
    assert weeks == ["2026-W49", "2026-W01", "2026-W01", "", "", ""] and others == ["n/a", "soon"]
    assert group_by_period(cells, "day")[0][1] == "2026-01-03"  # in UTC
    assert group_by_period(["31/12/2020", "01/02/2020", "Feb 2"], "month")[0][:2] == [
        "2020-12",
        "2020-02",
    ]
    assert group_by_period(["1999", "2021"], "year")[0] == ["1999", "2021"]
    assert group_by_period(["1700000000", "1600000000.5"], "quarter")[0] == ["2023-Q4", "2020-Q3"]
    assert group_by_period(["Nov 2026", "May 2025", "2025"], "month") == (
        ["2026-11", "2025-05", ""],
        ["2025"],
    )
    with pytest.raises(StudioError, match="the day or the month may be first"):
        group_by_period(["01/02/2020", "02/03/2020"], "month")
    with pytest.raises(StudioError, match="Most cells are not dates, such as “7”"):
        group_by_period(["7", "12", "2020-01-01"], "month")
    assert are_dates(["01/02/2020", "02/03/2020"]) and not are_dates(["east", "west", "2020-01-01"])
