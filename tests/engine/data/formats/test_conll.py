"""Tagged words are read unchanged; errors name the line."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Reading
from engine.data.columns.tags import spans_from_tags
from engine.data.columns.words import split_words
from engine.data.formats.conll import guess_conll, open_conll
from engine.data.formats.lines import Lines
from engine.data.formats.reading import recognise
from engine.data.formats.rows import Remarks, Row
from engine.errors import BadFile
from tests.often import tries

word = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=8)
tag = st.sampled_from(["O", "B-x", "I-x"])
tagged = st.lists(st.lists(st.tuples(word, tag), min_size=1, max_size=6), min_size=1, max_size=6)


CONLL = Reading(format="conll")


def read(
    path: Path, content: str | bytes, words: str = "text", tags: str = "tags"
) -> tuple[list[tuple[tuple[str, ...], ...]], str]:
    """Words and tags of each sentence, from the named columns, and all remarks."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    remarks = Remarks()
    columns, rows, _ = open_conll(Lines(path, "utf-8"), CONLL, remarks)
    columns_used = [columns.index(name) for name in (words, tags)]
    result = [tuple(tuple(split_words(row.cells[n])) for n in columns_used) for row in rows]
    return result, " ".join(remarks.sentences())


@pytest.mark.parametrize(
    "name, sentences, words, counts",
    [
        ("wnut17train.conll", 3394, 62730, (548, 264, 221, 660, 140, 142)),
        ("emerging.dev.conll", 1009, 15733, (74, 39, 34, 470, 105, 114)),
        ("emerging.test.annotated", 1287, 23394, (150, 165, 66, 429, 142, 127)),
    ],
)
def test_published_corpora_have_their_known_counts(assets, name, sentences, words, counts):
    remarks = Remarks()
    lines = Lines(assets / "datasets" / "wnut17" / name, "utf-8")
    columns, content, _ = open_conll(lines, CONLL, remarks)
    assert columns == ("text", "tags")
    result = [(row.line, *map(split_words, row.cells)) for row in content]
    assert len(result) == sentences
    assert sum(len(tokens) for _, tokens, _ in result) == words
    types = [span.type for _, _, tags in result for span in spans_from_tags(tags)]
    order = ("location", "group", "corporation", "person", "creative-work", "product")
    assert tuple(map(types.count, order)) == counts
    assert remarks.sentences() == ()
    raw = lines.path.read_text(encoding="utf-8").split("\n")
    for line, tokens, tags in result:
        rows = raw[line - 1 : line - 1 + len(tokens)]
        assert rows == [f"{a}\t{b}" for a, b in zip(tokens, tags, strict=True)]
    assert recognise(lines.path).reading.format == "conll"


@given(tagged, st.sampled_from(["\t", " ", "  "]), st.sampled_from(["\n", "\r\n", "\r"]))
@tries(150)
def test_written_sentences_round_trip(rows, separator, end):
    body = [[f"{a}{separator}{b}" for a, b in sentence] for sentence in rows]
    content = (end * 2).join(end.join(sentence) for sentence in body) + end
    words = [a for sentence in rows for a, _ in sentence]
    is_plain = not any(a.startswith("-DOCSTART-") or a[0].isdecimal() for a in words)
    has_columns = not all(a.startswith("#") for a in words)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.conll"
        if is_plain and has_columns:
            result, _ = read(path, "\ufeff" + content)
            assert result == [tuple(zip(*sentence, strict=True)) for sentence in rows]
        else:  # any line may look like a comment or a document start
            path.write_text(content, encoding="utf-8", newline="")
            _, sentences, _ = open_conll(Lines(path, "utf-8"), CONLL, Remarks())
            assert len(list(sentences)) <= len(rows)


ENGLISH = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
# # B-NP O

