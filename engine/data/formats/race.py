"""RACE (Lai et al. 2017): objects with an article, its questions, their options and answers."""

from collections.abc import Iterator
from typing import Any

from engine.config.dataset import Reading
from engine.data.formats.annotated import first_values, read_objects
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row
from engine.data.formats.strict_json import without_surrogates, write_json
from engine.errors import BadFile
from engine.phrases import phrase

COLUMNS = ("article", "question", "options", "answer", "id")
LISTS = ("questions", "options", "answers")


def is_race(item: Any) -> bool:
    """True for an article with as many options and answers as questions."""
    if not isinstance(item, dict) or not isinstance(item.get("article"), str):
        return False
    lists = [item.get(name) for name in LISTS]
    return all(isinstance(one, list) for one in lists) and len({*map(len, lists)}) == 1  # type: ignore[arg-type]


def open_race(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """A row for each question. Raises BadFile with the number of an object without an article."""
    return Content(COLUMNS, _rows(lines, remarks))


def _rows(lines: Lines, remarks: Remarks) -> Iterator[Row]:
    for number, item in read_objects(lines, remarks):
        if not is_race(item):
            problem = phrase("this has no article with questions, options and answers.")
            advice = phrase("Give each question its options and its answer.")
            raise BadFile(lines.path, problem, advice, line=number)
        for question, options, answer in zip(*(item[name] for name in LISTS), strict=True):
            cells = item["article"], question, write_json(options), answer, item.get("id")
            yield Row(number, tuple(without_surrogates(str(c or "")) for c in cells))


def guess_race(lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
    first = first_values(lines)
    return Reading(format=RACE.name) if first and all(map(is_race, first)) else None


RACE = Format("race", "RACE", (".json", ".jsonl", ".txt"), open_race, guess_race)
