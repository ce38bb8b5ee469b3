"""Explore's questions, answered on a device and on the CPU."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from engine.config.zero_shot import describe
from engine.doctor.material import OTHER, TEXT
from engine.files.regular_file import check_regular
from engine.messages.explore.attention import Attend, Measure, ShowQueryKey
from engine.messages.explore.attribution import (
    Attribute,
    CheckFaithfulness,
    Edit,
    Method,
    ScoreEdits,
    SuggestWords,
)
from engine.messages.explore.candidates import FindCandidates, ScoreCandidates
from engine.messages.explore.embeddings import Embed
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.nearest import EncodeRows, FindNearest
from engine.messages.explore.prediction import (
    Predict,
    PredictByDescriptions,
    PredictNextSentence,
)
from engine.messages.explore.templates import ScoreTemplates
from engine.messages.explore.text_set import (
    AverageHeads,
    CompareModels,
    CountHeads,
    PlaceTexts,
    PruneHeads,
    RemoveHeads,
    ScoreTexts,
    TextSet,
    TextsScored,
    TypedText,
    WeighHeads,
)
from engine.messages.explore.token_scores import ApplyLens, ScoreTokens
from engine.messages.explore.word_relations import RelateWords
from engine.messages.explore.word_vectors import (
    CompareWord,
    FindTokens,
    FindWords,
    SaveWordVectors,
)
from engine.messages.question import Answer, Question
from engine.worker.answerers import ANSWERERS
from engine.worker.context import WorkerContext

IGNORED_FIELDS = ("to", "computed", "why_exact", "milliseconds", "path", "file", "folder", "next")


@dataclass(frozen=True)
class Models:
    """The checkpoints, a stored data set, and replacement outputs of heads."""

    pretrained: Path
    classifier: Path
    tagger: Path
    sentences: Path
    data: Path
    means: Path  # of heads, float32 [L, D]


def questions(models: Models, scratch: Path) -> Iterator[Question]:
    """At least one question of every kind in Explore; files named by them are in `scratch`."""
    words: dict[str, Any] = {"checkpoint": models.pretrained, "text": TEXT}
    yield FillMask(**words, masked=(2, 4), requested=("film",))
    yield FillMask(**words, masked=(2,), heads_off=((0, 1), (1, 0)))
    yield FillMask(**words, masked=(2,), heads_off=((0, 1),), head_means=models.means)
    for measure in get_args(Measure):
        yield Attend(**words, pair=OTHER, measure=measure)
    yield ShowQueryKey(**words, layer=1, head=1, query_token=2, key_token=3)
    yield ScoreCandidates(**words, first=2, last=2, candidates=("film", "dog story"))
    yield FindCandidates(**words, first=2, last=3, beams=4, top=3)
    yield ScoreTemplates(
        checkpoint=models.pretrained,
        templates=("a [FILLER] film and a [TARGET] end",),
        fillers=("warm", "cold"),
        targets=("good", "dog"),
    )
    yield ScoreTokens(**words)
    yield ApplyLens(**words, masked=(2,), positions=(2, 3))
    yield PredictNextSentence(**words, pair=OTHER)
    yield Embed(**words)
    yield CompareWord(checkpoint=models.pretrained, word="film", texts=(TEXT, "a poor film"))
    film = TEXT.index("film")
    word: dict[str, Any] = {"text": TEXT, "start": film, "end": film + len("film"), "layer": 1}
    yield FindTokens(checkpoint=models.pretrained, **word)
    yield RelateWords(
        checkpoint=models.pretrained,
        words=("film", "dog"),
        signs=(1, -1),
        texts=(TEXT, "a dog"),
        layer=1,
    )
    yield SuggestWords(**words, start=2, end=6)
    classes: dict[str, Any] = {"checkpoint": models.classifier, "text": TEXT}
    yield Predict(**classes)
    yield Predict(**classes | {"checkpoint": models.tagger}, heads_off=((0, 0),))
    for method in get_args(Method):
        yield Attribute(**classes, method=method)
    yield Attribute(**words, masked=(2,), head="mlm", method="input_x_gradient")
    yield CheckFaithfulness(**classes, order=(1, 0, 2, 3, 4, 5, 6))
    yield ScoreEdits(**classes, edits=(Edit(start=2, end=6, text="poor"),))
    typed = (TypedText(text=TEXT, label="good"), TypedText(text=OTHER, label="bad"))
    texts = TextSet(typed=(*typed, TypedText(text="a fine play of a dog", label="good")))
    many: dict[str, Any] = {"checkpoint": models.classifier, "texts": texts}
    yield ScoreTexts(**many)
    yield ScoreTexts(**many | {"checkpoint": models.pretrained})
    yield CountHeads(**many)
    yield WeighHeads(**many, each_head=True)
    yield WeighHeads(**many | {"checkpoint": models.pretrained}, replacement="mean", each_head=True)
    yield AverageHeads(**many)
    yield PruneHeads(**many, fraction=0.25, max_fall=1)
    yield RemoveHeads(checkpoint=models.classifier, heads=((0, 1),), into=scratch / "removed")
    yield CompareModels(**many, other=models.pretrained)
    yield PlaceTexts(**many)
    yield FindWords(**many, **word)
    yield SaveWordVectors(**many, word="film", file=scratch / "film.npy")
    near: dict[str, Any] = {"checkpoint": models.sentences, "data": models.data, "part": "train"}
    described = describe(("dogs: about a dog", "films"))
    yield PredictByDescriptions(checkpoint=models.sentences, described=described, text=TEXT)
    yield EncodeRows(**near, file=scratch / "rows.npy")
    yield FindNearest(**near, file=scratch / "rows.npy", text=TEXT, top=5)


def answer_fields(question: Question, context: WorkerContext) -> dict[str, Any]:
    """All fields of the final answer to a question, with the arrays of its files."""
    messages = list[Answer]()
    context.emit = messages.append
    parts, last = list[dict[str, Any]](), ANSWERERS[type(question)](question, context)
    while True:
        parts.append(last.model_dump(mode="json"))
        if (start := getattr(last, "next", None)) is None:
            break
        so_far = getattr(last, "effects", None) or getattr(last, "scores", ())
        update = {"start": start, "so_far": so_far, "points": getattr(last, "points", None)}
        fields = type(question).model_fields
        update = {name: value for name, value in update.items() if name in fields}
        question = question.model_copy(update=update)
        last = ANSWERERS[type(question)](question, context)
    if isinstance(last, TextsScored):  # the number of texts per message depends on the speed
        answers = [answer for answer in (*messages, last) if isinstance(answer, TextsScored)]
        return {"scores": [score.model_dump() for answer in answers for score in answer.scores]}
    is_whole = "so_far" in type(question).model_fields
    return {"answer": parts[-1:] if is_whole else parts, "files": _files(last, question)}


def _files(answer: Answer, question: Question) -> dict[str, Any]:
    """The arrays in the files of an answer, by name."""
    path = getattr(answer, "file", None) or getattr(question, "file", None)
    weights = getattr(answer, "weights", None)
    path = getattr(weights, "path", path)
    if path is None:
        return {}
    if path.suffix == ".npz":
        with np.load(check_regular(path)) as arrays:
            return {name: arrays[name] for name in arrays.files}
    return {"": np.load(check_regular(path))}


def max_difference(ours: Any, theirs: Any, name: str = "") -> float:
    """The largest difference of two answers; infinite if anything but numbers differs."""
    if name in IGNORED_FIELDS:
        return 0.0
    if isinstance(ours, np.ndarray):
        return _max_array_difference(ours, np.asarray(theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return max((max_difference(ours[key], theirs[key], key) for key in ours), default=0.0)
    if isinstance(ours, list | tuple) and len(ours) == len(theirs):
        pairs = zip(ours, theirs, strict=True)
        return max((max_difference(a, other, name) for a, other in pairs), default=0.0)
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) if ours == ours else float("inf")
    return 0.0 if ours == theirs else float("inf")


def _max_array_difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if ours.dtype.kind != "f":
        return 0.0 if (ours == theirs).all() else float("inf")
    is_finite = np.isfinite(ours)
    if (is_finite != np.isfinite(theirs)).any():
        return float("inf")
    return float(np.abs(ours[is_finite].astype(np.float64) - theirs[is_finite]).max(initial=0.0))
