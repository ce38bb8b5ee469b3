"""Work on many texts: cancelled, resumed, cached, and batched without regard to speed."""

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
def test_a_cancelled_question_is_resumed_and_equals_an_uncut_one(
    make, classifier, tmp_path, monkeypatch
):
    """Every text is a slice, and every slice is reported; cancelled at the third."""
    for name, value in (("REPORT_SECONDS", 0.0), ("MAX_SLICE", 1), ("MAX_BATCH", 1)):
        monkeypatch.setattr(work, name, value)
    question = make(checkpoint=classifier, texts=ALL)
    context = WorkerContext(tmp_path, lambda _: None)
    whole = answer_fields(question, context)
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
    assert max_difference(answer_fields(stored, context), whole) <= 1e-6


def test_damaged_stored_arrays_are_recomputed(classifier, tmp_path):
    question = ScoreTexts(checkpoint=classifier, texts=ALL, cache=tmp_path / "kept")
    whole = score(Serving(load(classifier)), question)
    next((tmp_path / "kept").glob("*/*.npz")).write_bytes(b"PK nothing")
    assert score(Serving(load(classifier)), question) == whole


@pytest.mark.parametrize("step", [1, 3, 5, 16])
def test_batches_do_not_depend_on_the_clock(step, monkeypatch):
    """Regardless of the speed of the machine and of a resume, the same texts are batched."""

    def groups(store: work.ArrayStore, stop_at: int = 300) -> list[tuple[int, int]]:
        calls: list[tuple[int, int]] = []

        def compute(first: int, stop: int) -> dict[str, np.ndarray]:
            calls.append((first, stop))
            return {"n": np.arange(first, stop)}

        def tell(_: object, first: int, done: int) -> None:
            if done >= stop_at:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            assert np.array_equal(work.over_texts(store, 300, compute, tell, step)["n"], range(300))
        return calls

    question = ScoreTexts(checkpoint=Path("any"), texts=ALL)
    quick = groups(work.ArrayStore(question))
    monkeypatch.setattr(work, "LONG", 0.0)  # simulates slow slices
    monkeypatch.setattr(work, "REPORT_SECONDS", 0.0)
    slow = groups(work.ArrayStore(question))
    store = work.ArrayStore(question)
    cut = groups(store, 100)
    assert quick == slow == cut + groups(store) and len(cut) < len(quick)
    assert quick == [(n, min(n + step, 300)) for n in range(0, 300, step)]


def test_little_room_is_kept(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr(work, "MAX_FOLDERS", 2)
    serving = Serving(load(classifier))
    for number in range(4):
        some = ALL.model_copy(update={"rows": (number,)})
        score(serving, ScoreTexts(checkpoint=classifier, texts=some, cache=tmp_path / "kept"))
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_short_texts_go_together_and_long_ones_alone():
    assert group_size([("a" * 100, None)] * 3) == work.MAX_BATCH
    assert group_size([("a" * 200, "b" * 200), ("a" * 400, None)]) == 5
    assert group_size([("a" * 100_000, None), ("", None)]) == 1 == group_size([("a" * 2048, None)])
    assert group_size([]) == group_size([("", "")]) == work.MAX_BATCH
    assert batches([300, 5, 100, 100, 513, 90]) == [[1, 5, 2, 3], [0], [4]]
