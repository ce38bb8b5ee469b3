"""The next combination of a search, by the tree-structured Parzen estimator (Bergstra et al. 2011).

Optuna's TPESampler chooses with a fixed seed; earlier draws are replayed first. So a resumed search
continues as if it had not been interrupted, and no Optuna state is stored. Only combinations that
were tried, or are invalid for the job, are drawn again.
"""

import random
from itertools import product

import optuna
from optuna.trial import TrialState

from engine.config.search import MAX_COMBINATIONS, combinations
from engine.messages.searching import Suggest, Trial
from engine.runs.searching import Combination, is_possible
from engine.search.study import distribution, intermediate, outcome, study, to_optuna, to_value

OPTUNA = optuna.__version__
MAX_DRAWS = 20  # attempts, before an untried combination is chosen at random


def suggest(question: Suggest) -> Combination | None:
    """The values to try next, by path; None if every combination was tried."""
    sampler = _ReplayedStudy(question)
    for trial in question.trials:
        sampler.record(trial)
    drawn = sampler.draw()
    return drawn[1] if drawn is not None else _untried(question, sampler.tried)


class _ReplayedStudy:
    """An Optuna study to which a search is replayed."""

    def __init__(self, question: Suggest) -> None:
        self._question = question
        sampler = optuna.samplers.TPESampler(seed=question.seed % 2**32)
        self._study = study(question.higher_is_better, sampler)
        self._distributions = {f.path: distribution(f) for f in question.search.varied}
        self.tried: list[Combination] = []

    def draw(self) -> tuple[optuna.Trial, Combination] | None:
        """A new and valid combination; None after `MAX_DRAWS` attempts without one."""
        search = self._question.search
        if len(self.tried) >= combinations(search) < MAX_COMBINATIONS:
            return None
        for _ in range(MAX_DRAWS):
            drawn = self._study.ask(self._distributions)
            values = {f.path: to_value(f, drawn.params[f.path]) for f in search.varied}
            if values not in self.tried and _is_possible(self._question, values):
                return drawn, values
            self._study.tell(drawn, state=TrialState.FAIL)
        return None

    def record(self, trial: Trial) -> None:
        """Record the outcome of a combination, drawn here or not."""
        drawn, values = self.draw() or (None, {})
        self.tried.append(trial.values)
        if drawn is not None and values == trial.values:
            for step, value in enumerate(intermediate(trial)):
                drawn.report(value, step)
            state, score = outcome(trial)
            self._study.tell(drawn, score, state)
            return
        if drawn is not None:
            self._study.tell(drawn, state=TrialState.FAIL)
        if (other := to_optuna(self._question.search, trial)) is not None:
            self._study.add_trial(other)


def _is_possible(question: Suggest, values: Combination) -> bool:
    return question.job is None or is_possible(question.job, values)


def _untried(question: Suggest, tried: list[Combination]) -> Combination | None:
    fields = question.search.varied
    if any(field.is_range for field in fields):
        return None
    products = product(*(field.values for field in fields))
    paths = [field.path for field in fields]
    untried = [dict(zip(paths, values, strict=True)) for values in products]
    untried = [v for v in untried if v not in tried and _is_possible(question, v)]
    return random.Random(question.seed + len(tried)).choice(untried) if untried else None
