"""Files of static word vectors: their forms, their faults, and the numbers of gensim."""

import bz2
import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from engine.data.word_vectors.expression import parse
from engine.data.word_vectors.facts import read_facts
from engine.data.word_vectors.reading import examine, holds_word_vectors, is_meant, vectors_name
from engine.data.word_vectors.spaces import relate_in_file
from engine.data.word_vectors.store import WordVectors, convert
from engine.errors import BadFile, StudioError
from engine.messages.word_vectors import VectorFacts
from engine.visible import SENTENCE_CHARACTERS

HERE = Path(__file__).parent
TEXT, BINARY = (HERE / "small.txt").read_bytes(), (HERE / "small.bin").read_bytes()
GLOVE = TEXT.partition(b"\n")[2]
EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def take(tmp_path):
    """Convert the content of a file; returns its facts and its mapped vectors."""

    def convert_content(content: bytes, name: str = "file.txt") -> tuple[VectorFacts, WordVectors]:
        (tmp_path / name).write_bytes(content)
        done = list[tuple[int, int]]()
        facts = convert(tmp_path / name, tmp_path / "converted", lambda *words: done.append(words))
        assert done == sorted(done) and all(read <= total for read, total in done)
        assert facts == read_facts(tmp_path / "converted")
        return facts, WordVectors(tmp_path / "converted")

    return convert_content


def zipped(content: bytes, path: Path) -> bytes:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("glove.txt", content)
    return path.read_bytes()


def test_every_form_gives_the_numbers_of_gensim(take, tmp_path):
    forms = {
        "glove.txt": GLOVE, "w2v.txt": TEXT, "w2v.bin": BINARY, "w2v.txt.gz": gzip.compress(TEXT),
        "w2v.bin.gz": gzip.compress(BINARY), "g.bz2": bz2.compress(GLOVE),
        "glove.zip": zipped(GLOVE, tmp_path / "x"),
        "c.txt": TEXT.replace(b"\n", b" \n"),  # as word2vec.c and fastText write
        "windows.txt": b"\xef\xbb\xbf" + GLOVE.replace(b"\n", b"\r\n").replace(b" ", b"\t") + b"\n",
        "marked.txt": b"\xef\xbb\xbf" + TEXT,
        "c.bin": with_line_feeds(BINARY),  # as word2vec.c writes
    }  # fmt: skip
    for name, content in forms.items():
        facts, vectors = take(content, name)
        assert (facts.words, facts.size, facts.duplicates, facts.not_utf8) == (60, 8, 0, 0), name
        assert isinstance(vectors.vectors, np.memmap), "not read into memory"
        assert examine(tmp_path / name).words == pytest.approx(60, abs=5), name
        for first, second, cosine in EXPECTED["cosines"]:
            space = relate_in_file(vectors, (first, second), (1, 1), 1)
            assert space.cosines == pytest.approx((cosine,), abs=1e-6), name
        for plus, minus, nearest in EXPECTED["nearest"]:
            signs = [1] * len(plus) + [-1] * len(minus)
            space = relate_in_file(vectors, plus + minus, signs, 10)
            assert [near.token for near in space.nearest] == [word for word, _ in nearest], name
            cosines = [near.cosine for near in space.nearest]
            assert cosines == pytest.approx([cosine for _, cosine in nearest], abs=1e-6)
            assert space.searched == 60


def with_line_feeds(binary: bytes) -> bytes:
    """The binary file with a line feed after every vector."""
    header, _, rest = binary.partition(b"\n")
    content = header + b"\n"
    while rest:
        end = rest.index(b" ") + 33
        content, rest = content + rest[:end] + b"\n", rest[end:]
    return content


def test_words_of_real_files_are_kept_as_they_are(take):
    """GloVe 840B has words with spaces, no-break spaces and U+0085, and equal words."""
    words = [
        "the",
        ". . .",
        "to name@domain.com",
        "a\xa0b",
        "\x85",
        "x\u2028y",
        "#",
        '"',
        "The",
        "1",
    ]
    lines = [f"{word} {n} 1.5 -2e-1" for n, word in enumerate([*words, "the", "the"])]
    facts, vectors = take("\n".join(lines).encode() + b"\nna\xefve 1 2 3\n")
    assert [vectors.word(row) for row in range(len(vectors))] == words
    np.testing.assert_array_equal(vectors.vectors[:, 0], np.arange(10))
    assert (facts.duplicates, facts.not_utf8, facts.first_not_utf8) == (2, 1, 13)
    remarks = " ".join(facts.remarks())
    assert "2 words left out, because the file has an equal one before." in remarks
    assert "1 word left out, because they are not valid UTF-8; the first is number 13." in remarks
    assert "then in lower case" in remarks


