"""Searches: combinations, end, and pruning as in Optuna."""

import math
import random

import optuna
import pytest
from pydantic import JsonValue, ValidationError

from engine.config.job import JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.messages.events import Ended, Started, measured
from engine.runs.folder import RunFolder
from engine.runs.groups import expand, expand_combination, run_folder_name
from engine.runs.searching import (
    SearchRun,
    end_reason,
    first_combinations,
    get_values,
    is_by_search,
    list_trials,
    next_question,
    prune_handler,
    search_run,
    version_note,
)
from tests.engine.runs import fake_worker

RATES = SearchField(path="training.learning_rate", values=(1e-5, 3e-5))
SIZES = SearchField(path="training.batch_size", values=(16, 32))
SEEDS = SearchField(path="training.seed", values=(7, 9))
RANGE = SearchField(path="training.learning_rate", low=1e-5, high=1e-3, log=True)


def search_job(*fields: SearchField, **options: object) -> JobSpec:
    search = SearchSpec.model_validate({"fields": fields, **options})
    return JobSpec.model_validate(fake_worker.job().model_dump() | {"search": search})


def search_runs(
    jobs: tuple[JobSpec, ...], *scores: float | None, state: str = "finished"
) -> list[SearchRun]:
    pairs = zip(jobs, scores, strict=False)
    return [SearchRun(job, state, score, (score or 0.0,), 1800.0) for job, score in pairs]


def test_a_grid_has_every_combination_with_every_seed():
    jobs = expand(search_job(RATES, SIZES, SEEDS))
    combinations = [
        (j.training.learning_rate, j.training.batch_size, j.training.seed) for j in jobs
    ]
    assert combinations == [(r, b, s) for r in (1e-5, 3e-5) for b in (16, 32) for s in (7, 9)]
    assert len({job.name for job in jobs}) == len({run_folder_name(job, 1) for job in jobs}) == 8
    assert jobs[0].name == "short · Learning rate 1e-5 · Batch size 16 · seed 7"
    groups = [job.group for job in jobs if job.group is not None]
    assert len({group.id for group in groups}) == 1 and groups[0].runs == 8
    assert [group.setting for group in groups] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all(job.search is None and expand(job) == (job,) for job in jobs)
    assert len(expand(search_job(RATES, SIZES, budget=3))) == 3


def test_sections_of_a_job_can_be_values():
    models: tuple[JsonValue, ...] = tuple(
        {"kind": "checkpoint", "path": f"/models/{name}"} for name in ("small", "large")
    )
    jobs = expand(search_job(SearchField(path="base_model", values=models)))
    assert [job.name for job in jobs] == ["short · small", "short · large"]
    group = jobs[1].group
    assert group is not None and group.search is not None
    assert get_values(jobs[1], group.search) == {"base_model": models[1]}


def test_combinations_that_break_a_rule_are_left_out():
    processes = SearchField(path="hardware.processes", values=(1, 2))
    sizes = SearchField(path="training.batch_size", values=(1, 2))
    assert len(first_combinations(search_job(sizes, processes))) == 3, (
        "2 processes need a batch of 2"
    )


@pytest.mark.parametrize("field", [RANGE, RATES], ids=["range", "values"])
def test_random_combinations_are_distinct_and_reproducible(field):
    job = search_job(field, SIZES, method="random", budget=4)
    result = first_combinations(job)
    assert result == first_combinations(job) and len({str(item) for item in result}) == 4
    if field is RANGE:
        assert all(1e-5 <= float(str(item[RANGE.path])) <= 1e-3 for item in result)


@pytest.mark.parametrize(
    "fields, options, message",
    [
        ((SearchField(path="training.speed", values=(1, 2)),), {}, "no field “training.speed”"),
        ((SearchField(path="name", values=("a", "b")),), {}, "no field “name”"),
        ((RATES, RATES), {}, "is listed twice"),
        ((SearchField(path="training.batch_size", values=(16, -1)),), {}, "must be at least 1"),
        ((SearchField(path="training.batch_size", values=(16, 16)),), {}, "the same value twice"),
        ((SearchField(path="training.seeds", values=(1, 2)),), {}, "values to training.seed,"),
        ((RANGE,), {}, "a range is for random and tpe"),
        ((SearchField(path="training.epochs", low=3, high=1),), {"method": "tpe"}, "from low to"),
        ((SearchField(path="training.epochs"),), {}, "needs values, or a range"),
        (
            (SearchField(path="features.vectors", values=("last", "layer sweep")),),
            {},
            "layer sweep cannot",
        ),
    ],
)
def test_impossible_values_are_refused_with_their_field(fields, options, message):
    with pytest.raises(ValidationError, match=message):
        search_job(*fields, **options)


def test_tpe_requests_one_combination_after_another_within_its_budget():
    job = search_job(RATES, SIZES, method="tpe", budget=3)
    jobs = expand(job)
    assert len(jobs) == 1, "the others follow from its score"
    for state in ("queued", "running", "on hold", "stopped"):
        assert next_question(search_runs(jobs, None, state=state), True) is None
    question = next_question(search_runs(jobs, 0.8), True)
    assert question is not None and question.trials[0].score == 0.8
    group = jobs[0].group
    assert group is not None
    for number in (1, 2):
        values = {RATES.path: 3e-5, SIZES.path: (16, 32)[number - 1]}
        jobs += expand_combination(jobs[0], group, number, values)
    assert jobs[2].training.batch_size == 32 and jobs[2].group is not None
    assert next_question(search_runs(jobs, 0.8, 0.7, 0.9), True) is None
    assert next_question(search_runs(jobs[:2], 0.8, 0.7), True) is not None