Peter NNP B-NP B-PER
"""
UNIVERSAL = """# newdoc
# sent_id = 1
# text = don't # go
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\t_\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\t_\t_\t1\tadvmod\t_\t_
2.1\tgo\tgo\tVERB\t_\t_\t_\t_\t_\t_
3\t#\t#\tSYM\t_\t_\t1\tpunct\t_\t_
"""


def test_published_variants_are_read(tmp_path):
    path = tmp_path / "x.conll"
    sentences, notes = read(path, ENGLISH)
    assert sentences == [(("EU", "rejects", "#"), ("B-ORG", "O", "O")), (("Peter",), ("B-PER",))]
    assert notes == ""
    assert read(path, ENGLISH, "text", "column 2")[0][0][1] == ("NNP", "VBZ", "#")
    sentences, notes = read(path, UNIVERSAL, tags="upos")
    assert sentences == [(("do", "n't", "#"), ("AUX", "PART", "SYM"))]
    assert "comment: 3 times, first in line 1" in notes
    assert "skipped: 2 times, first in line 4" in notes


MULTICONER = """# id 0-aa\tdomain=en
EU _ _ B-ORG
# _ _ I-ORG
rejects _ _ O

# id 1-aa\tdomain=en
# _ _ B-ORG
Peter _ _ B-PER
"""
GERMEVAL = """#\thttp://de.wikipedia.org/wiki/X\t[2009-10-17]
1\tFC\tB-ORG\tO
2\tKöln\tI-ORG\tB-LOC
3\tspielt\tO\tO

