"""Answers as spans of a context (SQuAD 1.1), or none (2.0).

Windows and choice of the answer are those of run_squad.py of the paper's code; exact match and F1
those of the script of SQuAD 2.0 (Rajpurkar et al. 2018).
"""

import json
import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from transformers import AutoModelForQuestionAnswering

from benchmarks.fidelity.reference_tasks import Example, ReferenceTask
from benchmarks.fidelity.settings import (
    BEST,
    MAX_ANSWER,
    MAX_QUESTION,
    NULL_THRESHOLD,
    STRIDE,
)


class Question(NamedTuple):
    """Answers are (text, first character); none if unanswerable."""

    question: str
    context: str
    answers: list[tuple[str, int]]


class Window(NamedTuple):
    """A part of a context after its question."""

    number: int  # of the question
    example: dict[str, list[int]]
    characters: list[tuple[int, int] | None]  # [T], only of the context's tokens


Scored = tuple[Window, np.ndarray, np.ndarray]  # scores of each token as first and as last, [T]


class Questions(ReferenceTask):
    """Cross-entropy of the first and of the last token, halved; [CLS] if there is no answer."""

    def start(self, checkpoint: Path, train: Path) -> None:
        self.model = AutoModelForQuestionAnswering.from_pretrained(checkpoint)
        questions = list(_questions(train))
        without = any(not question.answers for question in questions)  # SQuAD 2.0, else 1.1
        self.threshold = NULL_THRESHOLD if without else float("inf")
        self.examples = [
            self._example(window, question)
            for question in questions
            for window in self._windows(0, question)
        ]

    def evaluate(self, path: Path) -> dict[str, float]:
        questions = list(_questions(path))
        windows = [w for number, q in enumerate(questions) for w in self._windows(number, q)]
        scored: dict[int, list[Scored]] = defaultdict(list)
        places = iter(windows)
        for output in self.outputs([window.example for window in windows]):
            for starts, ends in zip(output.start_logits, output.end_logits, strict=True):
                window = next(places)
                tokens = len(window.characters)  # without padding
                logits = (starts[:tokens].numpy(), ends[:tokens].numpy())
                scored[window.number].append((window, *logits))
        predictions = [
            _answer(q, scored[number], self.threshold) for number, q in enumerate(questions)
        ]
        return _figures(questions, predictions)

    def _windows(self, number: int, question: Question) -> Iterator[Window]:
        length = len(self.tokenizer(question.question, add_special_tokens=False)["input_ids"])
        if length > MAX_QUESTION:
            raise SystemExit(f"A question has {length} tokens: “{question.question}”")
        room = self.setting.max_length - length - 3
        encoded = self.tokenizer(
            question.question,
            question.context,
            truncation="only_second",
            max_length=self.setting.max_length,
            stride=max(0, room - STRIDE),  # here it means by how much two windows overlap
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        for row in range(len(encoded["input_ids"])):
            example = {key: encoded[key][row] for key in self.tokenizer.model_input_names}
            in_context = [part == 1 for part in encoded.sequence_ids(row)]
            offsets = zip(in_context, encoded["offset_mapping"][row], strict=True)
            yield Window(number, example, [place if inside else None for inside, place in offsets])

    def _example(self, window: Window, question: Question) -> Example:
        first = last = 0
        if question.answers:
            text, begin = question.answers[0]
            first, last = _places(window.characters, begin, begin + len(text))
        return {**window.example, "start_positions": first, "end_positions": last}


def _places(characters: list[tuple[int, int] | None], begin: int, end: int) -> tuple[int, int]:
    """The first and last token of a span; 0 and 0 if the window does not contain all of it."""
    inside = [(place, *span) for place, span in enumerate(characters) if span is not None]
    if begin < inside[0][1] or end > inside[-1][2]:
        return 0, 0
    held = [place for place, first, last in inside if first < end and last > begin]
    return held[0], held[-1]


def _answer(question: Question, scored: list[Scored], threshold: float) -> str:
    """The best span of all windows, or “” if the score of no answer is higher by `threshold`."""
    none = min(float(starts[0] + ends[0]) for _, starts, ends in scored)
    owners = _owners([window for window, _, _ in scored])
    best, answer = float("-inf"), ""
    for number, (window, starts, ends) in enumerate(scored):
        for first in np.argsort(starts)[::-1][:BEST]:
            for last in np.argsort(ends)[::-1][:BEST]:
                begin, end = window.characters[first], window.characters[last]
                if begin is None or end is None or not 0 <= last - first < MAX_ANSWER:
                    continue
                score = float(starts[first] + ends[last])
                if score > best and owners[begin] == number:
                    best, answer = score, question.context[begin[0] : end[1]]
    return "" if none - best > threshold else answer


def _owners(windows: list[Window]) -> dict[tuple[int, int], int]:
    """Window in which each token has the most context; answers may start with it only there."""
    highest: dict[tuple[int, int], tuple[float, int]] = {}
    for number, window in enumerate(windows):
        tokens = [span for span in window.characters if span is not None]
        for place, token in enumerate(tokens):
            around = min(place, len(tokens) - 1 - place) + 0.01 * len(tokens)
            if around > highest.get(token, (-1.0, 0))[0]:
                highest[token] = around, number
    return {token: number for token, (_, number) in highest.items()}


def _figures(questions: list[Question], predictions: list[str]) -> dict[str, float]:
    exact, f1 = (np.zeros(len(questions)) for _ in range(2))
    for number, (question, prediction) in enumerate(zip(questions, predictions, strict=True)):
        true = [text for text, _ in question.answers if _plain(text)] or [""]
        exact[number] = max(_plain(prediction) == _plain(text) for text in true)
        f1[number] = max(_f1(_plain(prediction).split(), _plain(text).split()) for text in true)
    answerable = np.array([bool(question.answers) for question in questions])
    figures = {"exact_match": exact.mean(), "f1": f1.mean()}
    if not answerable.all():
        figures |= {
            "has_answer_exact_match": exact[answerable].mean(),
            "has_answer_f1": f1[answerable].mean(),
            "no_answer_exact_match": exact[~answerable].mean(),
        }
    return figures


def _plain(text: str) -> str:
    """Lower case, without punctuation, articles and surplus white space."""
    letters = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", letters).split())


def _f1(prediction: list[str], true: list[str]) -> float:
    if not prediction or not true:
        return float(prediction == true)
    shared = sum((Counter(prediction) & Counter(true)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(prediction), shared / len(true)
    return 2 * precision * recall / (precision + recall)


def _questions(path: Path) -> Iterator[Question]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for article in content["data"]:
        for paragraph in article["paragraphs"]:
            for entry in paragraph["qas"]:
                answers = [(answer["text"], answer["answer_start"]) for answer in entry["answers"]]
                yield Question(entry["question"], paragraph["context"], answers)
