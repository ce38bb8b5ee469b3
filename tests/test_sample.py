"""The sample data set follows the rules of its script."""

import csv
import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from engine.files.shipped import sample_data

SCRIPT = Path(__file__).resolve().parents[1] / "packaging" / "sample" / "make.py"


@pytest.fixture(scope="module")
def rows():
    with open(sample_data(), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_sample", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_topics_are_balanced_and_articles_do_not_repeat(rows, make):
    assert list(rows[0]) == ["text", "topic", "article"]
    counts = Counter(row["topic"] for row in rows)
    assert set(counts) == set(make.TOPICS)
    assert min(counts.values()) >= 80 and max(counts.values()) <= make.OF_EACH_TOPIC
    assert len({row["text"] for row in rows}) == len(rows)
    assert len({row["article"] for row in rows}) == len(rows)


def test_no_single_word_gives_the_topic_away(rows, make):
    for row in rows:
        assert make.PLAIN.fullmatch(row["text"]), row
        assert make.FEWEST <= len(row["text"].split()) <= make.MOST, row
        assert not make.TELLS[row["topic"]].search(row["text"]), row
