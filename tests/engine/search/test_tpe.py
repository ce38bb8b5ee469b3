"""TPE needs no more trials than plain Optuna; importance finds the decisive field."""

import math
import statistics
from collections.abc import Callable

import optuna
import pytest

from engine.config.search import SearchField, SearchSpec
from engine.errors import StudioError
from engine.messages.searching import MeasureImportance, Suggest, Trial
from engine.search.importance import importance
from engine.search.study import distribution, to_value
from engine.search.tpe import suggest

Surface = Callable[[float, float], float]
SEEDS = (1, 3, 6)
MAX_TRIALS = 30  # trials
RATES = tuple(float(f"{rate}e-{power}") for power in (6, 5, 4, 3) for rate in (1, 2, 5))

LISTED = SearchSpec(
    fields=(
        SearchField(path="training.learning_rate", values=RATES),
        SearchField(path="training.batch_size", values=(4, 8, 16, 32, 64, 128)),
    ),
    method="tpe",
)
RANGED = SearchSpec(
    fields=(
        SearchField(path="training.learning_rate", low=1e-6, high=1e-2, log=True),
        SearchField(path="training.warmup_ratio", low=0.0, high=1.0),
    ),
    method="tpe",
)


def bowl(rate: float, other: float) -> float:
    """Best (0) at a rate of 5e-5 and a batch of 32, as is common in fine-tuning."""
    return -((math.log10(rate / 5e-5)) ** 2) - (math.log2(other / 32) / 3) ** 2


def valley(rate: float, other: float) -> float:
    """Best (0) at a rate of 1e-4 and a warm-up of 10 %."""
    return -((math.log10(rate / 1e-4)) ** 2) - 4 * (other - 0.1) ** 2


def our_trials(search: SearchSpec, surface: Surface, goal: float, seed: int) -> int:
    trials: list[Trial] = []
    while len(trials) < MAX_TRIALS:
        values = suggest(Suggest(search=search, trials=tuple(trials), seed=seed))
        assert values is not None and values not in [trial.values for trial in trials]
        score = surface(*values.values())  # type: ignore[arg-type]
        trials.append(Trial(values=values, state="finished", score=score))
        if score >= goal:
            break
    return len(trials)


def optuna_trials(search: SearchSpec, surface: Surface, goal: float, seed: int) -> int:
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for number in range(1, MAX_TRIALS + 1):
        trial = study.ask({field.path: distribution(field) for field in search.fields})
        score = surface(*(to_value(f, trial.params[f.path]) for f in search.fields))  # type: ignore[arg-type]
        study.tell(trial, score)
        if score >= goal:
            return number
    return MAX_TRIALS


@pytest.mark.parametrize(
    "search, surface, goal", [(LISTED, bowl, 0.0), (RANGED, valley, -0.05)], ids=["bowl", "valley"]
)
def test_tpe_needs_no_more_trials_than_plain_optuna(search, surface, goal):
    ours = [our_trials(search, surface, goal, seed) for seed in SEEDS]
    theirs = [optuna_trials(search, surface, goal, seed) for seed in SEEDS]
    assert statistics.mean(ours) <= statistics.mean(theirs), (ours, theirs)


def test_every_combination_is_tried_once():
    search = SearchSpec(
        fields=(
            SearchField(path="training.batch_size", values=(16, 32)),
            SearchField(path="hardware.device", values=("cpu", "cuda", "mps")),
        ),
        method="tpe",
    )
    trials: list[Trial] = []
    while (values := suggest(Suggest(search=search, trials=tuple(trials)))) is not None:
        state = ("finished", "pruned", "failed")[len(trials) % 3]
        trials.append(Trial(values=values, state=state, score=0.5, evaluations=(0.4, 0.5)))  # type: ignore[arg-type]
    assert len({str(trial.values) for trial in trials}) == len(trials) == 6


def test_the_field_that_decides_the_score_is_the_most_important():
    rates, sizes = (1e-5, 3e-5, 1e-4), (8, 16, 32)
    search = SearchSpec(
        fields=(
            SearchField(path="training.learning_rate", values=rates),
            SearchField(path="training.batch_size", values=sizes),
        )
    )
    trials = tuple(
        Trial(
            values={"training.learning_rate": rate, "training.batch_size": size},
            state="finished",
            score=0.8 + 0.1 * rates.index(rate) + 0.001 * sizes.index(size),
        )
        for rate in rates
        for size in sizes
    )
    result = importance(MeasureImportance(search=search, trials=trials))
    assert [field.path for field in result.fields] == [
        "training.learning_rate",
        "training.batch_size",
    ]
    first, second = result.fields
    assert first.share > 0.9 and second.share < 0.1
    assert first.low <= first.share + 0.1 and first.low > second.high
    assert result.explained > 0.5 and result.trials == 9
    flat = tuple(trial.model_copy(update={"score": 0.5}) for trial in trials)
    result = importance(MeasureImportance(search=search, trials=flat))
    assert [field.share for field in result.fields] == [0.0, 0.0] and result.explained == 0.0
    with pytest.raises(StudioError, match="needs 4 finished"):
        importance(MeasureImportance(search=search, trials=trials[:3]))