def test_a_search_says_that_it_continues_under_another_optuna():
    jobs = expand(search_job(RATES, SIZES, method="tpe"))
    group, values = jobs[0].group, {RATES.path: 3e-5, SIZES.path: 16}
    assert group is not None and group.optuna == "", "the first combination is drawn without it"
    assert version_note(search_runs(jobs, 0.8), "5.0.0") is None
    later = group.model_copy(update={"optuna": "4.5.0"})
    runs = search_runs((*jobs, *expand_combination(jobs[0], later, 1, values)), 0.8, 0.7)
    assert version_note(runs, "4.5.0") is None
    note = str(version_note(runs, "5.0.0"))
    assert "was under Optuna 4.5.0 and continues under 5.0.0" in note


def test_a_search_ends_by_time_by_patience_and_by_failures():
    grid = expand(search_job(RATES, SIZES, hours=1))
    assert end_reason(search_runs(grid, 0.5), True) is None
    assert "1 hours" in str(end_reason(search_runs(grid, 0.5, 0.6), True))
    patient = expand(search_job(RATES, SIZES, stop_after=2))
    assert end_reason(search_runs(patient, 0.5, 0.6, 0.4), True) is None
    assert "were not better" in str(end_reason(search_runs(patient, 0.6, 0.5, 0.4), True))
    assert end_reason(search_runs(patient, 0.6, 0.5, 0.4), False) is None, "lower is better"
    jobs = expand(search_job(RATES, SIZES, method="tpe"))
    group = jobs[0].group
    assert group is not None
    for number, size in ((1, 16), (2, 32)):
        jobs += expand_combination(jobs[0], group, number, {RATES.path: 3e-5, SIZES.path: size})
    assert "failed" in str(end_reason(search_runs(jobs, None, None, None, state="crashed"), True))


def test_the_seeds_of_a_combination_are_averaged_in_one_trial():
    runs = search_runs(expand(search_job(RATES, SEEDS)), 0.5, 0.7, 0.9)
    first, second = list_trials(runs)
    assert (first.state, first.score) == ("finished", pytest.approx(0.6))
    assert second.score == 0.9 and second.values == {RATES.path: 3e-5}


@pytest.mark.filterwarnings("ignore:All-NaN slice")
@pytest.mark.parametrize("higher", [True, False])
def test_pruning_decides_as_the_median_pruner_of_optuna(higher, tmp_path):
    """In studies with pruned, failed and crashed runs, and with scores that are NaN."""
    rng = random.Random(3)
    job = expand(search_job(RATES, SIZES, prune=True))[0]
    prepared = fake_worker.prepared(4, best_metric="f1", higher_is_better=higher)
    outcomes = {"finished": "COMPLETE", "stopped": "PRUNED", "failed": "FAIL", "crashed": "FAIL"}

    def curve() -> list[float]:
        return [rng.choice([0.125, 0.25, 0.5, math.nan]) for _ in range(rng.randint(1, 4))]

    decisions = []
    for number in range(60):
        study = optuna.create_study(direction="maximize" if higher else "minimize")
        study.pruner = optuna.pruners.MedianPruner()
        others = []
        for state in rng.choices([*outcomes], (4, 1, 1, 1), k=rng.randint(4, 12)):
            scores = curve()
            study.add_trial(
                optuna.trial.create_trial(
                    state=optuna.trial.TrialState[outcomes[state]],
                    value=1.0 if state == "finished" else None,
                    intermediate_values=dict(enumerate(scores)),
                )
            )
            stored = tuple(measured("f1", 1, score).value for score in scores)
            others.append(SearchRun(job, state, None, stored, by_search=state == "stopped"))
        run = RunFolder.create(tmp_path / str(number), job)
        trial, on_event = study.ask(), prune_handler(run, others)
        on_event(prepared)
        for step, score in enumerate(curve()):
            trial.report(score, step)
            on_event(measured("f1", step, score))
            assert run.stop_requested() == trial.should_prune(), (others, trial)
            decisions.append(run.stop_requested())
            if run.stop_requested():
                break
    assert 0.1 < sum(decisions) / len(decisions) < 0.9


def test_a_poor_run_is_pruned_with_a_reason_and_a_good_one_continues(tmp_path):
    jobs = expand(search_job(RATES, SIZES, method="random", budget=4, prune=True))
    others = [SearchRun(jobs[1], "finished", 0.8, (0.6, 0.8))] * 5
    for name, value, stops in (("poor", 0.5, True), ("good", 0.7, False)):
        run = RunFolder.create(tmp_path / name, jobs[0])
        on_event = prune_handler(run, others)
        for event in (
            Started(pid=1),
            fake_worker.prepared(4, best_metric="validation_accuracy"),
            measured("validation_loss", 2, 9.0),
            measured("validation_accuracy", 2, value),
        ):
            run.append(event)
            on_event(event)
        assert run.stop_requested() == stops
        run.append(Ended(outcome="stopped", step=2, problem=run.stop_reason()))
        record, higher = search_run(run)
        assert higher and record.score == value and record.has_ended == record.is_pruned == stops
    reason = RunFolder(tmp_path / "poor").stop_reason()
    assert reason == (
        "Pruned at step 2: its best score of 0.5 is worse than 0.6, the median of the other runs "
        "at this evaluation."
    )
    assert is_by_search(reason) and not is_by_search("")
