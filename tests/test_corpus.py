"""The script that makes the starter model's corpus keeps sentences and drops the rest."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "packaging" / "starter" / "corpus.py"


@pytest.fixture(scope="module")
def corpus():
    spec = importlib.util.spec_from_file_location("corpus", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sentences_end_at_stops_and_not_behind_abbreviations(corpus):
    text = 'Dr. J. Smith of the U.S. army came at 3 p.m. yesterday. "Who is he?" asked Mr. Jones.'
    assert corpus.sentences(text) == [
        "Dr. J. Smith of the U.S. army came at 3 p.m. yesterday.",
        '"Who is he?" asked Mr. Jones.',
    ]


def test_left_over_marks_are_mended_and_formulas_go_with_their_sentence(corpus):
    line = (
        "Brno (; Czech: Brno) is the second largest city () in the Czech Republic by population. "
        "Its density is formula_3 people for each square kilometre of its area. "
        "It was founded around the year 1000 and is a lively place &amp; a good one<br> today."
    )
    assert corpus.clean(line) == (
        "Brno (Czech: Brno) is the second largest city in the Czech Republic by population. "
        "It was founded around the year 1000 and is a lively place & a good one today."
    )


@pytest.mark.parametrize(
    "line",
    [
        "Significance in the natural sciences.",
        "* A point of a list that is long enough to be a whole sentence of its own.",
        "The rules of the game may be written down in the following ways:",
        "Здесь написано целое предложение на другом языке, и оно достаточно длинное.",
        "| width = 3 | height = 4 | and this is what is left over of a table there.",
    ],
)
def test_headings_lists_and_other_scripts_give_nothing(corpus, line):
    assert corpus.clean(line) == ""


def test_articles_lose_title_and_those_that_only_point_elsewhere(corpus):
    lines = [
        '<doc id="1" url="http://example.org" title="Mimas">',
        "Mimas",
        "Mimas is a moon of the planet Saturn which was found in the year 1789.",
        "</doc>",
        '<doc id="2" url="http://example.org" title="List of moons">',
        "Mimas is a moon of the planet Saturn which was found in the year 1789.",
        "</doc>",
    ]
    assert list(corpus.articles(lines)) == [
        ["Mimas is a moon of the planet Saturn which was found in the year 1789."]
    ]


def test_a_paragraph_is_kept_once_and_stubs_go(corpus):
    first = ["One is here. Two is here. Three is here.", "Four is here."]
    second = ["One is here. Two is here. Three is here.", "Five is here."]
    assert list(corpus.once([first, second], set())) == [first]


def test_books_are_unwrapped_and_speeches_cut(corpus, tmp_path):
    (tmp_path / "author-book.txt").write_bytes(
        b"[Book by Author 1800]\r\n\r\nCHAPTER I\r\n\r\nIt was--as she\r\nsaid--_very_ caf\xe9.\r\n"
    )
    assert list(corpus.books(tmp_path)) == [["It was — as she said — very café."]]
    (tmp_path / "author-book.txt").write_text(" ".join(f"This is number {n}." for n in range(8)))
    assert [len(corpus.sentences(p)) for p in next(corpus.speeches(tmp_path))] == [6, 2]
