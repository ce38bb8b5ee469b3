"""`estimate` reads any table or data set, and says what the machine codes alone would."""

import csv
import json

import numpy as np
import pytest

from engine.data.datasets.coding import RowCoding, write_coding
from engine.data.datasets.importing import import_dataset
from engine.data.formats.reading import recognise
from tests.engine.data.importing import ONLY_TRAIN

ROWS = 600


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(5)
    truth = np.where(random.random(ROWS) < 0.3, "anger", "joy")
    machine = np.where(random.random(ROWS) < 0.85, truth, np.where(truth == "joy", "anger", "joy"))
    with open(tmp_path / "coded.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "day", "party", "hand", "predicted_label", "truth"])
        for n in range(ROWS):
            hand = truth[n] if n % 8 == 0 else ""
            day = f"2025-0{1 + n % 2}-{1 + n % 28:02}"
            writer.writerow(
                [f"words of row {n}", day, "AB"[n % 3 == 0], hand, machine[n], truth[n]]
            )
    return tmp_path / "coded.csv"


def test_a_share_by_month_is_printed_and_written(table, output, json_output, refusal, tmp_path):
    options = ("--predicted", "predicted_label", "--hand", "hand", "--proportion-of", "anger")
    printed = output("estimate", table, *options, "--by", "day", "--compare", "party")
    assert "2025-01, “anger”: " in printed and "B − A, “anger”: " in printed
    assert "coding all rows would not halve the interval" in printed and "A − B" not in printed
    assert "; machine codes alone " in printed and "75 of 600 rows coded by hand" in printed
    assert "true value" not in printed
    with_truth = output("estimate", table, *options, "--by", "day", "--truth", "truth")
    assert with_truth.count("rows coded by hand; true value ") == 3
    facts = json_output("estimate", table, *options, "--out", tmp_path / "out.csv")
    whole = facts["estimates"][0]
    assert whole["low"] < 0.3 < whole["high"] < whole["naive_estimate"] + 0.1
    assert whole["coded_for_half"] > 75 and "drawn at random" in facts["notes"][0]
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert float(line["estimate"]) == whole["estimate"] and line["coded"] == "75"
    assert "no column “nothing”" in refusal("estimate", table, *options, "--by", "nothing")
    assert "Use --proportion-of or --mean" in refusal("estimate", table, *options, "--mean")
    assert "ends with none of" in refusal("estimate", table, *options, "--out", "table.doc")


def test_the_coding_of_a_data_set_says_which_rows_are_random(table, home, json_output):
    version, guess = home.datasets / "coded" / "1", recognise(table)
    import_dataset("coded", {"all": table}, guess.reading, guess.mapping, ONLY_TRAIN, version)
    drawn = {n: RowCoding(control=n % 16 == 0, drawn="uncertain") for n in range(0, ROWS, 8)}
    write_coding(version, {n: {"hand": facts} for n, facts in drawn.items()})
    options = ("--predicted", "predicted_label", "--hand", "hand", "--proportion-of", "joy")
    facts = json_output("estimate", "coded", *options)
    assert facts["estimates"][0]["coded"] == 38
    assert json.dumps(facts["notes"]).count("37 hand-coded rows were not drawn at random") == 1
