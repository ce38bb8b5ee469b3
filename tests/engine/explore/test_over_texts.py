"""Questions about many texts are resumed, cached, and batched independently of speed."""

import contextlib
from pathlib import Path

import numpy as np
import pytest

from engine.doctor.questions import answer_fields, max_difference
from engine.explore import over_texts as work
from engine.explore.over_texts import batches, group_size
from engine.explore.text_scores import score
from engine.messages.explore.text_set import (
    AverageHeads,
    CompareModels,
    CountHeads,
    HeadsCounted,
    PlaceTexts,
    ScoreTexts,
    TextSet,
    TypedText,
    WeighHeads,
)
from engine.messages.explore.word_vectors import FindWords
from engine.messages.question import Answer
from engine.models.checkpoint import load
from engine.serving.serving import Serving
from engine.worker.answerers import ANSWERERS
from engine.worker.context import WorkerContext
from tests.engine.models.small import LABELS

TEXTS = ("a b c", "d e f g", "h i", "a a a k l", "m n", "q p o n")
ALL = TextSet(
    typed=tuple(TypedText(text=text, label=LABELS[n % 3]) for n, text in enumerate(TEXTS))
)


@pytest.mark.parametrize(
    "make",
    [
        ScoreTexts,
        CountHeads,
        WeighHeads,
        AverageHeads,
        PlaceTexts,
        lambda **arguments: FindWords(**arguments, text="a b", start=0, end=1, layer=2),
        lambda **arguments: CompareModels(**arguments, other=arguments["checkpoint"]),
    ],
)
def test_a_resumed_question_equals_an_uninterrupted_one(make, classifier, tmp_path, monkeypatch):
    """Each text is a slice, and each slice is reported; the third cancels."""
    for name, value in (("REPORT_SECONDS", 0.0), ("MAX_SLICE", 1), ("MAX_BATCH", 1)):
        monkeypatch.setattr(work, name, value)
    question = make(checkpoint=classifier, texts=ALL)
    context = WorkerContext(tmp_path, lambda _: None)
    expected = answer_fields(question, context)
    stored, answers = question.model_copy(update={"cache": tmp_path / "kept"}), list[Answer]()

    def cancel(answer: Answer) -> None:
        answers.append(answer)
        if answer.done == 3:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    context.emit = cancel
    with pytest.raises(KeyboardInterrupt):
        ANSWERERS[type(stored)](stored, context)
    assert work.ArrayStore(stored).rows == 3
    assert work.ArrayStore(stored.model_copy(update={"heads_off": ((0, 1),)})).rows == 0
    if isinstance(answers[-1], HeadsCounted):
        assert np.isnan(np.load(answers[-1].file)[1:, ..., 0]).all(), "no interval yet"
    answers.clear()
    context.emit = answers.append
    last = ANSWERERS[type(stored)](stored, context)
    assert [answer.done for answer in answers] == [3, 4, 5] and last.is_final  # type: ignore[attr-defined]
    assert max_difference(answer_fields(stored, context), expected) <= 1e-6


def test_damaged_stored_arrays_are_recomputed(classifier, tmp_path):
    question = ScoreTexts(checkpoint=classifier, texts=ALL, cache=tmp_path / "kept")
    expected = score(Serving(load(classifier)), question)
    next((tmp_path / "kept").glob("*/*.npz")).write_bytes(b"PK nothing")
    assert score(Serving(load(classifier)), question) == expected


@pytest.mark.parametrize("step", [1, 3, 5, 16])
def test_batches_do_not_depend_on_the_clock(step, monkeypatch):
    """Neither the speed of the machine nor a resume changes which texts share a batch."""

    def groups(store: work.ArrayStore, stop_at: int = 300) -> list[tuple[int, int]]:
        calls: list[tuple[int, int]] = []

        def compute(first: int, stop: int) -> dict[str, np.ndarray]:
            calls.append((first, stop))
            return {"n": np.arange(first, stop)}

        def report(_: object, first: int, done: int) -> None:
            if done >= stop_at:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            result = work.compute_texts(store, 300, compute, report, step)["n"]
            assert np.array_equal(result, range(300))
        return calls

    question = ScoreTexts(checkpoint=Path("any"), texts=ALL)
    quick = groups(work.ArrayStore(question))
    monkeypatch.setattr(work, "MAX_SECONDS", 0.0)  # simulates slow slices
    monkeypatch.setattr(work, "REPORT_SECONDS", 0.0)
    slow = groups(work.ArrayStore(question))
    store = work.ArrayStore(question)
    interrupted = groups(store, 100)
    assert quick == slow == interrupted + groups(store) and len(interrupted) < len(quick)
    assert quick == [(n, min(n + step, 300)) for n in range(0, 300, step)]


def test_only_the_newest_stored_results_are_kept(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr(work, "MAX_FOLDERS", 2)
    serving = Serving(load(classifier))
    for number in range(4):
        texts = ALL.model_copy(update={"rows": (number,)})
        score(serving, ScoreTexts(checkpoint=classifier, texts=texts, cache=tmp_path / "kept"))
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_short_texts_are_batched_and_long_ones_run_alone():
    assert group_size([("a" * 100, None)] * 3) == work.MAX_BATCH
    assert group_size([("a" * 200, "b" * 200), ("a" * 400, None)]) == 5
    assert group_size([("a" * 100_000, None), ("", None)]) == 1 == group_size([("a" * 2048, None)])
    assert group_size([]) == group_size([("", "")]) == work.MAX_BATCH
    assert batches([300, 5, 100, 100, 513, 90]) == [[1, 5, 2, 3], [0], [4]]
