"""Each kind of advice is given when it applies, and none for a good run."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.config.dataset import FileData, Reading, Split
from engine.config.dataset import Mapping as Columns
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.tasks import parse_task
from engine.config.training import TrainingSpec
from engine.data.checks.fixing import apply_fixes_by_name
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.messages.events import Ended, Event, Prepared, measured
from engine.runs.advice import RULES, Advice, Advisor, Measurements, advise

LAYER_WEIGHTS = 400_000  # two layers of 128
STEPS = 100


def job(kind: str = "text_classification", **training: Any) -> JobSpec:
    settings = {"learning_rate": 5e-4, "epochs": 4, "batch_size": 8} | training
    return JobSpec(
        name="films",
        task=parse_task(kind),
        base_model=FromCheckpoint(path=Path("little")),
        data=FileData(path=Path("films.csv")),
        training=TrainingSpec.model_validate(settings),
    )


def prepared(**fields: Any) -> Prepared:
    details = {
        "best_metric": "validation_accuracy",
        "majority": "positive",
        "majority_score": 0.6,
        "layer_weights": LAYER_WEIGHTS,
        "longest": 512,
    }
    return Prepared.model_validate(
        {"steps": STEPS, "parameters": 1, "examples": 200, "device": "cpu", "threads": 1}
        | details
        | fields
    )


def line(first: float, last: float) -> list[tuple[int, float]]:
    return [(s, first + (last - first) * s / STEPS) for s in range(1, STEPS + 1)]


def by_epoch(*values: float) -> list[tuple[int, float]]:
    return [(25 * number, value) for number, value in enumerate(values, start=1)]


FALLING, GOOD = line(0.7, 0.2), by_epoch(0.7, 0.75, 0.8, 0.82)
LOSSES = by_epoch(0.6, 0.5, 0.45, 0.44)


def measurements(
    spec: JobSpec | None = None,
    loss: Sequence[tuple[int, float]] = FALLING,
    losses: Sequence[tuple[int, float]] = LOSSES,
    scores: Sequence[tuple[int, float]] = GOOD,
    is_finished: bool = True,
    **fields: Any,
) -> Measurements:
    ready = prepared(**fields)
    curves = {"loss": loss, "validation_loss": losses, ready.best_metric: scores}
    return Measurements(spec or job(), ready, curves, is_finished)


MAJORITY = by_epoch(0.6, 0.6, 0.6, 0.605)
FLAT = line(0.69, 0.685)
TURNING = [(s, 0.2 + abs(s - 50) / 100) for s in range(1, STEPS + 1)]
RISING = by_epoch(0.5, 0.45, 0.6, 0.9)
FALLEN = by_epoch(0.7, 0.8, 0.76, 0.7)
SPANS = {"best_metric": "validation_f1", "majority": "O", "majority_score": 0.95}
CASES: dict[str, tuple[Measurements, str, Mapping[str, Any]]] = {
    "rate may be too high": (
        measurements(job(learning_rate=0.01), FLAT, scores=MAJORITY),
        (
            "Hardly anything is learned, and the learning rate 0.01 is 20 times the recommended "
            "one: it may be too high."
        ),
        {"learning_rate": 5e-4},
    ),
    "no better than always the same": (
        measurements(job(learning_rate=5e-5), scores=MAJORITY),
        "No better than the majority baseline, which always predicts “positive” (60.0 %).",
        {"learning_rate": 5e-4},
    ),
    "has hardly learned": (
        measurements(job(), line(0.69, 0.68), scores=by_epoch(0.62, 0.64, 0.65, 0.66)),
        "Hardly anything is learned: the training loss was 0.689 and is 0.681.",
        {"epochs": 8},
    ),
    "overfits": (
        measurements(losses=RISING, scores=FALLEN),
        "Probably overfits since epoch 2: the validation loss was 0.45 and is 0.9.",
        {"epochs": 2},
    ),
    "labels are missing in validation": (
        measurements(absent=("mixed", "none")),
        "The validation set has no row with “mixed”, “none”.",
        {},
    ),
    "most inputs are truncated": (
        measurements(job(max_length=64), truncated=0.8),
        "80 % of the training inputs are truncated to 64 tokens.",
        {"max_length": 128},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_applicable_advice_is_given_with_a_run_to_try_it(name):
    case, problem, change = CASES[name]
    (advice,) = advise(case)
    assert (advice.name, advice.problem, advice.change) == (name, problem, change)
    assert advice.advice.endswith(".")
    assert bool(advice.change) != bool(advice.fix), "a change or a fix"
    changed = advice.apply_to(case.job)
    assert changed.training == case.job.training.model_copy(update=dict(change))


def test_noise_of_a_loss_close_to_zero_is_no_rise():
    learned = [(s, max(0.9 - s / 40, 0.05) + (0.02 if s > 80 else 0)) for s in range(1, STEPS + 1)]
    assert advise(measurements(job(learning_rate=6e-4), learned)) == []


def test_advice_refers_to_an_existing_fix(tmp_path):
    rows = [f"film {n},{'mixed' if n % 9 else 'none'},train" for n in range(40)]
    rows += [f"play {n},mixed,validation" for n in range(5)]
    file = tmp_path / "films.csv"
    file.write_text("text,label,part\n" + "\n".join(rows) + "\n", encoding="utf-8")
    mapping, split = Columns(text="text", label="label"), Split(column="part")
    import_dataset(
        "films", {"all": file}, Reading(format="csv"), mapping, split, tmp_path / "films" / "1"
    )
    (advice,) = advise(measurements(absent=("none",)))
    assert advice.fix is not None
    into = tmp_path / "films" / "2"
    assert apply_fixes_by_name([advice.fix], tmp_path / "films" / "1", into, 2) is not None
    assert set(open_dataset(into).cells("validation")["label"]) == {"mixed", "none"}


TAGGING = job("token_classification", learning_rate=5e-5)
NEVER_FOUND = by_epoch(0.0, 0.0, 0.02, 0.05)
CHANGES: list[tuple[Measurements, Mapping[str, Any]]] = [
    (measurements(job(steps=STEPS), losses=RISING, scores=FALLEN), {"steps": 50}),
    (measurements(job(steps=STEPS), line(0.69, 0.68), scores=MAJORITY), {"steps": 2 * STEPS}),
    (measurements(job(epochs=6000), line(0.69, 0.68), scores=MAJORITY), {}),  # already the maximum
    (measurements(job(learning_rate=6e-4), TURNING), {"learning_rate": 2e-4}),
    (measurements(TAGGING, scores=NEVER_FOUND, **SPANS), {"learning_rate": 5e-4}),
    (
        measurements(job(learning_rate=1e-5), scores=MAJORITY, layer_weights=10**9),
        {"learning_rate": 3e-5},  # no network of this size was measured
    ),
]


@pytest.mark.parametrize("case, change", CHANGES)
def test_the_change_follows_from_settings_and_curves(case, change):
    assert [advice.change for advice in advise(case)] == [change]


def test_every_kind_of_advice_has_a_case():
    cases = {r: [name for name, (case, *_) in CASES.items() if r(case)] for r in RULES}
    assert all(cases.values()) and len(RULES) == len(CASES)


def test_a_good_run_gets_no_advice():
    assert advise(measurements()) == []
    assert advise(measurements(losses=RISING)) == [], "its score still rises"
    assert advise(measurements(scores=FALLEN)) == [], "its validation loss falls"


def test_learning_is_not_judged_before_a_third_of_the_steps():
    early = measurements(loss=FLAT[:30], losses=LOSSES[:1], scores=MAJORITY[:1], is_finished=False)
    assert advise(early) == []
    later = measurements(loss=FLAT[:50], losses=LOSSES[:2], scores=MAJORITY[:2], is_finished=False)
    assert [advice.name for advice in advise(later)] == ["no better than always the same"]


def test_advice_is_given_once_during_training_and_completely_at_the_end():
    spec = job(learning_rate=5e-5)
    advisor, updates = Advisor(spec), list[tuple[int, list[Advice]]]()
    advisor.on_event(prepared())
    for step in range(1, STEPS + 1):
        events: list[Event] = [measured("loss", step, 0.69)]
        if step % 25 == 0:
            events += [measured("validation_accuracy", step, 0.6)]
            events += [measured("validation_loss", step, 0.69)]
        for event in events:
            if advice := advisor.on_event(event):
                updates.append((step, advice))
    assert [(step, [advice.name for advice in advice]) for step, advice in updates] == [
        (51, ["no better than always the same"])
    ]
    assert [advice.name for advice in advisor.on_event(Ended(outcome="finished", step=STEPS))] == [
        "no better than always the same"
    ]
    assert Advisor(spec).on_event(Ended(outcome="finished")) == [], "it has measured nothing"


CAUSES = re.compile(r"\b(is|are) (?!.*may be)(too (high|low|few|small|large))")


def test_a_cause_is_given_as_a_guess_with_its_evidence():
    """The curves show what happened, not why: a small model and a high rate look alike."""
    diverged = measurements(job(learning_rate=6e-4), TURNING)
    (advice,) = advise(diverged)
    assert advice.problem == (
        "The training loss rises again, from 0.25 to 0.605: the learning rate 6e-4 may be too high."
    )
    for case, *_ in (*CASES.values(), (diverged,)):
        for item in advise(case):
            assert not CAUSES.search(item.problem), item.problem
            assert re.search(r"\d|“", item.problem), "no evidence"
