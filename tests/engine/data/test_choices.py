"""Choices are read from tables and JSON lines, or their row is named."""

import csv
import io
import json
import random
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.data.formats.choices import ChoiceColumns, Choices, guess_columns, open_choices
from engine.data.formats.rows import Remarks
from engine.data.lines import Lines
from engine.data.reading import recognise_reading
from engine.errors import BadFile, MissingColumn, StudioError
from engine.spec.dataset import Reading
from tests.engine.data.test_mutants import mutated

SWAG = """,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label
0,17,"A man sits. He",A man sits.,He,gold,runs.,"sits, still.",flies.,sleeps.,0
1,18,"A dog barks. It",A dog barks.,It,gen,is a cat.,barks.,"says ""no"".",sings.,3
"""
HELLA = {"ind": 4, "ctx_a": "Snow falls.", "ctx_b": "the man", "ctx": "Snow falls. the man"}
PLAIN = ChoiceColumns("context", None, ("choice1", "choice2"), "label")


def read(
    path: Path,
    content: str | bytes,
    reading: Reading | None = None,
    columns: ChoiceColumns | None = None,
) -> list[Choices]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    reading = reading or recognise_reading(path)[0]
    return list(open_choices(Lines(path, reading.encoding), reading, Remarks(), columns))


@pytest.mark.parametrize(
    "name, labels",
    [
        ("full_data.tsv", (689, 684, 697, 706)),
        ("fold_0/train.tsv", (426, 402, 404, 433)),
        ("fold_0/dev.tsv", (149, 140, 124, 143)),
        ("fold_0/test.tsv", (114, 142, 169, 130)),
    ],
)
def test_published_choices_are_read_as_counted(assets, name, labels):
    path = assets / "datasets" / "codah" / name
    reading, _ = recognise_reading(path)
    found = list(open_choices(Lines(path, reading.encoding), reading, Remarks()))
    assert len(found) == sum(labels)
    counts = Counter(one.label for one in found)
    assert tuple(counts[number] for number in range(4)) == labels
    lines = path.read_text(encoding="utf-8").split("\n")
    for one in found:
        cells = lines[one.line - 1].split("\t")
        assert (one.context, one.beginning, list(one.endings)) == (cells[1], "", cells[2:6])


def test_the_form_of_swag_is_recognised(tmp_path):
    found = read(tmp_path / "swag.csv", SWAG)
    first = Choices(2, "A man sits.", "He", ("runs.", "sits, still.", "flies.", "sleeps."), 0)
    assert found[0] == first
    assert found[1].endings[2] == 'says "no".' and found[1].label == 3
    without = "\n".join(line.rpartition(",")[0] for line in SWAG.splitlines())
    assert read(tmp_path / "swag.csv", without)[0] == first._replace(label=None)


def test_lists_of_endings_are_read(tmp_path):
    rows = [
        HELLA | {"endings": ["a", "b", "ü"], "label": 2},
        HELLA | {"endings": ["c", "d"], "label": 0},
    ]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    found = read(tmp_path / "x.jsonl", content)
    assert found == [
        Choices(1, "Snow falls.", "the man", ("a", "b", "ü"), 2),
        Choices(2, "Snow falls.", "the man", ("c", "d"), 0),
    ]


def test_endings_may_be_counted_from_one(tmp_path):
    rows = ["q,option1,option2,answer", "x,a,b,1", "y,c,d,2"]
    columns = ChoiceColumns("q", None, ("option1", "option2"), "answer", first=1)
    content = "\n".join(rows)
    found = read(tmp_path / "x.csv", content, columns=columns)
    assert [one.label for one in found] == [0, 1]
    assert [one.label for one in read(tmp_path / "x.csv", content.replace("q,", "sent1,"))] == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    "names, rows, expected",
    [
        ("sent1 sent2 ending0 ending1 label", "", "sent1 sent2 ending0 ending1 0"),
        ("Question A.X answer_B answer_A label", "", "Question - answer_A answer_B 0"),
        ("premise choice1 choice2 question label", "", "premise - choice1 choice2 0"),
        ("ctx ending10 ending9 ending8 label", "", "ctx - ending8 ending9 ending10 0"),
        ("a b c d e", "ixyz1 jxyz2", "b - c d 1"),
        ("a b c d", "xyz0 xyz1", "a - b c 0"),
        ("a b c d", "xy\u00a00 xyz1", None),
        ("a b c", "xy0 xz1", None),
        ("a b c d", "xyzw", None),
        ("context ending0 label", "xy0", None),
        ("text label", "", None),
        ("", "", None),
    ],
)
def test_columns_are_told_apart(names, rows, expected):
    columns = tuple(names.split())
    found = guess_columns(columns, [tuple(row) for row in rows.split(" ")] if rows else [])
    if expected is None:
        assert found is None
    else:
        assert found is not None and found.label == columns[-1]
        used = (found.context, found.beginning or "-", *found.endings, str(found.first))
        assert " ".join(used) == expected


