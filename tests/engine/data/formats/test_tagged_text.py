"""Lines of words with their tags are read as such, in the forms of several taggers."""

import pytest
from nltk.tag.util import tuple2str

from engine.cli import main
from engine.config.dataset import Reading
from engine.data.formats.reading import read, recognise
from engine.errors import BadFile

SENTENCES = [
    [("The", "DT"), ("dog", "NN"), ("of", "IN"), ("1/2", "CD"), ("barks", "VBZ"), (".", ".")],
    [("Ann_Lee", "NNP"), ("sees", "VBZ"), ("Rome", "NNP"), (".", ".")],
]
SPANS = [["O", "O", "O", "O", "O", "O"], ["B-PER", "O", "B-LOC", "O"]]


def join(sign: str) -> list[str]:
    """The sentences as NLTK writes them."""
    return [" ".join(tuple2str(pair, sign) for pair in sentence) for sentence in SENTENCES]


WORDS = [[word for word, _ in sentence] for sentence in SENTENCES]
PENN = [tag for _, tag in SENTENCES[0]], [tag for _, tag in SENTENCES[1]]
FORMS = {  # the lines, the tags, and other columns
    "slash": (join("/"), PENN, ()),
    "Penn": ([line.replace("1/2/", r"1\/2/") for line in join("/")], PENN, ()),
    "underscore": (join("_"), PENN, ()),
    "bars": (join("|||"), PENN, ()),
    "C&C": (
        [
            " ".join(f"{word}|{tag}|{span}" for (word, tag), span in zip(s, spans, strict=True))
            for s, spans in zip(SENTENCES, SPANS, strict=True)
        ],
        SPANS,
        ("column 2",),
    ),
    "halves": (
        [f"{' '.join(w)} ||| {' '.join(t)}" for w, t in zip(WORDS, SPANS, strict=True)],
        SPANS,
        (),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read_as_words_and_tags(tmp_path, form):
    lines, tags, others = FORMS[form]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(lines * 4) + "\n\n")
    found = recognise(path)
    table = read(path, found.reading)
    assert found.reading.format == "tagged-text" and found.mapping.tags == "tags"
    assert table.columns == ("text", *others, "tags")
    expected = [(" ".join(w), " ".join(t)) for w, t in zip(WORDS, tags, strict=True)]
    assert [(row.cells[0], row.cells[-1]) for row in table] == expected * 4
    assert "tag, which is behind" in table.notes[0]
    plain = read(path, Reading(format="text", header=False))
    assert [row.cells[0] for row in plain] == lines * 4, "the other reading"
    path.write_text("\n".join([*lines * 10, "no tags here"]))
    with pytest.raises(BadFile, match="words without a tag") as caught:
        list(read(path, recognise(path).reading))
    assert caught.value.line == 21
    assert main(["check", str(path), "--format", "text"]) == 0


OTHERS = {
    "a.txt": "and/or this\nhe/she is here\n" * 20,
    "b.txt": "https://a.b/c https://a.b/d\n" * 20,
    "c.txt": "1/2 3/4\n5/6 7/8\n" * 20,
    "d.txt": "snake_case and more\n" * 20,
    "e.csv": "text|label\na fine day|POS\na bad day|NEG\n" * 10,
    "f.csv": "a|b|c\nd|e|f\n" * 20,
    "g.txt": "fine|POS\nbad|NEG\n" * 20,
    "h.txt": "a text ||| another text of it\nb ||| c d e\n" * 20,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_lines_are_no_tagged_text(tmp_path, name):
    path = tmp_path / name
    path.write_text(OTHERS[name])
    assert recognise(path).reading.format != "tagged-text"
    with pytest.raises(BadFile, match=r"not words with tags\. Choose “Plain text”"):
        read(path, Reading(format="tagged-text"))
