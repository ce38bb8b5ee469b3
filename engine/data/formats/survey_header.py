"""Headers of several rows, as survey services export them, and people write them.

Qualtrics writes short names, the questions, and a row of JSON with “ImportId”. SurveyMonkey writes
the questions, and below them the answer options, or “Response”. In any other table, a row of texts
above columns of numbers is the second row of the header.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from engine.data.columns.numbers import parse_number
from engine.phrases import phrase

SURVEY_ROWS = 3
HEADER_SAMPLE = 20  # rows to tell a second row of a header from the first row below it
MIN_NUMBERS = 2  # columns of numbers below a second row
IMPORT_ID = re.compile(r'[\s"]*\{[\s"]*ImportId')
RESPONDENT = "respondent id"  # first column of SurveyMonkey, also “RespondentID”
OPEN_ANSWERS = ("response", "open-ended response", "")


class SurveyHeader(NamedTuple):
    """Names of the columns, and the number of rows with the first."""

    service: str  # “” if it is unknown
    names: tuple[str, ...]
    rows: int

    def note(self, first: int) -> str:
        """Describe the header, whose first row is in this line."""
        last = first + self.rows - 1
        if not self.service:
            return phrase("Lines {first} to {last} are the header.", first=first, last=last)
        return phrase(
            "Lines {first} to {last} are the header, as exported by {service}, and not rows.",
            service=self.service,
            first=first,
            last=last,
        )


def survey_header(rows: Sequence[Sequence[str]]) -> SurveyHeader | None:
    """The header in the first rows of a table; None if it has one row or none."""
    for count, row in enumerate(islice(rows, 1, SURVEY_ROWS), start=2):
        filled = [cell for cell in row if cell.strip()]
        if filled and all(map(IMPORT_ID.match, filled)):
            return SurveyHeader("Qualtrics", tuple(rows[0]), count)
    if len(rows) > 1 and rows[0] and _is_respondent(rows[0][0]) and not rows[1][0].strip():
        return SurveyHeader("SurveyMonkey", tuple(_questions(rows[0], rows[1])), 2)
    if _are_two_rows(rows):
        pairs = zip(rows[0], rows[1], strict=True)
        names = [" – ".join(dict.fromkeys(filter(str.strip, pair))) for pair in pairs]
        return SurveyHeader("", tuple(names), 2)
    return None


def _are_two_rows(rows: Sequence[Sequence[str]]) -> bool:
    """True if two rows without numbers are above columns of numbers."""
    body = rows[2:HEADER_SAMPLE]
    if len(body) < SURVEY_ROWS or len({*map(len, rows[:HEADER_SAMPLE])}) > 1:
        return False
    columns = [[cell for cell in column if cell.strip()] for column in zip(*body, strict=True)]
    numbers = [
        n
        for n, cells in enumerate(columns)
        if cells and all(parse_number(cell) is not None for cell in cells)
    ]
    top = [row[n] for row in rows[:2] for n in numbers]
    are_texts = not any(parse_number(cell) is not None for cell in top if cell.strip())
    return are_texts and sum(bool(rows[1][n].strip()) for n in numbers) >= MIN_NUMBERS


def _is_respondent(name: str) -> bool:
    return name.strip().lower().replace("respondentid", RESPONDENT) == RESPONDENT


def _questions(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Names of columns: the question, and its option if it has several."""
    names, question = [], ""
    for column, (text, option) in enumerate(zip(first, second, strict=False)):
        question = text.strip() or question
        is_several = not text.strip() or not "".join(first[column + 1 : column + 2]).strip()
        is_open = option.strip().lower() in OPEN_ANSWERS
        names.append(question if is_open or not is_several else f"{question} – {option.strip()}")
    return names
