"""Word documents with paragraphs, transcripts and tables; and subtitles."""

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


VTT = """WEBVTT

NOTE made by a tool

1
00:00:01.000 --> 00:00:04.000 align:start
{}Hello <i>there</i>{}

2
00:00:05.000 --> 00:00:06.000
{}Fine: really.
And you? 3 < 4{}

3
00:07.500 --> 00:09.000
{}Yes{}
"""
SAID = [("Hello there", "00:00:01.000"), ("Fine: really. And you? 3 < 4", "00:00:05.000")]
SAID += [("Yes", "00:07.500")]
SPOKEN = [
    (text, speaker, time)
    for (text, time), speaker in zip(SAID, ("Ann", "Bob B", "Ann"), strict=True)
]
VOICES = ("<v Ann>", "</v>", "<v.loud Bob B>", "</v>", "<v Ann>", "</v>")


@pytest.mark.parametrize(
    "content, rows",
    [
        (VTT.format(*[""] * 6), SAID),
        (VTT.format(*VOICES), SPOKEN),
        (VTT.format("Ann: ", "", "Bob B: ", "", "Ann: ", ""), SPOKEN),
        (VTT[VTT.index("1\n") :].replace("00.", "00,").format(*[""] * 6), SAID),
    ],
)
def test_each_subtitle_is_a_row(tmp_path, content, rows):
    path = tmp_path / "a.vtt"
    path.write_text(content)
    guess = recognise(path)
    assert (guess.reading.format, guess.columns[-1], guess.mapping.text) == (
        "subtitles",
        "time",
        "text",
    )
    assert [row.cells for row in read(path, guess.reading)] == rows
