"""The sample data set is what its README says, and it can be learned from."""

import csv
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from engine.shipped import sample_data

REPOSITORY = Path(__file__).resolve().parents[1]
ERAS = {"1790–1860": 720, "1861–1932": 720, "1933–2021": 720}


@pytest.fixture(scope="module")
def rows():
    with open(sample_data(), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_eras_are_balanced_and_no_sentence_comes_twice(rows):
    assert list(rows[0]) == ["text", "era", "year", "president"]
    assert Counter(row["era"] for row in rows) == ERAS
    assert len({row["text"] for row in rows}) == len(rows)


def test_each_sentence_is_whole_and_hides_its_year(rows):
    for row in rows:
        first, last = row["era"].split("–")
        assert int(first) <= int(row["year"]) <= int(last)
        assert 8 <= len(row["text"].split()) <= 40, row
        assert row["text"][0].isupper(), row
        assert row["text"][-1] in ".!?", row
        assert not any(letter.isdigit() for letter in row["text"]), row


def test_the_words_tell_the_era_but_not_all_of_it(rows):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    classifier = make_pipeline(
        TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=5, max_iter=2000)
    )
    texts, eras = [row["text"] for row in rows], [row["era"] for row in rows]
    accuracy = cross_val_score(classifier, texts, eras, cv=5).mean()
    assert accuracy == pytest.approx(0.70, abs=0.015)


def test_the_script_makes_the_same_file_again(assets, tmp_path):
    script = REPOSITORY / "packaging" / "sample" / "make.py"
    again = tmp_path / "speeches.csv"
    subprocess.run([sys.executable, str(script), str(assets), "--out", str(again)], check=True)
    assert again.read_bytes() == sample_data().read_bytes()
