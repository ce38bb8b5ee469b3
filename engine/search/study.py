"""The trials of a search as an Optuna study.

Studies are rebuilt from the runs instead of stored, so that a search resumes with its runs.
"""

import math
import warnings

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial
from pydantic import JsonValue

from engine.config.search import SearchField, SearchSpec
from engine.messages.searching import Trial

STATES = {"finished": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
MIN_ORDERED = 3  # numbers; fewer have no meaningful order

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


def study(
    higher_is_better: bool, sampler: optuna.samplers.BaseSampler | None = None
) -> optuna.Study:
    direction = StudyDirection.MAXIMIZE if higher_is_better else StudyDirection.MINIMIZE
    return optuna.create_study(direction=direction, sampler=sampler)


def outcome(trial: Trial) -> tuple[TrialState, float | None]:
    """The state of a trial, and its score if it counts.

    Pruned combinations count with their evaluations, failed ones do not.
    """
    state = STATES.get(trial.state, TrialState.FAIL)
    has_score = trial.score is not None and math.isfinite(trial.score)
    if state is TrialState.COMPLETE and not has_score:
        state = TrialState.FAIL
    return state, trial.score if state is TrialState.COMPLETE else None


def intermediate(trial: Trial) -> list[float]:
    """The scores at each evaluation, as Optuna stores them."""
    return [math.nan if score is None else score for score in trial.evaluations]


def to_optuna(search: SearchSpec, trial: Trial) -> FrozenTrial | None:
    """A trial for Optuna; None if its values belong to another search."""
    if not all(_is_among(field, trial.values) for field in search.varied):
        return None
    state, score = outcome(trial)
    return create_trial(
        state=state,
        value=score,
        params={f.path: to_parameter(f, trial.values[f.path]) for f in search.varied},
        distributions={f.path: distribution(f) for f in search.varied},
        intermediate_values=dict(enumerate(intermediate(trial))),
    )


def _is_among(field: SearchField, values: dict[str, JsonValue]) -> bool:
    value = values.get(field.path)
    if not field.is_range:
        return value in field.values
    low, high = _bounds(field)
    return isinstance(value, int | float) and low <= value <= high


def distribution(field: SearchField) -> BaseDistribution:
    """The distribution of a field: ordinal for a list of numbers, else categorical."""
    if field.is_range:
        low, high = _bounds(field)
        if field.whole:
            return IntDistribution(int(low), int(high), log=field.log)
        return FloatDistribution(low, high, log=field.log)
    if is_ordered(field):
        return IntDistribution(0, len(field.values) - 1)
    return CategoricalDistribution(tuple(range(len(field.values))))


def is_ordered(field: SearchField) -> bool:
    """True if the values are numbers, and enough of them to be ordered."""
    numbers = [v for v in field.values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(field.values) >= MIN_ORDERED


def _bounds(field: SearchField) -> tuple[float, float]:
    assert field.low is not None and field.high is not None, "validated with the job"
    return field.low, field.high


def _ordered_values(field: SearchField) -> list[JsonValue]:
    if not is_ordered(field):
        return list(field.values)
    return sorted(field.values, key=float)  # type: ignore[arg-type]


def to_parameter(field: SearchField, value: JsonValue) -> float:
    """A value of a field in Optuna's representation."""
    if field.is_range:
        assert isinstance(value, int | float)
        return value
    return _ordered_values(field).index(value)


def to_value(field: SearchField, draw: float) -> JsonValue:
    """The value for a number drawn by Optuna; for ranges, to three significant digits."""
    if not field.is_range:
        return _ordered_values(field)[int(draw)]
    if field.whole:
        return int(draw)
    low, high = _bounds(field)
    return min(max(float(f"{draw:.3g}"), low), high)
