"""The sample data set is as its README says, and its script keeps its rules."""

import csv
import importlib.util
import io
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from engine.files.shipped import sample_data

SCRIPT = Path(__file__).resolve().parents[1] / "packaging" / "sample" / "make.py"
FUGUE = [
    "Rondo Major is a song by an old band of four players.",
    "The violins begin softly in a minor key. A slow second part in another key follows them.",
    "The band wrote it in one night. It was heard by nobody at all for many a year after.",
    "Rondos were loved then, by everybody. They were heard at every feast and at every fair.",
]


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


def test_each_topic_has_its_share_and_no_article_comes_twice(rows, make):
    assert list(rows[0]) == ["text", "topic", "article"]
    counts = Counter(row["topic"] for row in rows)
    assert set(counts) == set(make.TOPICS)
    assert min(counts.values()) >= 80 and max(counts.values()) <= make.OF_EACH_TOPIC
    assert len({row["text"] for row in rows}) == len(rows)
    assert len({row["article"] for row in rows}) == len(rows)


def test_no_passage_gives_its_topic_away_by_one_word(rows, make):
    for row in rows:
        assert make.PLAIN.fullmatch(row["text"]), row
        assert make.FEWEST <= len(row["text"].split()) <= make.MOST, row
        assert not make.TELLS[row["topic"]].search(row["text"]), row


def test_the_first_sentence_tells_the_topic_where_it_is_one(make):
    assert make.topic(FUGUE) == "music"
    assert make.topic(["Rondo is a film about a band."]) == ""  # of two topics
    assert make.topic(["Rondo may be many things."]) == ""


def test_a_passage_names_neither_topic_nor_title(make):
    assert make.passages("Rondo Major", FUGUE, "music") == [FUGUE[1]]


def test_archives_give_the_same_rows_each_time(make, tmp_path):
    archive = tmp_path / "articles.tar.xz"
    titles = ("Rondo Major", "List of songs", "Songs of 1900")
    lines = [[f'<doc id="1" url="u" title="{name}">', *FUGUE, "</doc>"] for name in titles]
    content = "\n".join(line for article in lines for line in article).encode("utf-8")
    with tarfile.open(archive, "w:xz") as file:
        member = tarfile.TarInfo("AA/wiki_00")
        member.size = len(content)
        file.addfile(member, io.BytesIO(content))
    found = make.chosen(make.articles(archive))
    assert found == [(FUGUE[1], "music", "Rondo Major")] == make.chosen(make.articles(archive))
