"""The table of answerers is complete, and each answer says if it is exact."""

import importlib
import json
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import engine.messages.explore
from engine.explore import fill_mask
from engine.messages.explore.attention import Attend
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.prediction import Predict
from engine.messages.question import Question
from engine.serving import serving
from engine.serving.quantized_matmul import is_available
from engine.worker import answerers
from engine.worker.answerers import ANSWERERS, MAX_ANSWERS, answer, precise_answerer
from engine.worker.context import WorkerContext
from engine.worker.hub import HUB_ANSWERERS
from engine.worker.questions import Inbox, parse_line
from engine.worker.search import SEARCH_ANSWERERS

needs_float16 = pytest.mark.skipif(not is_available("float16"), reason="no float16")


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Answer a question with reduced precision prepared for every model."""
    monkeypatch.setattr(serving, "MIN_SPEEDUP", 0.0)
    context = WorkerContext(tmp_path, lambda _: None)

    def ask(question, settled=True):
        if settled:
            context.models.serving(question.checkpoint)
            while context.models.prepare():
                pass
        return answer(question, context)

    return ask


def questions(folder: Path, exact: bool):
    inputs = {"checkpoint": folder, "text": "a b c", "masked": (2,), "exact": exact}
    return [FillMask(**inputs), Predict(**inputs), Attend(**inputs)]


@needs_float16
def test_an_answer_uses_reduced_precision_if_allowed(ask, tiny_folder):
    for question in questions(tiny_folder, exact=False):
        answer = ask(question)
        assert answer.computed != "float32"
        assert answer.why_exact == ""


@needs_float16
def test_an_exact_answer_is_computed_in_float32(ask, tiny_folder, tiny):
    fill, predict, attend = (ask(question) for question in questions(tiny_folder, exact=True))
    assert {item.computed for item in (fill, predict, attend)} == {"float32"}
    expected = fill_mask.fill_mask(tiny, questions(tiny_folder, exact=True)[0])
    pairs = zip(fill.predictions[0].ranked, expected.predictions[0].ranked, strict=True)
    assert all(abs(a.probability - other.probability) < 1e-6 for a, other in pairs)


@needs_float16
def test_an_answer_is_exact_until_reduced_precision_is_ready(ask, tiny_folder):
    answer = ask(questions(tiny_folder, exact=False)[0], settled=False)
    assert (answer.computed, answer.why_exact) == ("float32", "preparing")


@needs_float16
def test_attention_based_answers_are_exact(ask, tiny_folder):
    question = Attend(checkpoint=tiny_folder, text="a b c", measure="rollout", exact=False)
    answer = ask(question)
    assert answer.computed == "float32"
    assert np.load(answer.weights.path).dtype == np.float32


@needs_float16
def test_answers_are_cached(ask, tiny_folder, monkeypatch):
    question = questions(tiny_folder, exact=True)[0]
    first = ask(question.model_copy(update={"number": 1}))
    monkeypatch.setitem(ANSWERERS, FillMask, precise_answerer(None))
    cached = ask(question.model_copy(update={"number": 2, "side": 1}))
    assert cached.to == 2
    assert cached.predictions == first.predictions


@needs_float16
def test_the_number_of_cached_answers_is_limited(ask, tiny_folder, monkeypatch):
    monkeypatch.setattr(answerers, "MAX_ANSWERS", 2)
    assert MAX_ANSWERS > 2
    for text in ("a [MASK]", "b [MASK]", "c [MASK]"):
        ask(FillMask(checkpoint=tiny_folder, text=text))
    monkeypatch.setitem(ANSWERERS, FillMask, precise_answerer(None))
    ask(FillMask(checkpoint=tiny_folder, text="c [MASK]"))
    with pytest.raises(TypeError):
        ask(FillMask(checkpoint=tiny_folder, text="a [MASK]"))


@needs_float16
def test_lack_of_memory_for_reduced_precision_leaves_exact_answers(
    ask, tiny_folder, monkeypatch, capsys
):
    def fail(*_):
        raise RuntimeError("can't allocate memory")

    monkeypatch.setattr(serving, "predict", fail)
    answer = ask(questions(tiny_folder, exact=False)[0])
    assert (answer.computed, answer.why_exact) == ("float32", "none")
    assert "can't allocate memory" in capsys.readouterr().err


def list_questions(module):
    return [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type)
        and issubclass(cls, Question)
        and cls.__module__ == module.__name__
        and "answered_by" in vars(cls)
    ]


def test_every_question_has_an_answerer_and_every_kind_one_class():
    """One of the workers answers each module of questions in `engine/messages`."""
    packages = (engine.messages.__path__, engine.messages.explore.__path__)
    prefixes = ("engine.messages.", "engine.messages.explore.")
    questions = [
        cls
        for path, prefix in zip(packages, prefixes, strict=True)
        for module in pkgutil.iter_modules(path, prefix)
        for cls in list_questions(importlib.import_module(module.name))
    ]
    assert set(questions) == {*ANSWERERS, *HUB_ANSWERERS, *SEARCH_ANSWERERS}
    assert all(cls.worker == "hub" for cls in HUB_ANSWERERS)
    assert all(cls.worker == "search" for cls in SEARCH_ANSWERERS)
    for classes in (questions, {cls.answered_by for cls in questions}):
        kinds = [item.model_fields["kind"].default for item in classes]
        assert len(set(kinds)) == len(kinds)


def test_only_the_newest_question_of_a_kind_waits():
    inbox = Inbox()
    for number, kind in enumerate(("fill_mask", "attend", "fill_mask", "fill_mask"), start=1):
        question = {"kind": kind, "number": number, "checkpoint": "x", "text": "a"}
        inbox.put(json.dumps(question).encode())
    assert [inbox.take().number for _ in range(2)] == [2, 4]


def test_the_sides_of_a_comparison_do_not_replace_each_other():
    inbox = Inbox()
    for number, side in enumerate((0, 1, 0), start=1):
        question = {
            "kind": "fill_mask",
            "number": number,
            "side": side,
            "checkpoint": "x",
            "text": "a",
        }
        inbox.put(json.dumps(question).encode())
    assert [inbox.take().number for _ in range(2)] == [2, 3]


def test_an_invalid_question_keeps_its_number():
    assert parse_line(b'{"number": 7, "kind": "fill_mask"}').number == 7
    assert parse_line(b'{"number": "x"}').number == 0
    assert parse_line(b"[1, 2]").number == 0
    assert parse_line(b"\xff\xfe").number == 0


def test_idle_work_is_done_only_without_questions(tiny_folder):
    inbox, calls = Inbox(), []

    def meanwhile():
        calls.append(len(calls))
        if len(calls) == 3:
            inbox.put(FillMask(number=7, checkpoint=tiny_folder, text="a").line())
        return True

    assert inbox.take(meanwhile).number == 7
    assert calls == [0, 1, 2]
