"""Headers of several rows, as survey services export them.

Qualtrics writes short names, the questions, and a row of JSON with “ImportId”. SurveyMonkey writes
the questions, and below them the answer options, or “Response”.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from engine.phrases import phrase

SURVEY_ROWS = 3
IMPORT_ID = re.compile(r'[\s"]*\{[\s"]*ImportId')
RESPONDENT = "respondent id"  # first column of SurveyMonkey, also “RespondentID”
OPEN_ANSWERS = ("response", "open-ended response", "")


class SurveyHeader(NamedTuple):
    """Names of the columns, and the number of rows with the first."""

    service: str
    names: tuple[str, ...]
    rows: int

    def note(self, first: int) -> str:
        """Describe the header, whose first row is in this line."""
        return phrase(
            "Lines {first} to {last} are the header, as exported by {service}, and not rows.",
            service=self.service,
            first=first,
            last=first + self.rows - 1,
        )


def survey_header(rows: Sequence[Sequence[str]]) -> SurveyHeader | None:
    """The header in the first rows of a table; None if it has one row or none."""
    for count, row in enumerate(islice(rows, 1, SURVEY_ROWS), start=2):
        filled = [cell for cell in row if cell.strip()]
        if filled and all(map(IMPORT_ID.match, filled)):
            return SurveyHeader("Qualtrics", tuple(rows[0]), count)
    if len(rows) > 1 and rows[0] and _is_respondent(rows[0][0]) and not rows[1][0].strip():
        return SurveyHeader("SurveyMonkey", tuple(_questions(rows[0], rows[1])), 2)
    return None


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