#\thttp://de.wikipedia.org/wiki/Y\t[2009-10-18]
1\t#\tO\tO
2\tBonn\tB-LOC\tO
"""
CONLL_2012 = """#begin document (bc/x); part 000
bc/x 0 0 New NNP (TOP(NP* - - - A (GPE* (ARG0* -
bc/x 0 1 York NNP *) - - - A *) *) (1)
bc/x 0 2 # # *) - - - A * * -

bc/x 0 0 Go VB * go 01 1 A * -
bc/x 0 1 Bonn NNP * - - - A (GPE) -

#end document
"""
CHUNKS = """EU B-NP B-ORG
calls B-VP O

# newdoc
Peter B-NP B-PER
"""
WITH_REMARKS = {  # sentences of words and tags
    MULTICONER: ["EU/B-ORG #/I-ORG rejects/O", "#/B-ORG Peter/B-PER"],
    GERMEVAL: ["FC/B-ORG Köln/I-ORG spielt/O", "#/O Bonn/B-LOC"],
    CONLL_2012: ["New/B-GPE York/I-GPE #/O", "Go/O Bonn/B-GPE"],
    CHUNKS: ["EU/B-ORG calls/O", "Peter/B-PER"],
}


@pytest.mark.parametrize("content", WITH_REMARKS)
def test_remarks_have_other_columns_than_words(tmp_path, content):
    sentences, notes = read(tmp_path / "x.conll", content)
    found = [" ".join(map("/".join, zip(*sentence, strict=True))) for sentence in sentences]
    assert found == WITH_REMARKS[content]
    assert "comment" in notes
    assert guess_conll(content.splitlines(keepends=True), ".txt", True)


@pytest.mark.parametrize(
    "content, expected, notes",
    [
        ("#tag\tO\nx\tO\n", [("#tag", "x")], ""),
        ("# O\nx O\n", [("#", "x")], ""),
        ("# id 1\tdomain=en\nx _ _ O\n", [("x",)], "comment"),  # MultiCoNER
        ("# id 1\tdomain=en\nx\tO\n", [("x",)], "comment"),
        ("#begin document (a); part 000\nx y O\n\n#end document\n", [("x",)], "2 times"),
        ("\n\n\t\nx\tO\n \t \ny\tO\n\n\n", [("x",), ("y",)], ""),
        ("a b\tO\nc\tO\n", [("a\u00a0b", "c")], "no-break space"),
        ("1\ta\tO\n2\tb\tO\n", [("a", "b")], ""),
        ("x\tO\t\ny\tO\n", [("x", "y")], ""),
        ("x\tO\n\tO\ny\tO\n", [("x", "y")], "without a word"),
        ("x\u00a0y O\nz\u2028 O\n", [("x\u00a0y", "z\u2028")], ""),
        ("3-4" + " x" * 9 + "\n", [("3-4",)], ""),
        ("a\t\tO\n", [("a",)], "replaced by"),
        ("a O\n-DOCSTART-\nb O\n", [("a",), ("b",)], ""),
        ("x O\n# a comment\n", [("x",)], "comment"),
        ("# a\n-DOCSTART-\tO\n\nx\tO\n", [("x",)], "comment"),
    ],
)
def test_unusual_lines_are_read(tmp_path, content, expected, notes):
    for end in ("\n", "\r\n"):
        sentences, remarks = read(tmp_path / "x.conll", content.replace("\n", end))
        assert [words for words, _ in sentences] == expected
        assert notes in remarks and (notes or not remarks)


@pytest.mark.parametrize(
    "content, line, message",
    [
        ("x\tO\ny\n", 2, "one column, but the first row has 2"),
        ("x\tO\n\ny\t\n", 3, "one column"),
        ("x O\ny z O\n", 2, "3 columns, but the first row has 2"),
        ("a b c O\nx O\n", 2, "2 columns"),
        ("x\tO\ny O\n", 2, "one column"),
        (b"x O\ncaf\xe9 O\n", 2, "not text in utf-8"),
    ],
)
def test_a_malformed_row_is_reported_with_its_line(tmp_path, content, line, message):
    with pytest.raises(BadFile) as caught:
        read(tmp_path / "x.conll", content)
    assert caught.value.line == line
    assert message in caught.value.problem and caught.value.problem.startswith("x.conll, line")
    assert caught.value.problem.endswith(".") and caught.value.advice.endswith(".")


def test_words_without_tags_are_read_as_sentences(tmp_path):
    assert read(tmp_path / "x.conll", "a\nb\n\nc\n", tags="text")[0] == [
        (("a", "b"), ("a", "b")),
        (("c",), ("c",)),
    ]


def test_an_overlong_sentence_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.conll.MAX_SENTENCE_WORDS", 10)
    assert len(read(tmp_path / "x.conll", "x O\n" * 10)[0]) == 1
    with pytest.raises(BadFile, match="line 3: this sentence has more than 10 words"):
        read(tmp_path / "x.conll", "y O\n\n" + "x O\n" * 11)


def test_sentences_are_read_lazily(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("x O\n\nbroken\n", encoding="utf-8")
    _, rows, _ = open_conll(Lines(path, "utf-8"), CONLL, Remarks())
    assert next(rows) == Row(1, ("x", "O"))
    with pytest.raises(BadFile, match="line 3"):
        next(rows)


@pytest.mark.parametrize(
    "content, suffix, is_conll",
    [
        ("x O\ny B-a\n\nz O\n", ".txt", True),
        ("x\tO\ny\tB-a\n\nz\tO\n", ".tsv", True),
        ("x N B-a\ny V O\n\nz N O\n", ".data", True),
        ("x B-a N\ny O V\n\nz O N\n", "", True),
        ("x N\ny V\n\nz N\n", ".txt", False),
        ("x N\ny V\n\nz N\n", ".conll", True),
        ("x O\ny B-a\nz O\n", ".txt", False),
        ("Good morning\nO captain\n\nMy captain\n", ".txt", False),
        ("text\tlabel\nx y\tB\n\nz\tI\n", ".tsv", False),
        ("", ".iob", True),
        ("one\n\ntwo\n", ".txt", False),
        ("x O\ny B-a\n\n" * 30 + "z oops\n", ".txt", True),
        ("x\tPER\ny\tO\nz\tO\n\n" * 10, ".txt", True),
        ("x N\ny V\nz N\n\n" * 10, ".txt", True),
        ("x N\ny V\n\n" * 10, ".txt", False),
        ("B-a\tw=x\nO\tw=y\nO\tw=z\n\n" * 10, ".txt", False),
        ("it was good.\nit was bad.\nit was fair.\n\n" * 10, ".txt", False),
        ("".join(f"line {n}\nof {n}\na{n} poem\n\n" for n in range(10)), ".txt", False),
    ],
)
def test_tagged_words_are_recognised(content, suffix, is_conll):
    result = guess_conll(content.splitlines(keepends=True), suffix, True)
    assert (result is not None) == is_conll
