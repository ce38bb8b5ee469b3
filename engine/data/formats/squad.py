"""SQuAD 1.1 and 2.0: questions with answer spans in a JSON document (Rajpurkar et al. 2016, 2018).

Articles have paragraphs, each with a context and questions.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from engine.config.dataset import Reading
from engine.data.columns.answers import Answer, find_nearest, format_answers
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row
from engine.data.formats.strict_json import read_document, without_surrogates
from engine.errors import BadFile
from engine.phrases import phrase

SAMPLE_CHARACTERS = 100_000  # for recognition
ADVICE = phrase("Choose a file in SQuAD 1.1 or 2.0 format.")
KINDS = {
    dict: phrase("an object"),
    list: phrase("a list"),
    str: phrase("a text"),
    int: phrase("a whole number"),
    bool: phrase("true or false"),
}
Kind = TypeVar("Kind")


class Question(NamedTuple):
    """A question about a context; no `answers` mean that it is unanswerable or unlabelled."""

    id: str
    title: str
    context: str
    question: str
    answers: tuple[Answer, ...]


COLUMNS = ("id", "title", "question", "context", "answers")


def open_squad(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """A row for each question, numbered from 1."""
    rows = (
        Row(
            number, (item.id, item.title, item.question, item.context, format_answers(item.answers))
        )
        for number, item in enumerate(read_squad(lines, remarks), start=1)
    )
    return Content(COLUMNS, rows)


def guess_squad(lines: list[str], suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise a JSON object with articles that have paragraphs."""
    beginning = "".join(lines)[:SAMPLE_CHARACTERS]
    is_object = beginning.lstrip().startswith("{")
    has_keys = all(f'"{key}"' in beginning for key in ("data", "paragraphs"))
    is_squad = suffix in SQUAD.suffixes and is_object and has_keys
    return Reading(format=SQUAD.name) if is_squad else None


def read_squad(lines: Lines, remarks: Remarks) -> list[Question]:
    """Read a file, moving each answer to its occurrence nearest to the given position.

    Raises:
        BadFile: with line and column if it is not JSON; with the path in the document or the id of
            the question if something is missing or invalid, or the context lacks an answer.
        Cancelled: as `Lines` does.
    """
    reader = _Reader(lines.path)
    document = reader.check(read_document(lines, ADVICE), dict, phrase("the document"))
    articles = reader.field(document, "data", list, phrase("the document"))
    questions = list(reader.questions(articles))
    if reader.moved:
        remark = phrase(
            "Answer not found at the position given in the file; its nearest occurrence was used"
        )
        first, count = reader.moved[0][:100], len(reader.moved)
        remarks.add_note(
            phrase("{what}: once, question {id}.", what=remark, id=first)
            if count == 1
            else phrase(
                "{what}: {count} times, first question {id}.", what=remark, count=count, id=first
            )
        )
    return questions


class _Reader:
    """Converts the objects of a file to questions, locating errors."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids: set[str] = set()
        self.moved: list[str] = []  # id of the question of each answer that was moved

    def questions(self, articles: list[object]) -> Iterator[Question]:
        for number, article in enumerate(articles, start=1):
            where = phrase("article {number}", number=number)
            item = self.check(article, dict, where)
            title = self.text(item, "title", where) if "title" in item else ""
            for position, paragraph in enumerate(self.field(item, "paragraphs", list, where), 1):
                within = phrase("{where}, paragraph {place}", where=where, place=position)
                part = self.check(paragraph, dict, within)
                context = self.text(part, "context", within)
                for index, question in enumerate(self.field(part, "qas", list, within), start=1):
                    location = phrase("{where}, question {place}", where=within, place=index)
                    yield self._question(question, title, context, location)

    def _question(self, question: object, title: str, context: str, where: str) -> Question:
        item = self.check(question, dict, where)
        id_ = self._id(item, where)
        where = phrase("question {id}", id=id_[:100])
        impossible = "is_impossible" in item and self.field(item, "is_impossible", bool, where)
        entries = self.field(item, "answers", list, where) if "answers" in item else []
        if impossible and entries:
            raise self._error(
                phrase("{where} is marked as impossible, but has an answer.", where=where)
            )
        answers = tuple(self._answer(answer, context, where, id_) for answer in entries)
        return Question(id_, title, context, self.text(item, "question", where), answers)

    def _id(self, item: dict[str, Any], where: str) -> str:
        number = item.get("id")
        is_number = isinstance(number, int) and not isinstance(number, bool)
        id_ = str(number) if is_number else self.text(item, "id", where)
        if id_ in self._ids:
            raise self._error(
                phrase(
                    "the id {id} appears twice, the second time at {where}.",
                    id=id_[:100],
                    where=where,
                )
            )
        self._ids.add(id_)
        return id_

    def _answer(self, answer: object, context: str, question: str, id_: str) -> Answer:
        where = phrase("an answer of {question}", question=question)
        item = self.check(answer, dict, where)
        text = self.text(item, "text", where)
        expected_start = self.field(item, "answer_start", int, where)
        if not text:
            raise self._error(phrase("{where} is empty.", where=where))
        start = find_nearest(context, text, expected_start)
        if start is None:
            raise self._error(
                phrase(
                    "the context of {question} does not contain its answer “{text}”.",
                    question=question,
                    text=text[:60],
                )
            )
        if start != expected_start:
            self.moved.append(id_)
        return Answer(text, start)

    def text(self, item: dict[str, Any], key: str, where: str) -> str:
        """A text without lone surrogates; its length is unchanged."""
        return without_surrogates(self.field(item, key, str, where))

    def field(self, item: dict[str, Any], key: str, kind: type[Kind], where: str) -> Kind:
        if key not in item:
            raise self._error(phrase("{where} has no “{key}”.", where=where, key=key))
        return self.check(item[key], kind, phrase("“{key}” of {where}", key=key, where=where))

    def check(self, value: object, kind: type[Kind], where: str) -> Kind:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self._error(phrase("{where} is not {kinds}.", where=where, kinds=KINDS[kind]))
        return value

    def _error(self, problem: str) -> BadFile:
        return BadFile(self._path, problem, ADVICE)


SQUAD = Format("squad", "SQuAD", (".json",), open_squad, guess_squad)
