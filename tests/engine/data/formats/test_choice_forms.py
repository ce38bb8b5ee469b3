"""Choices in the forms that data sets have; spans that belong to no text are named."""

import json

import pytest

from engine.cli import main
from engine.cli.rows import read_table
from engine.data.columns.choices import parse_choice_labels, parse_endings
from engine.data.formats.reading import read, recognise
from engine.errors import BadFile

ARTICLE = {
    "article": "A fox ran.\nIt was red.",
    "questions": ["What ran?", "It was _ ."],
    "options": [["a fox", "a dog"], ["red", "blue"]],
    "answers": ["A", "B"],
    "id": "m1",
}
CORRECT = [0, 1, 1, 0]
ENDINGS = [("a fox", "a dog"), ("red", "blue")] * 2


def choices(path, **chosen):
    rows = read_table(path, {}, chosen).rows
    assert rows.endings is not None and rows.labels is not None
    endings = parse_endings(rows.endings)
    return rows, endings, parse_choice_labels(rows.labels, endings)


@pytest.mark.parametrize("form", ["file", "lines", "list"])
def test_race_is_read_as_published(tmp_path, form):
    """Each file of the original has one article; copies have them in lines or in a list."""
    items = [ARTICLE, ARTICLE | {"answers": ["B", "A"]}]
    path = tmp_path / ("m1.txt" if form == "file" else "race.json")
    lines = "".join(json.dumps(item) + "\n" for item in items)
    path.write_text(json.dumps(items) if form == "list" else lines)
    if form == "file":
        path.write_text(json.dumps(ARTICLE))
    rows, endings, correct = choices(path)
    count = 2 if form == "file" else 4
    assert (endings, correct) == (ENDINGS[:count], [0, 1, 1, 0][:count])
    assert rows.texts[0] == ARTICLE["article"] and rows.beginnings[1] == "It was _ ."
    broken = json.dumps(ARTICLE | {"answers": ["A"]})
    path.write_text(f"{lines}{broken}\n")
    with pytest.raises(BadFile, match="no article with questions, options and answers"):
        list(read(path, recognise(path).reading.model_copy(update={"format": "race"})))


def test_choices_in_one_cell_may_have_a_bar_between_them(tmp_path):
    path = tmp_path / "a.csv"
    rows = ("Who?,a fox | a dog,A", "Which?,red|blue,B") * 2
    path.write_text("question,choices,answer\n" + "\n".join(rows) + "\n")
    _, endings, correct = choices(path)
    assert endings == ENDINGS and correct == [0, 1, 0, 1]


def test_a_column_of_yes_or_no_for_each_choice_becomes_the_label(tmp_path):
    path = tmp_path / "a.csv"
    head = "question,choice1,choice2,label1,label2\n"
    rows = [f"Q{n}?,{','.join(ENDINGS[n])},{1 - CORRECT[n]},{CORRECT[n]}" for n in range(4)]
    path.write_text(head + "\n".join(rows))
    _, endings, correct = choices(path)
    assert endings == ENDINGS and correct == CORRECT
    table = read(path, recognise(path).reading)
    assert table.columns == ("question", "choice1", "choice2", "label") and len([*table]) == 4
    assert table.notes[0] == "“label1”, “label2” were read as one column, “label”."
    path.write_text(head + "\n".join([*rows, "Q5?,x,y,1,1", "Q6?,x,y,0,0"]))
    table = read(path, recognise(path).reading)
    assert [row.cells[-1] for row in table] == ["A", "B", "B", "A", "", ""]
    assert "several correct choices" in " ".join(table.notes)
    path.write_text(head + "\n".join(rows).replace(",1", ",often"))
    assert "label1" in recognise(path).columns, "no yes or no"


SPANS = {  # a column of spans, and whether a text makes it readable
    '[{"start": 0, "end": 5, "label": "PER"}]': True,
    '[[0, 5, "PER"]]': True,
    "[(0, 5), (9, 12)]": False,
    "[8, 9, 10, 11, 12]": False,
}


@pytest.mark.parametrize("cell", SPANS)
def test_spans_without_their_text_or_types_are_named(tmp_path, capsys, cell):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"id": n, "spans": cell}) + "\n" for n in range(20)))
    assert main(["check", str(path)]) == 1
    printed = capsys.readouterr().err
    assert "“spans” has the positions of spans, but no column has the text" in printed
    assert "Could not tell which column" in printed
    text = "Maria lives in Rome"
    path = tmp_path / "b.csv"
    cells = cell.replace('"', '""')
    path.write_text("comment,spans\n" + "".join(f'{text} {n},"{cells}"\n' for n in range(20)))
    found = recognise(path)
    note = "positions without the types of the spans"
    assert (found.mapping.tags == "spans") is SPANS[cell]
    assert (note in " ".join(found.notes)) is not SPANS[cell] and found.mapping.label is None
