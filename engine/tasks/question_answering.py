"""Extractive question answering (Devlin et al. 2019, §4.2 and §4.3).

Each example is a window over a passage, with the question before it; see
`engine.data.tokenized.windows`.

Shapes: B windows, T tokens in each.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from engine.config.tasks.question_answering import QuestionAnswering
from engine.data.columns.answers import Answer, AnswerMismatch, parse_answers
from engine.data.datasets.rows import Rows
from engine.data.tokenized.dataset import TokenizedDataset, TokenizedWriter, open_cached
from engine.data.tokenized.windows import OWNERS, Window, answer_positions, windows
from engine.errors import StudioError
from engine.evaluation.answers import N_BEST, Choice, Span, choose
from engine.evaluation.question_answering import QuestionReport, report, row_scores
from engine.files.atomic_write import atomic_folder
from engine.files.regular_file import check_regular
from engine.messages.explore.prediction import Predict, Predicted, SpanPrediction
from engine.models.checkpoint import Checkpoint
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks import learner
from engine.tasks.evaluating import collect_predictions
from engine.tasks.inputs import Inputs, max_tokens
from engine.tasks.row_predictions import RowPredictions
from engine.tokenizers.tokenizer import Tokenizer

CHUNK = 100  # questions per tokenization and progress step
MAX_SHOWN = 5  # answers per question in a prediction
POSITIONS = "places.npy"
WORD = re.compile(r"\w+")
JOINER = re.compile(r"[ \-–’'.,]?")  # characters between two words of an answer, as in 1,000
COMMON_FRACTION = 0.05  # words in more than this fraction of the passages are in no answer
MIN_SCORE = 1e-9  # score of a span in a passage without words of the question
MAX_FITTING_ROWS = 1_000  # training rows for the no-answer score


@dataclass
class QuestionExamples(learner.Examples):
    """Windows; those of a question are consecutive. `targets` is int64 [windows, 2]."""

    rows: Rows | None = None
    cutter: "WindowCutter | None" = None


@dataclass(frozen=True)
class WindowCutter:
    """Cuts passages into windows."""

    task: QuestionAnswering
    tokenizer: Tokenizer
    max_length: int

    def cut(
        self, questions: Sequence[str], passages: Sequence[str]
    ) -> Iterator[tuple[list[Window], list[tuple[int, int]]]]:
        """Yield the windows of each question over its passage, and the character offsets of the
        passage's tokens. Consecutive questions about a passage share its tokenization.

        Raises StudioError if a question leaves no space for the passage.
        """
        for first in range(0, len(questions), CHUNK):
            chunk = slice(first, first + CHUNK)
            distinct = list(dict.fromkeys(passages[chunk]))
            tokenized = dict(
                zip(distinct, self.tokenizer.encode_offsets_many(distinct), strict=True)
            )
            contents = self.tokenizer.contents(questions[chunk])
            for question, passage in zip(contents, passages[chunk], strict=True):
                ids, offsets = tokenized[passage]
                cut = windows(
                    *(question, ids, offsets, self.tokenizer.cls, self.tokenizer.sep),
                    max_length=self.max_length,
                    stride=self.task.doc_stride,
                    max_question_length=self.task.max_question_length,
                    separators=self.tokenizer.vocabulary.separators,
                )
                yield cut, offsets


class QuestionAnsweringLearner(learner.Learner):
    """Each token is scored as the first and as the last of the answer; the loss is the mean of both
    cross-entropies. Windows without an answer have [CLS] as their target."""

    task: QuestionAnswering
    term = "answers"
    target_shape = (2,)

    @property
    def metric_names(self) -> tuple[str, ...]:
        names = super().metric_names
        return names if self.task.unanswerable else tuple(n for n in names if n != "best_f1")

    @property
    def tokenization(self) -> str:
        return f"windows-{self.task.doc_stride}-{self.task.max_question_length}"

    def fit_labels(self, rows: Rows) -> None:
        if rows.answers is None or rows.pairs is None:
            raise _no_answers_error()
        if self.task.unanswerable is None:
            unanswerable = any(not cell.strip() for cell in rows.answers)
            self.task = self.task.model_copy(update={"unanswerable": unanswerable})

    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> QuestionExamples:
        if rows.pairs is None:
            raise _no_answers_error()
        cutter = WindowCutter(self.task, tokenizer, max_length)
        tokenized = open_cached(folder)
        if tokenized is None:
            with atomic_folder(folder) as new, TokenizedWriter(new, tokenizer.size) as writer:
                _write(rows, cutter, writer, new, progress)
            tokenized = TokenizedDataset.open(folder)
        owners = np.load(check_regular(folder / OWNERS), allow_pickle=False)
        targets = np.load(check_regular(folder / POSITIONS), allow_pickle=False)
        known_targets = targets if rows.answers is not None else None
        return QuestionExamples(tokenized, known_targets, rows=rows, owners=owners, cutter=cutter)

    def describe_targets(self, batch: learner.Batch, tokenizer: Tokenizer) -> list[str]:
        return [
            " ".join(tokenizer.token(int(i)) for i in tokens[first : last + 1]) if first else "none"
            for tokens, (first, last) in zip(batch.tokens, batch.targets.tolist(), strict=True)
        ]

    def dummy_batch(
        self, count: int, width: int, tokenizer: Tokenizer, rng: Generator
    ) -> learner.Batch:
        tokens = torch.from_numpy(learner.random_tokens(count, width, tokenizer, rng))
        targets = torch.from_numpy(rng.integers(0, width, (count, 2)))
        return learner.Batch(tokens, torch.zeros_like(tokens), None, targets, None)

    def losses(
        self, network: Network, batch: learner.Batch, counts: learner.Counts | None = None
    ) -> learner.Losses:
        counts = counts or self.counts(batch)
        logits = span_logits(network, batch)
        ends = F.cross_entropy(logits, batch.targets, reduction="sum") / 2
        return {"answers": ends / counts["answers"]}

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        """The best spans of the second text, read in windows; none if no answer is preferred."""
        if not question.text.strip() or not (question.pair or "").strip():
            raise StudioError(
                "This model finds the answer to a question in a passage.",
                "Type a question as the text, and a passage that may answer it as the second text.",
            )
        assert question.pair is not None
        rows = Rows([question.text], [question.pair])
        [record] = collect_predictions(checkpoint, self, rows, max_tokens(checkpoint)).predictions()
        return Predicted(
            task=self.task.kind,
            tokens=inputs.records,
            truncated=inputs.truncated,
            spans=tuple(SpanPrediction.model_validate(span) for span in record["candidates"]),
            value=record["no_answer"],
            answered=bool(record["answer"]),
            certainty=record["probability"],
        )

    def baselines(self) -> tuple[learner.Baseline, ...]:
        return (
            learner.Baseline(
                "nearest-words",
                "Words nearest to the question's",
                lambda _, train, rows: nearest_words(self.task, train, rows),
            ),
        )

    def make_metrics(self, examples: learner.Examples) -> "AnswerCollector":
        assert isinstance(examples, QuestionExamples)
        task, threshold = self.task, self.prediction.no_answer_threshold
        if threshold is not None:
            task = task.model_copy(update={"no_answer_threshold": threshold})
        return AnswerCollector(examples, task)


@dataclass(frozen=True)
class ChosenAnswers(learner.TaskPredictions):
    """Spans chosen for each of N questions.

    Args:
        rows: the questions and their passages.
        choices: the best spans of each question.
        losses: mean loss of the windows of each question, float64 [N]; None if unlabelled.
        loss: mean loss of all windows.
    """

    rows: Rows
    task: QuestionAnswering
    choices: Sequence[Choice]
    losses: NDArray[np.float64] | None = None
    loss: float = float("nan")

    def report(self) -> QuestionReport:
        if self.rows.answers is None:
            raise _no_answers_error()
        return report(*self._evaluation_inputs()).model_copy(update={"loss": self.loss})

    def predictions(self) -> list[dict[str, Any]]:
        return [
            answer_record(choice, passage, self.task)
            for choice, passage in zip(self.choices, self._passages, strict=True)
        ]

    def row_predictions(self) -> RowPredictions:
        """`null` of the details is the no-answer score minus the score of the best span; null if
        every question has an answer."""
        predictions = self.predictions()
        pairs = zip(self.choices, self._passages, strict=True)
        details = [self._details(choice, passage) for choice, passage in pairs]
        result = RowPredictions(
            [record["answer"] for record in predictions],
            probability=np.array([record["probability"] for record in predictions]),
            details=[json.dumps(detail, ensure_ascii=False) for detail in details],
            settings={
                "unanswerable": float(bool(self.task.unanswerable)),
                "no_answer_threshold": self.task.no_answer_threshold,
                "max_answer_length": self.task.max_answer_length,
            },
        )
        if self.rows.answers is None:
            return result
        inputs = self._evaluation_inputs()
        exact_matches, f1s = row_scores(*inputs)
        gold = inputs[1]
        return replace(
            result,
            gold=[" | ".join(dict.fromkeys(texts)) for texts in gold],
            loss=self.losses,
            score=f1s,
            details=[
                json.dumps({"gold": texts, "exact": int(exact), **detail}, ensure_ascii=False)
                for texts, exact, detail in zip(gold, exact_matches, details, strict=True)
            ],
        )

    @property
    def _passages(self) -> Sequence[str]:
        assert self.rows.pairs is not None
        return self.rows.pairs

    def _details(self, choice: Choice, passage: str) -> dict[str, Any]:
        best = [[passage[s.start : s.end], *s] for s in choice.spans[:MAX_SHOWN]]
        return {"null": choice.doubt if self.task.unanswerable else None, "best": best}

    def _evaluation_inputs(self) -> tuple[list[str], list[list[str]], list[float] | None, float]:
        """Best spans, gold answers, doubts (None if every question has an answer), threshold."""
        choices = self.choices
        best = [
            choice.answer(text, np.inf)
            for choice, text in zip(choices, self._passages, strict=True)
        ]
        true = [[answer.text for answer in answers(self.rows, n)] for n in range(len(self.rows))]
        doubts = [choice.doubt for choice in choices] if self.task.unanswerable else None
        return best, true, doubts, self.task.no_answer_threshold


class AnswerCollector(learner.PredictionCollector):
    """Collects the scores of all windows, then chooses the answers."""

    def __init__(self, examples: QuestionExamples, task: QuestionAnswering) -> None:
        self._examples, self._task = examples, task
        self._scores: list[NDArray[np.float32] | None] = [None] * len(examples)  # [2, T] each
        self._losses = np.zeros(len(examples))

    def add(self, network: Network, batch: learner.Batch) -> None:
        assert batch.indices is not None
        logits = span_logits(network, batch)  # [B, T, 2]
        ends = F.cross_entropy(logits, batch.targets, reduction="none")  # [B, 2]
        self._losses[batch.indices.numpy()] = ends.cpu().double().mean(1).numpy()
        scores = logits.transpose(1, 2).cpu().numpy()
        for row, index in enumerate(batch.indices.tolist()):
            length = int(self._examples.tokenized.lengths[index])
            self._scores[index] = scores[row, :, :length].copy()

    def report(self) -> QuestionReport:
        return self._chosen.report()

    def predictions(self) -> list[dict[str, Any]]:
        return self._chosen.predictions()

    def row_predictions(self) -> RowPredictions:
        return self._chosen.row_predictions()

    @property
    def _chosen(self) -> ChosenAnswers:
        rows, owners = self._examples.rows, self._examples.owners
        assert rows is not None and owners is not None
        losses = np.full(len(rows), np.nan)
        counts, sums = (np.bincount(owners, w, minlength=len(rows)) for w in (None, self._losses))
        np.divide(sums, counts, out=losses, where=counts > 0)
        loss = float(self._losses.sum()) / max(len(self._losses), 1)
        return ChosenAnswers(rows, self._task, self._choices, losses, loss)

    @cached_property
    def _choices(self) -> list[Choice]:
        """The best spans of each question, from the scores of all its windows."""
        examples = self._examples
        rows, owners = examples.rows, examples.owners
        assert rows is not None and rows.pairs is not None
        assert owners is not None and examples.cutter is not None
        ends = np.searchsorted(owners, np.arange(1, len(rows) + 1))
        choices: list[Choice] = []
        first, cut = 0, examples.cutter.cut(rows.texts, rows.pairs)
        for last, (spans, _) in zip(ends.tolist(), cut, strict=True):
            scores = [pair for pair in self._scores[first:last] if pair is not None]
            starts_and_ends = [s[0] for s in scores], [s[1] for s in scores]
            choices.append(choose(spans, *starts_and_ends, self._task.max_answer_length))
            first = last
        return choices


def _write(
    rows: Rows,
    cutter: WindowCutter,
    writer: TokenizedWriter,
    folder: Path,
    progress: ProgressCallback,
) -> None:
    """Write the windows of all rows, their row indices and the positions of their answers."""
    assert rows.pairs is not None
    owners: list[int] = []
    positions: list[NDArray[np.int64]] = []
    for index, (cut, offsets) in enumerate(cutter.cut(rows.texts, rows.pairs)):
        for window in cut:
            writer.add(window.ids, window.begin)
        owners += [index] * len(cut)
        gold = answers(rows, index)
        if gold:
            start = gold[0].start
            positions.append(answer_positions(cut, offsets, start, start + len(gold[0].text)))
        else:
            positions.append(np.zeros((len(cut), 2), dtype=np.int64))
        if (index + 1) % CHUNK == 0 or index + 1 == len(rows):
            progress(index + 1, len(rows))
    np.save(folder / OWNERS, np.array(owners, dtype=np.int64))
    np.save(
        folder / POSITIONS, np.concatenate(positions) if positions else np.zeros((0, 2), np.int64)
    )


def span_logits(network: Network, batch: learner.Batch) -> Tensor:
    """Scores of each token as the first and the last one, float32 [B, T, 2]; -inf on padding."""
    logits: Tensor = network.logits(*batch.inputs)
    if batch.attention_mask is None:
        return logits
    return logits.masked_fill(~batch.attention_mask[:, :, None], float("-inf"))


def answers(rows: Rows, index: int) -> tuple[Answer, ...]:
    """Answers of a row. Raises StudioError if its passage does not contain one."""
    if rows.answers is None or rows.pairs is None:
        return ()
    try:
        return parse_answers(rows.answers[index], rows.pairs[index])
    except AnswerMismatch as error:
        line = phrase(" (line {lines})", lines=rows.lines[index]) if rows.lines else ""
        raise StudioError(
            "In row {number}{line}, {error}.",
            "Write the answer exactly as in the passage, or remove the row.",
            number=index + 1,
            line=line,
            error=error,
        ) from error


def answer_record(choice: Choice, passage: str, task: QuestionAnswering) -> dict[str, Any]:
    """Record of a question: the answer, its probability, and the best spans.

    Probabilities are a softmax over the best spans and, if allowed, no answer.
    """
    spans = choice.spans
    scores = np.array([span.score for span in spans], dtype=np.float64)
    if task.unanswerable:
        scores = np.append(scores, choice.null_score)
    probabilities = np.exp(scores - scores.max()) if len(scores) else scores
    probabilities = probabilities / max(probabilities.sum(), 1e-300)
    threshold = task.no_answer_threshold if task.unanswerable else np.inf
    answer = choice.answer(passage, threshold)
    best = spans[0] if answer else None
    no_answer = float(probabilities[-1]) if task.unanswerable else 0.0
    return {
        "answer": answer,
        "start": best.start if best else None,
        "end": best.end if best else None,
        "probability": float(probabilities[0]) if best else no_answer,
        "no_answer": no_answer,
        "doubt": choice.doubt,
        "candidates": [
            {"text": passage[s.start : s.end], "start": s.start, "end": s.end, "probability": p}
            for s, p in zip(spans[:MAX_SHOWN], probabilities.tolist(), strict=False)
        ],
    }


def _no_answers_error() -> StudioError:
    return StudioError(
        "Question answering needs a question, a passage and its answers in each row.",
        "Choose the columns that hold them, or import a file in the SQuAD format.",
    )


class _Words(NamedTuple):
    """Lower-case words of a text, and their character spans, int64 [words, 2]."""

    words: list[str]
    spans: NDArray[np.int64]


def nearest_words(task: QuestionAnswering, train: Rows, rows: Rows) -> ChosenAnswers:
    """For each question, find the spans nearest to its words.

    Based on the sliding window of Richardson et al. (2013, §5.1), a baseline of Rajpurkar et al.
    (2016, §5). Instead of a fixed window size, words are weighted by their distance and rarity, so
    nothing has to be tuned.

    A span is a maximal run of words of the passage without words of the question or common words.
    Its score is log Σ idf(w) / (1 + d(w)) − log Σ idf(w) over the words w of the question, with
    idf(w) = log((P + 1) / (n(w) + 1)) for P distinct passages of the training rows, n(w) of which
    contain w, and d(w) the distance in words from the span to the nearest w in the passage; missing
    words add nothing. If questions may have no answer, the no-answer score is the one with the
    highest F1 on training rows.
    """
    finder = _SpanFinder(train)
    chosen = finder.choices(rows, null_score=0.0)
    plain = task.model_copy(update={"no_answer_threshold": 0.0})
    if not task.unanswerable:
        return ChosenAnswers(rows, plain, chosen)
    sample = _sample_evenly(train, MAX_FITTING_ROWS)
    best = ChosenAnswers(sample, plain, finder.choices(sample, null_score=0.0)).report().best_f1
    assert best is not None
    return ChosenAnswers(rows, plain, [Choice(choice.spans, -best.threshold) for choice in chosen])


class _SpanFinder:
    def __init__(self, train: Rows) -> None:
        assert train.pairs is not None
        passages = {*train.pairs}
        self._counts = Counter(word for passage in passages for word in {*_words(passage).words})
        self._passages = len(passages)

    def choices(self, rows: Rows, null_score: float) -> list[Choice]:
        assert rows.pairs is not None
        cached_words = lru_cache(maxsize=16)(_words)  # consecutive questions share passages
        return [
            Choice(self._spans(_words(question).words, passage, cached_words(passage)), null_score)
            for question, passage in zip(rows.texts, rows.pairs, strict=True)
        ]

    def _idf(self, word: str) -> float:
        return math.log((self._passages + 1) / (self._counts[word] + 1))

    def _spans(self, question: Sequence[str], passage: str, content: _Words) -> tuple[Span, ...]:
        """The best spans of a passage, best first; ties in order of position."""
        question_words = {*question}
        runs = self._runs(question_words, passage, content)
        if not len(runs):
            return ()
        scores = np.full(len(runs), MIN_SCORE)
        words = np.array(content.words)
        for word in question_words & {*content.words}:
            hits = np.flatnonzero(words == word)
            before = runs[:, 0] - hits[np.maximum(np.searchsorted(hits, runs[:, 0]) - 1, 0)]
            after = hits[np.minimum(np.searchsorted(hits, runs[:, 1]), len(hits) - 1)]
            distances = np.minimum(np.abs(before), np.abs(after - runs[:, 1] + 1))
            scores += self._idf(word) / (1 + distances)
        scores = np.log(scores) - math.log(max(sum(map(self._idf, question_words)), MIN_SCORE))
        order = np.argsort(-scores, kind="stable")[:N_BEST]
        starts, ends = (content.spans[runs[order, 0], 0], content.spans[runs[order, 1] - 1, 1])
        return tuple(map(Span, starts.tolist(), ends.tolist(), scores[order].tolist()))

    def _runs(self, question_words: set[str], passage: str, content: _Words) -> NDArray[np.int64]:
        """First word and end of each run, int64 [runs, 2]."""
        runs: list[list[int]] = []
        for index, word in enumerate(content.words):
            if word in question_words or self._counts[word] > COMMON_FRACTION * self._passages + 1:
                continue
            continues = runs and runs[-1][1] == index
            between = content.spans[index - 1, 1] if continues else 0
            if continues and JOINER.fullmatch(passage, between, content.spans[index, 0]):
                runs[-1][1] = index + 1
            else:
                runs.append([index, index + 1])
        return np.array(runs, dtype=np.int64).reshape(-1, 2)


def _words(text: str) -> _Words:
    matches = list(WORD.finditer(text))
    spans = np.array([match.span() for match in matches], dtype=np.int64).reshape(-1, 2)
    return _Words([match[0].lower() for match in matches], spans)


def _sample_evenly(rows: Rows, limit: int) -> Rows:
    """At most `limit` rows, evenly spaced."""
    assert rows.pairs is not None and rows.answers is not None
    indices = range(0, len(rows), max(1, -(-len(rows) // limit)))
    texts, pairs, answers = (
        [column[n] for n in indices] for column in (rows.texts, rows.pairs, rows.answers)
    )
    return Rows(texts, pairs, answers=answers)
