"""Exports of survey services, whose header has several rows."""

import csv
from pathlib import Path

import pytest
import xlsxwriter

from engine.data.formats.reading import read, recognise
from engine.data.formats.survey_header import survey_header

ANSWERS = [
    [f"2025-03-{n + 1:02} 10:00:00", f"R_{n}", f"a long answer, number {n}", ("No", "Yes")[n % 2]]
    for n in range(20)
]
QUALTRICS = [
    ["StartDate", "ResponseId", "Q1", "Q2"],
    ["Start Date", "Response ID", "What did you think, in a few sentences?", "Were you satisfied?"],
    [
        '{"ImportId":"startDate","timeZone":"America/Denver"}',
        '{"ImportId":"_recordId"}',
        '{"ImportId":"QID1_TEXT"}',
        '{"ImportId":"QID2"}',
    ],
]
SURVEY_MONKEY = [
    ["Respondent ID", "Start Date", "What did you think?", "Were you satisfied?", "Which?", "", ""],
    ["", "", "Open-Ended Response", "Response", "Ducks", "Cats", "Other (please specify)"],
]
MONKEY_ANSWERS = [
    [str(100 + n), date, text, answer, "Ducks" if n % 3 else "", "Cats" if n % 2 else "", ""]
    for n, (date, _, text, answer) in enumerate(ANSWERS)
]
EXPORTS = {
    "Qualtrics": (QUALTRICS, ANSWERS, QUALTRICS[0], "Q1", "Q2"),
    "SurveyMonkey": (
        SURVEY_MONKEY,
        MONKEY_ANSWERS,
        [*SURVEY_MONKEY[0][:4], *(f"Which? – {option}" for option in SURVEY_MONKEY[1][4:])],
        "What did you think?",
        "Were you satisfied?",
    ),
}


def write_csv(path: Path, rows: list[list[str]]) -> Path:
    with open(path.with_suffix(".csv"), "w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows(rows)
    return path.with_suffix(".csv")


def write_tsv(path: Path, rows: list[list[str]]) -> Path:
    with open(path.with_suffix(".tsv"), "w", newline="", encoding="utf-16") as file:
        csv.writer(file, "excel-tab").writerows(rows)
    return path.with_suffix(".tsv")


def write_excel(path: Path, rows: list[list[str]]) -> Path:
    with xlsxwriter.Workbook(path.with_suffix(".xlsx")) as book:
        codes = book.add_worksheet("Codebook")
        codes.write_column("A1", ["code", "1", "2"])
        codes.write_column("B1", ["meaning", "yes", "no"])
        sheet = book.add_worksheet("Answers")
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    return path.with_suffix(".xlsx")


@pytest.mark.parametrize("write", [write_csv, write_tsv, write_excel])
@pytest.mark.parametrize("export", EXPORTS)
def test_only_answers_are_rows(tmp_path, write, export):
    header, answers, columns, text, label = EXPORTS[export]
    file = write(tmp_path / "survey", [*header, *answers])
    recognised = recognise(file)
    assert recognised.mapping is not None
    assert (recognised.mapping.text, recognised.mapping.label) == (text, label)
    table = read(file, recognised.reading)
    assert list(table.columns) == columns
    assert [list(row.cells) for row in table] == answers
    assert f"Lines 1 to {len(header)} are the header, as exported by {export}" in table.notes[-1]
    assert write is not write_excel or "“Answers” was read" in table.notes[0]


@pytest.mark.parametrize("write", [write_csv, write_tsv, write_excel])
@pytest.mark.parametrize(
    "header, cell, names, flags",
    [
        (
            [["Q1", "Q1_1", "Q1_2"], ["Why?", "Nike", "Puma"]],
            lambda n, column: str((n >> column) % 2),
            ["Q1 – Why?", "Q1_1 – Nike", "Q1_2 – Puma"],
            0,
        ),
        (  # of Typeform, in one row
            [["Why?", "Nike", "Puma"]],
            lambda n, column: ("Nike", "Puma")[column] if (n >> column) % 2 else "",
            ["Why?", "Nike", "Puma"],
            2,
        ),
    ],
)
def test_options_above_their_answers_are_the_header(tmp_path, write, header, cell, names, flags):
    answers = [[f"a long answer, number {n}", cell(n, 0), cell(n, 1)] for n in range(20)]
    file = write(tmp_path / "survey", [*header, *answers])
    recognised = recognise(file)
    assert recognised.mapping is not None and recognised.mapping.text == names[0]
    assert len(recognised.mapping.flags) == flags
    table = read(file, recognised.reading)
    assert list(table.columns) == names
    assert [list(row.cells) for row in table] == answers
    notes = " ".join(table.notes)
    assert ("Lines 1 to 2 are the header." in notes) == (len(header) > 1)


@pytest.mark.parametrize(
    "rows",
    [
        [["text", "a", "b"], ["of it", "1", "2"], *[["more", "1", "2"]] * 9],
        [["text", "a", "b"], ["of it", "x", "2"], *[["more", "1", "2"]] * 9],
        [["text", "a", "b"], ["of it", "x", ""], *[["more", "1", "2"]] * 9],
        [["text", "2019", "2020"], ["of it", "x", "y"], *[["more", "1", "2"]] * 9],
        [["text", "a", "b"], ["of it", "x", "y"], ["more", "1", "2"]],
    ],
)
def test_a_row_of_answers_is_no_header(rows):
    assert survey_header(rows) is None
