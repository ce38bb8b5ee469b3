"""Sentences end at full stops but not after abbreviations; wrapped lines are joined."""

import textwrap

import pytest

from engine.data.tokenized.sentences import sentences


@pytest.mark.parametrize(
    "text, expected",
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("A line\nand another", ["A line", "and another"]),
        ("“Go.” He went.", ["“Go.”", "He went."]),
        ("It cost 3.5 dollars. 7 were left.", ["It cost 3.5 dollars.", "7 were left."]),
        ("e.g. this is one", ["e.g. this is one"]),
        ("他来了。我走了！", ["他来了。", "我走了！"]),
        ("Été. Öl ist da.", ["Été.", "Öl ist da."]),
        (
            "He said so?” She nodded. (Yes.) “No!” Go.",
            ["He said so?”", "She nodded.", "(Yes.)", "“No!”", "Go."],
        ),
        ("他说：“来了。”我走了。", ["他说：“来了。”", "我走了。"]),
        (
            "Mr. Knightley met Mrs. Weston. St. John came.",
            ["Mr. Knightley met Mrs. Weston.", "St. John came."],
        ),
        (
            "By J. R. R. Tolkien and E.J. Woo. It sold.",
            ["By J. R. R. Tolkien and E.J. Woo.", "It sold."],
        ),
        (
            "The U.S. Senate met in the U.S. The end.",
            ["The U.S. Senate met in the U.S.", "The end."],
        ),
        (
            "Apple Inc. Shares rose. At Apple Inc. They rose.",
            ["Apple Inc. Shares rose.", "At Apple Inc.", "They rose."],
        ),
        ("See No. 5 and Fig. 2. No. He won.", ["See No. 5 and Fig. 2.", "No.", "He won."]),
        (
            "Tools, e.g. Hammers. So do I. He left.",
            ["Tools, e.g. Hammers.", "So do I.", "He left."],
        ),
        (
            "Herr Dr. Maier kam, vgl. Abschnitt. Gut.",
            ["Herr Dr. Maier kam, vgl. Abschnitt.", "Gut."],
        ),
        ("", []),
        ("\n \n", []),
    ],
)
def test_sentences_end_at_stops_and_line_ends(text, expected):
    assert sentences(text) == expected


PROSE = [
    "Sixteen years had Miss Taylor been in Mr. Woodhouse's family, less a governess than a friend.",
    "Between them it was more the intimacy of sisters.",
    "The mildness of her temper had hardly allowed her to impose any restraint on the two girls.",
    "Sorrow came, a gentle sorrow, but not at all in the shape of any disagreeable consciousness.",
]
POEM = "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,"


@pytest.mark.parametrize("width", [40, 72, 100])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_lines_of_wrapped_text_are_joined(width, line_end):
    text = " ".join(PROSE)
    paragraph = line_end.join(textwrap.wrap(text, width, break_on_hyphens=False))
    assert sentences(paragraph) == PROSE
    assert sentences(f"{paragraph}{line_end * 2}{paragraph}") == PROSE * 2


def test_lines_of_one_sentence_each_are_kept():
    assert sentences("\n".join(PROSE)) == PROSE
    plain = [line.lower().replace(".", "") for line in PROSE]
    assert sentences("\n".join(plain)) == plain
    assert sentences("\n".join(plain[:2])) == plain[:2]
    headings = ["Chapter the first", "In which nothing happens", *PROSE]
    assert sentences("\n".join(headings)) == headings


def test_the_lines_of_a_poem_are_not_joined():
    assert sentences(POEM) == POEM.split("\n")


def test_an_empty_line_ends_a_sentence_also_in_wrapped_text():
    text = "\n".join(textwrap.wrap(" ".join(PROSE), 60))
    assert sentences(f"A heading without a stop\n\n{text}")[0] == "A heading without a stop"


def test_a_line_continued_in_lower_case_is_joined():
    text = "A line that is\nlonger than the others, by far, in this text\nof three. So.\nThe end."
    assert len(sentences(text)) == 3


def test_a_word_broken_at_a_hyphen_is_joined():
    text = "There stood at last the house of his well-\nknown friend, and it was a long way away.\n"
    (sentence,) = sentences(text)
    assert "well-known friend" in sentence
