"""Answers to a question in a cell.

| cell | meaning |
| --- | --- |
| (empty) | no answer in the passage |
| [{"text": "1912", "answer_start": 13}] | answers with positions, as in SQuAD |
| {"text": ["1912"], "answer_start": [13]} | the same, as on the Hugging Face hub |
| 1912 | one answer, located in the passage |
| ["1912", "in 1912"] | several, located in the passage |
"""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from engine.data.columns.lists import parse_list
from engine.phrases import phrase

FORMS = ("'’‘`´", '"“”„«»', "-‐‑–—−")  # characters that are often interchanged
LIST_OF_TEXTS = re.compile(r"""\s*\[\s*["']""")  # [1] is a text or a reference
SURROUNDING = " \t\r\n.,;:!?()[]" + FORMS[0] + FORMS[1]


class Answer(NamedTuple):
    """A span of the passage; `start` counts characters (code points) from 0."""

    text: str
    start: int


class AnswerMismatch(ValueError):
    """The passage does not contain an answer of the cell; the message is part of a sentence."""


def parse_answers(cell: str, passage: str) -> tuple[Answer, ...]:
    """All answers in a cell, each at its occurrence in the passage nearest to the given position.

    Raises AnswerMismatch.
    """
    if not cell.strip():
        return ()
    answers = []
    for text, start in _parse_cell(cell):
        position = find_nearest(passage, text, start) if text else None
        if position is None:
            raise AnswerMismatch(
                phrase("the passage does not contain its answer “{text}”", text=text[:60])
            )
        answers.append(Answer(text, position))
    return tuple(answers)


def respell_answers(cell: str, passage: str) -> str | None:
    """Spell the answers in a cell as in the passage, for `parse_answers`.

    Ignores case, white space, surrounding punctuation, and the form of quotes and dashes. None if
    an answer is still not found.
    """
    answers = []
    for text, start in _parse_cell(cell):
        position = find_nearest(passage, text, start) if text else None
        answer = (
            _find_respelled(text, start, passage) if position is None else Answer(text, position)
        )
        if answer is None:
            return None
        answers.append(answer)
    plain = answers[0].text if len(answers) == 1 else ""
    if _parse_cell(plain) == [(plain, 0)] and parse_answers(plain, passage) == tuple(answers):
        return plain
    return format_answers(answers)


def _find_respelled(text: str, start: int, passage: str) -> Answer | None:
    """The words of `text` in the passage, nearest to `start`."""
    words = text.strip(SURROUNDING).split()
    if not words:
        return None
    pattern = r"\s+".join("".join(map(_match_variants, word)) for word in words)
    regex = re.compile(rf"(?<!\w){pattern}(?!\w)", re.IGNORECASE)
    nearest = min(regex.finditer(passage), key=lambda hit: abs(hit.start() - start), default=None)
    return None if nearest is None else Answer(nearest[0], nearest.start())


def _match_variants(character: str) -> str:
    """Regular expression for a character and its variants."""
    variants = next((forms for forms in FORMS if character in forms), None)
    return re.escape(character) if variants is None else f"[{re.escape(variants)}]"


def format_answers(answers: Sequence[Answer]) -> str:
    """Format answers as a cell, which is empty without answers."""
    if not answers:
        return ""
    items = [{"text": text, "answer_start": start} for text, start in answers]
    return json.dumps(items, ensure_ascii=False)


def find_nearest(passage: str, text: str, start: int) -> int | None:
    """Find the occurrence of `text` nearest to `start`, or the first of two; None if not found."""
    start = min(max(start, 0), len(passage))
    before, after = passage.rfind(text, 0, start + len(text)), passage.find(text, start)
    if before < 0 or after < 0:
        return max(before, after) if max(before, after) >= 0 else None
    return before if start - before <= after - start else after


def _parse_cell(cell: str) -> list[tuple[str, int]]:
    content = parse_list(cell)
    if content is None:
        return [(cell.strip(), 0)]
    if isinstance(content, list) and LIST_OF_TEXTS.match(cell) and {*map(type, content)} == {str}:
        return [(text, 0) for text in content]
    try:
        if isinstance(content, dict):
            pairs = list(zip(content["text"], content["answer_start"], strict=True))
        else:
            pairs = [(answer["text"], answer["answer_start"]) for answer in content]
        if not all(isinstance(text, str) for text, _ in pairs):
            raise ValueError("other types")
        return [(text, int(start)) for text, start in pairs]
    except (ValueError, TypeError, KeyError):
        return [(cell.strip(), 0)]  # an answer that starts with a bracket