cell = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ending = cell.filter(str.strip)


@given(
    st.lists(
        st.tuples(cell, cell, ending, ending, ending, st.integers(0, 2)), min_size=1, max_size=5
    )
)
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_as_it_was(rows):
    columns = ChoiceColumns("sent1", "sent2", ("ending0", "ending1", "ending2"), "label")
    expected = [(a, b, (c, d, e), label) for a, b, c, d, e, label in rows]
    names = ["sent1", "sent2", "ending0", "ending1", "ending2", "label"]
    table = io.StringIO(newline="")
    csv.writer(table).writerows([names, *rows])
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    lines = "".join(json.dumps(one) + "\n" for one in objects)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        for content, reading in (
            (table.getvalue(), Reading()),
            (lines, Reading(format="jsonl")),
        ):
            found = read(path, content, reading, columns)
            assert [one[1:] for one in found] == expected
            assert read(path, content, reading) == found


@pytest.mark.parametrize(
    "row, says",
    [
        ("x,a,b,2", "the label “2” is no number from 0 to 1"),
        ("x,a,b,-1", "“-1”"),
        ("x,a,b,", "the label “”"),
        ("x,a,b,1.0", "“1.0”"),
        ("x,a,b,²", "“²”"),
        ("x,a,b,99999999999999999999", "“9999"),
        ("x,a, ,0", "ending 2 of 2 is empty"),
        ("x,a,0", "3 cells"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, row, says):
    content = f"context,choice1,choice2,label\ny,a,b,1\n\n{row}\n"
    with pytest.raises(BadFile) as caught:
        read(tmp_path / "x.csv", content, Reading(), PLAIN)
    assert caught.value.line == 4
    assert says in caught.value.problem and caught.value.problem.endswith(".")


@pytest.mark.parametrize(
    "endings, says",
    [
        ("a text", "not a list of texts"),
        ([1, 2], "not a list of texts"),
        ({"text": ["a", "b"]}, "not a list of texts"),
        (["a"], "a choice of 1"),
        ([], "a choice of 0"),
        (["a", ""], "ending 2 of 2 is empty"),
    ],
)
def test_a_wrong_list_is_named(tmp_path, endings, says):
    content = json.dumps({"ctx": "x", "endings": endings, "label": 0})
    columns = ChoiceColumns("ctx", None, ("endings",), "label")
    with pytest.raises(BadFile) as caught:
        read(tmp_path / "x.jsonl", content, columns=columns)
    assert caught.value.line == 1 and says in caught.value.problem


def test_what_holds_no_choices_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    with pytest.raises(StudioError, match="not clear which columns"):
        read(path, "text,label\na,b\n")
    with pytest.raises(MissingColumn, match="choice2"):
        read(path, "context,choice1,label\na,b,0\n", Reading(), PLAIN)
    with pytest.raises(BadFile, match="plain text holds no choices"):
        read(path, "a\n", Reading(format="text"))
    with pytest.raises(StudioError, match="not clear"):
        read(path, "\n", Reading())


def test_mutated_files_give_choices_or_a_sentence(tmp_path):
    chance = random.Random(3)
    lists = "".join(json.dumps(HELLA | {"endings": ["a", "b"], "label": n}) + "\n" for n in (0, 1))
    outcomes = {"read": 0, "refused": 0}
    for number in range(300):
        suffix, seed = [("csv", SWAG), ("jsonl", lists)][number % 2]
        content = mutated(seed.encode(), chance)
        try:
            for one in read(tmp_path / f"x.{suffix}", content):
                assert len(one.endings) > 1 and (one.label is None or one.label < len(one.endings))
            outcomes["read"] += 1
        except StudioError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 20