def test_a_word_is_looked_up_as_it_is_then_in_lower_case(take):
    facts, vectors = take(b"3 2\nnew_york 1 2\npolish 3 4\nPolish 5 6\n")
    found = {word: vectors.look_up(word) for word in ("Polish", "POLISH", "New York", "absent")}
    assert [None if f is None else f.word for f in found.values()] == [
        "Polish", "polish", "new_york", None,
    ]  # fmt: skip
    space = relate_in_file(vectors, ("POLISH", "absent"), (1, 1), 3)
    assert space.missing == ("absent",) and space.read_as == ("polish",)
    assert space.cosines == (None,) and space.nearest == () and facts.has_capitals
    assert "All words are in lower case" in take(b"one 1 2\ntwo 2 3\n")[0].remarks()[-1]


ROW = b"a 1 2 3\n"
FAULTS = {
    "empty": (b"", "it has no words."),
    "only a header": (b"5 3\n", "it has no words."),
    "prose": (b"This is a text.\nWith two lines.\n", "neither a word with its numbers"),
    "cut off": (TEXT[:-400], "incomplete|line \\d+: it has \\d numbers"),
    "cut off between lines": (b"9 3\n" + 3 * ROW, "announces 9 words, and it has 3."),
    "cut off in binary": (BINARY[:-100], "announces 60 words, and it has 57."),
    "more than announced": (b"2 3\n" + 3 * ROW, "announces 2 words, and it has more."),
    "more than announced in binary": (b"5" + BINARY[1:].replace(b"0 8", b"9 8", 1), "has more."),
    "another size": (b"3 4\n" + 3 * ROW, "line 2: it has 3 numbers, and a vector here has 4."),
    "a short line": (3 * ROW + b"b 1 2\n" + ROW, "line 4: it has 2 numbers"),
    "a long line": (3 * ROW + b"b 1 2 3 4\n" + ROW, "line 4: it has 4 numbers"),
    "a blank line": (3 * ROW + b"\n" + ROW, "line 4: it has 0 numbers"),
    "no number": (3 * ROW + b"b 1 x 3\n", "line 4: it does not have a word and 3 numbers."),
    "not finite": (3 * ROW + b"b 1 nan 3\n", "line 4: a number is not finite."),
    "not finite in binary": (
        b"2 1\na " + np.array(1, "<f4").tobytes() + b"b " + np.array(np.nan, "<f4").tobytes(),
        "word 2 has impossible numbers",
    ),
    "text after two numbers": (b"1 2\nhello world\n", "neither a word with its numbers"),
    "a word with a space in binary": (
        b"2 2\nthe " + np.array([1, 2], "<f4").tobytes() + b"New York " + bytes(8),
        "word 2 has impossible numbers.",
    ),
    "Latin-1": ("é 1 2 3\nà 1 2 3\n".encode("latin-1"), "none of its words is valid UTF-8."),
    "damaged gzip": (gzip.compress(TEXT)[:-30], "damaged or incomplete"),
    "a pickle": (b"\x80\x04\x95abc", "it is a file of gensim or of Python"),
    "fastText": (b"\xba\x16\x4f\x2f\x0c\x00", "it is a model of fastText"),
    "no end of a word": (b"9 2\nabc" + b"\x01" * 20_000, "word 1 has no end|neither|has no"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_file_is_refused_in_one_sentence_and_leaves_nothing(take, tmp_path, fault):
    content, problem = FAULTS[fault]
    with pytest.raises(BadFile, match=problem) as caught:
        take(content)
    assert caught.value.advice and len(str(caught.value.phrase)) <= SENTENCE_CHARACTERS
    assert not (tmp_path / "converted").exists() and len(list(tmp_path.iterdir())) == 1


def test_only_obvious_files_are_recognised(tmp_path):
    names = {
        "small.txt": TEXT, "wide.txt": b"a " + b"1 " * 25 + b"\n", "narrow.txt": ROW,
        "prose.txt": b"2 5\nA text of two lines.\n",
        "model.onnx": b"x", "model.zip": b"PK\x03\x04", "w.bin": BINARY,
    }  # fmt: skip
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)
    found = {name for name in names if holds_word_vectors(tmp_path / name)}
    assert found == {"small.txt", "wide.txt", "w.bin"}
    assert {n for n in names if not is_meant(tmp_path / n)} == {"model.onnx", "model.zip"}
    assert not is_meant(tmp_path) and vectors_name(Path("glove.6B.100d.txt.gz")) == "glove.6B.100d"


def test_damaged_or_missing_copies_are_refused(take, tmp_path):
    take(TEXT)
    for name in ("vectors.npy", "words.arrow", "facts.json"):
        (tmp_path / "converted" / name).write_bytes(b"x")
        with pytest.raises(StudioError, match="“converted” are missing or damaged"):
            WordVectors(tmp_path / "converted")


def test_words_with_signs_are_split_at_spaces():
    assert parse(" king − man + e-mail ") == (("king", "man", "e-mail"), (1, -1, 1))
    assert parse("New York") == (("New York",), (1,))
    for text in ("", "king + ", " + ".join("abcdefg")):
        with pytest.raises(StudioError, match="Type one word"):
            parse(text)
