"""`bert-studio doctor` on the CPU; tests/simulated runs it on a simulated device."""

import json
from collections.abc import Iterator

import pytest
import torch

from engine import cores
from engine.cli import main
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec
from engine.data.columns.fit import dataset_problems
from engine.data.datasets.store import resolve
from engine.doctor import checks, material, questions
from engine.doctor.bench import Bench
from engine.doctor.checks import Steps
from engine.doctor.report import Figure, Report, bounded_figure, unbounded_figure
from engine.errors import StudioError
from engine.messages.question import Question
from engine.progress import no_progress
from engine.worker.answerers import ANSWERERS


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer tasks, options, families and thread counts."""
    kinds = ("text_classification", "pretraining", "token_classification", "sentence_similarity")
    monkeypatch.setattr(checks, "MODEL_OPTIONS", {"LoRA": {"lora_rank": 2}})
    monkeypatch.setattr(checks, "KINDS", kinds)
    monkeypatch.setattr(checks, "OPTIONS", {"micro-batches": {"micro_batch_size": 3}})
    monkeypatch.setattr(checks, "FAMILIES", {"bert": checks.FAMILIES["bert"]})
    monkeypatch.setattr(cores, "thread_candidates", lambda: (1,))


def test_checks_cover_every_task_and_explore_question():
    assert {*checks.KINDS} == {*TASKS}
    models = questions.Models(*["any"] * 6)  # type: ignore[arg-type]
    covered = {type(question) for question in questions.questions(models, material.Path("any"))}
    expected = {
        kind for kind in ANSWERERS if kind.__module__.startswith("engine.messages.explore.")
    }
    assert covered == expected and all(issubclass(item, Question) for item in covered)


def test_the_material_fits_every_task(tmp_path):
    material.write(tmp_path)
    for kind in TASKS:
        job = material.job(kind, tmp_path, HardwareSpec())
        dataset = resolve(job.data, tmp_path / kind, no_progress, lambda: False, job.task)
        assert dataset_problems(dataset.stored, job.task) == [], kind


def test_a_working_processor_passes_every_check(quick, capsys):
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["device"] == "cpu" and report["passed"]
    assert report["environment"]["torch"].startswith(torch.__version__)
    assert [check["name"] for check in report["checks"]] == [*checks.CHECKS]
    for check in report["checks"]:
        assert check["passed"] and len(check["figures"]) > 1, check
    assert Report.model_validate(report).passed


def test_a_failed_check_is_marked_and_the_rest_still_runs(monkeypatch, capsys):
    def wrong(bench: Bench) -> Steps:
        yield "wrong", lambda: iter([bounded_figure("a product, error", 0.5, 0.1)])
        yield "worse", lambda: iter([bounded_figure("another, error", float("nan"), 0.1)])
        yield "speed", lambda: iter([unbounded_figure("speed", 3.0, "GB/s")])

    def fails() -> Iterator[Figure]:
        raise RuntimeError("no kernel\nin any image")

    def broken(bench: Bench) -> Steps:
        yield "first", fails
        yield "second", lambda: iter([bounded_figure("second", 0.0)])
        raise StudioError("There is no third.")

    def sound(bench: Bench) -> Steps:
        yield "last", lambda: iter([bounded_figure("last", 0.0)])

    table = {"Wrong": wrong, "Broken": broken, "Sound": sound}
    monkeypatch.setattr(checks, "CHECKS", table)
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert (
        "FAILED  Wrong" in captured.out
        and "FAILED  a product, error: 0.5  (at most 0.1)" in captured.out
    )
    assert "FAILED  another, error: not a number" in captured.out
    assert "        speed: 3 GB/s\n" in captured.out
    assert (
        "FAILED  first: RuntimeError: no kernel\n" in captured.out
        and "in any image" in captured.out
    )
    assert "        second: 0  (at most 0)" in captured.out
    assert "FAILED  Broken: There is no third.\n" in captured.out
    assert "passed  Sound" in captured.out
    assert (
        captured.err.count("\n") == 1
        and "2 of 3 checks of “cpu” failed (Wrong, Broken)" in captured.err
    )


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_missing_device_is_refused_with_one_sentence(device, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert main(["doctor", "--device", device]) == 1
    captured = capsys.readouterr()
    assert (
        captured.out == ""
        and f"no device “{device}”" in captured.err
        and captured.err.count("\n") == 1
    )
    assert main(["doctor", "--device", "tpu"]) == 2


def test_answers_that_differ_in_more_than_numbers_are_infinitely_apart():
    answer = {"to": 1, "ranked": [{"label": "a", "probability": 0.5}], "milliseconds": 4.0}
    assert questions.max_difference(answer, answer | {"to": 2, "milliseconds": 9.0}) == 0
    near = answer | {"ranked": [{"label": "a", "probability": 0.25}]}
    assert questions.max_difference(answer, near) == 0.25
    for other in ([{"label": "b", "probability": 0.5}], [], [{"label": "a", "probability": None}]):
        assert questions.max_difference(answer, answer | {"ranked": other}) == float("inf")
    array = torch.tensor([1.0, float("nan")]).numpy()
    assert questions.max_difference({"": array}, {"": array + 0.5}) == 0.5
    assert questions.max_difference({"": array}, {"": array[:1]}) == float("inf")
