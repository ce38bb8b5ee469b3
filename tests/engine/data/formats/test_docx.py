"""Word documents: paragraphs, transcripts and tables."""

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from engine.data.formats.reading import read, recognise
from engine.errors import BadFile

NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
ROWS = [
    ("Hello there", "Maria", "0:05"),
    ("Fine: really.", "Bob 2", "0:09"),
    ("Yes", "Maria", "1:10"),
]
NO_TIMES = [row[:2] for row in ROWS]


def paragraph(text: str) -> str:
    lines = "<w:br/>".join(f"<w:t>{escape(line)}</w:t>" for line in text.split("\n"))
    return (
        f"<w:p><w:pPr/><w:r>{lines}</w:r><w:del><w:r><w:delText>no</w:delText></w:r></w:del></w:p>"
    )


def write(path: Path, *texts: str, table: tuple[tuple[str, ...], ...] = (), head: str = "") -> Path:
    rows = "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>"
        for row in table
    )
    body = "".join(map(paragraph, texts)) + (f"<w:tbl>{rows}</w:tbl>" if rows else "")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        document = f'<w:document xmlns:w="{NAMESPACE}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", head + document)
    return path


@pytest.mark.parametrize(
    "texts, columns, rows",
    [
        (
            ["An essay: one.", "", "Two: it is.\nThree"],
            1,
            [("An essay: one.",), ("Two: it is.\nThree",)],
        ),
        ([f"{speaker}: {text}" for text, speaker, _ in ROWS], 2, NO_TIMES),
        ([f"[{time}] {speaker}: {text}" for text, speaker, time in ROWS], 3, ROWS),
        ([f"{speaker} ({time}): {text}" for text, speaker, time in ROWS], 3, ROWS),
        ([f"{speaker}   {time}\n{text}" for text, speaker, time in ROWS], 3, ROWS),
        ([part for text, name, time in ROWS for part in (f"{name} {time}", text)], 3, ROWS),
        (["Talk", "A: x", "more", "B: y", "A: z"], 2, [("Talk", ""), ("x", "A"), ("more", "A")]),
    ],
)
def test_paragraphs_or_turns_are_rows(tmp_path, texts, columns, rows):
    path = write(tmp_path / "a.docx", *texts)
    guess = recognise(path)
    table = read(path, guess.reading)
    assert table.columns == ("text", "speaker", "time")[:columns]
    assert [row.cells for row in table][: len(rows)] == rows
    assert ("transcript" in " ".join(table.notes)) == (columns > 1)


def test_a_table_with_most_of_the_text_gives_the_rows(tmp_path):
    cells = (("text", "label"), ("a good film", "good"), ("a bad film", "bad"))
    path = write(tmp_path / "a.docx", "Films", table=cells)
    guess = recognise(path)
    assert (guess.columns, guess.guessed) == (cells[0], ())
    table = read(path, guess.reading)
    assert [row.cells for row in table] == [*cells[1:]] and "left out" in table.notes[0]
    path = write(tmp_path / "b.docx", "A long text above. " * 9, table=cells)
    table = read(path, recognise(path).reading)
    assert len([*table]) == 7 and "paragraph of a table" in table.notes[0]


@pytest.mark.parametrize("head", ["<", "<!DOCTYPE w [<!ENTITY a 'b'>]>"])
def test_a_damaged_document_is_refused(tmp_path, head):
    with pytest.raises(BadFile, match="damaged"):
        recognise(write(tmp_path / "a.docx", "a", head=head))
