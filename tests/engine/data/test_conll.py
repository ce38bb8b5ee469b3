"""Tagged words are read as they stand, or their line is named."""

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.data.formats.conll import Sentence, open_conll
from engine.data.formats.rows import Remarks
from engine.data.lines import Lines
from engine.data.tags import spans
from engine.errors import BadFile
from tests.engine.data.test_mutants import mutated

word = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=8)
tag = st.sampled_from(["O", "B-x", "I-x"])
tagged = st.lists(st.lists(st.tuples(word, tag), min_size=1, max_size=6), min_size=1, max_size=6)


def read(
    path: Path, content: str | bytes, words: int = 0, tags: int = -1
) -> tuple[list[tuple[tuple[str, ...], tuple[str, ...]]], str]:
    """Words and tags of each sentence, and all remarks."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    remarks = Remarks()
    found = open_conll(Lines(path, "utf-8"), remarks, words, tags)
    return [(one.words, one.tags) for one in found], " ".join(remarks.sentences())


@pytest.mark.parametrize(
    "name, sentences, words, counts",
    [
        ("wnut17train.conll", 3394, 62730, (548, 264, 221, 660, 140, 142)),
        ("emerging.dev.conll", 1009, 15733, (74, 39, 34, 470, 105, 114)),
        ("emerging.test.annotated", 1287, 23394, (150, 165, 66, 429, 142, 127)),
    ],
)
def test_published_sentences_are_read_as_counted(assets, name, sentences, words, counts):
    remarks = Remarks()
    lines = Lines(assets / "datasets" / "wnut17" / name, "utf-8")
    found = list(open_conll(lines, remarks))
    assert len(found) == sentences
    assert sum(len(one.words) for one in found) == words
    types = [span.type for one in found for span in spans(one.tags)]
    order = ("location", "group", "corporation", "person", "creative-work", "product")
    assert tuple(map(types.count, order)) == counts
    assert remarks.sentences() == ()
    raw = lines.path.read_text(encoding="utf-8").split("\n")
    for one in found:
        rows = raw[one.line - 1 : one.line - 1 + len(one.words)]
        assert rows == [f"{a}\t{b}" for a, b in zip(one.words, one.tags, strict=True)]


@given(tagged, st.sampled_from(["\t", " ", "  "]), st.sampled_from(["\n", "\r\n", "\r"]))
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_as_it_was(rows, between, end):
    body = [[f"{a}{between}{b}" for a, b in sentence] for sentence in rows]
    content = (end * 2).join(end.join(sentence) for sentence in body) + end
    with tempfile.TemporaryDirectory() as folder:
        found, _ = read(Path(folder) / "x.conll", "\ufeff" + content)
    begins_with_document = any(a.startswith("-DOCSTART-") for s in rows for a, _ in s)
    if not begins_with_document:
        assert found == [tuple(zip(*sentence, strict=True)) for sentence in rows]


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


def test_columns_and_comments_of_published_forms(tmp_path):
    path = tmp_path / "x.conll"
    sentences, notes = read(path, ENGLISH)
    assert sentences == [
        (("EU", "rejects", "#"), ("B-ORG", "O", "O")),
        (("Peter",), ("B-PER",)),
    ]
    assert notes == ""
    assert read(path, ENGLISH, 0, 1)[0][0][1] == ("NNP", "VBZ", "#")
    sentences, notes = read(path, UNIVERSAL, words=1, tags=3)
    assert sentences == [(("do", "n't", "#"), ("AUX", "PART", "SYM"))]
    assert "comment: 3 in all, the first in line 1" in notes
    assert "left out: 2 in all, the first in line 4" in notes


@pytest.mark.parametrize(
    "content, expected, notes",
    [
        ("#tag\tO\nx\tO\n", [("#tag", "x")], ""),
        ("# O\nx O\n", [("#", "x")], ""),
        ("#begin document (a); part 000\nx y O\n\n#end document\n", [("x",)], "2 in all"),
        ("\n\n\t\nx\tO\n \t \ny\tO\n\n\n", [("x",), ("y",)], ""),
        ("a b\tO\nc\tO\n", [("a b", "c")], ""),
        ("x\tO\t\ny\tO\n", [("x", "y")], ""),
        ("x\tO\n\tO\ny\tO\n", [("x", "y")], "no word"),
        ("x\u00a0y O\nz\u2028 O\n", [("x\u00a0y", "z\u2028")], ""),
        ("3-4" + " x" * 9 + "\n", [("3-4",)], ""),
        ("a O\n-DOCSTART-\nb O\n", [("a",), ("b",)], ""),
        ("-DOCSTART-\tO\n\n\n", [], ""),
        ("\n", [], ""),
    ],
)
def test_odd_lines_are_understood(tmp_path, content, expected, notes):
    for end in ("\n", "\r\n"):
        sentences, told = read(tmp_path / "x.conll", content.replace("\n", end))
        assert [words for words, _ in sentences] == expected
        assert notes in told and (notes or not told)


@pytest.mark.parametrize(
    "content, columns, line, says",
    [
        ("x\tO\ny\n", (0, -1), 2, "one column"),
        ("x\tO\n\ny\n", (0, 1), 3, "one column"),
        ("x O\ny z O\n", (0, -1), 2, "3 columns, and those before it in the sentence have 2"),
        ("a b c O\nx O\n", (0, -1), 2, "2 columns"),
        ("x O\n", (1, 2), 1, "2 columns, too few"),
        ("x O\n", (0, -3), 1, "too few"),
        ("x\tO\tz\ny\t\tz\n", (0, 1), 2, "no tag"),
        ("x O\n# a comment\n", (0, -1), 2, "3 columns"),
        (b"x O\ncaf\xe9 O\n", (0, -1), 2, "not text in utf-8"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, content, columns, line, says):
    with pytest.raises(BadFile) as caught:
        read(tmp_path / "x.conll", content, *columns)
    assert caught.value.line == line
    assert says in caught.value.problem and caught.value.problem.startswith("x.conll, line")
    assert caught.value.problem.endswith(".") and caught.value.advice.endswith(".")


def test_a_sentence_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.conll.LONGEST_SENTENCE", 10)
    assert len(read(tmp_path / "x.conll", "x O\n" * 10)[0]) == 1
    with pytest.raises(BadFile, match="line 3: this sentence has more than 10 words"):
        read(tmp_path / "x.conll", "y O\n\n" + "x O\n" * 11)


def test_sentences_are_read_as_they_are_asked_for(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("x O\n\nbroken\n", encoding="utf-8")
    found = open_conll(Lines(path, "utf-8"), Remarks())
    assert next(found) == Sentence(1, ("x",), ("O",))
    with pytest.raises(BadFile, match="line 3"):
        next(found)


def test_one_column_cannot_be_both(tmp_path):
    with pytest.raises(ValueError, match="same column"):
        read(tmp_path / "x.conll", "x O\n", 1, 1)


def test_mutated_files_give_sentences_or_a_sentence(tmp_path):
    chance = random.Random(5)
    seeds = [ENGLISH.encode(), UNIVERSAL.encode(), b"x\tO\r\n\r\ny\tB-z\r\n" * 3]
    outcomes = {"read": 0, "refused": 0}
    for _ in range(200):
        content = mutated(chance.choice(seeds), chance)
        if not content:
            continue
        try:
            for words, tags in read(tmp_path / "x.conll", content)[0]:
                assert len(words) == len(tags) > 0 and all(words) and all(tags)
            outcomes["read"] += 1
        except BadFile:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 20
