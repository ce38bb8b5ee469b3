"""Importance of searched fields by fANOVA (Hutter et al. 2014), with its uncertainty.

The uncertainty is the range over bootstrap resamples of the trials, and the leave-one-out R² of a
forest.
"""

import numpy as np
from optuna.importance import FanovaImportanceEvaluator, get_param_importances
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from engine.config.search import SearchSpec
from engine.errors import StudioError
from engine.messages.searching import FieldImportance, ImportanceMeasured, MeasureImportance, Trial
from engine.search.study import study, to_optuna, to_parameter

MIN_TRIALS = 4  # finished combinations
RESAMPLES, TREES = 12, 32
PERCENTILES = (5, 95)


def importance(question: MeasureImportance) -> ImportanceMeasured:
    """The importance of each field, the largest first. Raises StudioError for too few trials."""
    search = question.search
    trials = [t for t in question.trials if t.state == "finished" and t.score is not None]
    if len(trials) < MIN_TRIALS:
        raise StudioError(
            "The importance of the fields needs {n} finished combinations.",
            "Wait until more runs have finished.",
            n=MIN_TRIALS,
        )
    fractions = _fractions(search, trials, 0)
    rng = np.random.default_rng(0)
    samples = [
        _fractions(search, [trials[i] for i in rng.integers(0, len(trials), len(trials))], seed)
        for seed in range(RESAMPLES)
    ]
    fields = [
        FieldImportance(path=path, share=mean, low=float(low), high=float(high))
        for path, mean in fractions.items()
        for low, high in [np.percentile([sample[path] for sample in samples], PERCENTILES)]
    ]
    fields.sort(key=lambda field: -field.share)
    return ImportanceMeasured(
        fields=tuple(fields), trials=len(trials), explained=_explained(search, trials)
    )


def _fractions(search: SearchSpec, trials: list[Trial], seed: int) -> dict[str, float]:
    """The fraction of each field in the explained variance; 0 for none."""
    paths = [field.path for field in search.varied]
    if len({trial.score for trial in trials}) < 2:
        return dict.fromkeys(paths, 0.0)
    evaluator = FanovaImportanceEvaluator(n_trees=TREES, seed=seed)
    optuna_study = study(higher_is_better=True)
    optuna_study.add_trials(
        [frozen for trial in trials if (frozen := to_optuna(search, trial)) is not None]
    )
    fractions = get_param_importances(optuna_study, evaluator=evaluator, params=paths)
    return {path: float(fractions.get(path, 0.0)) for path in paths}


def _explained(search: SearchSpec, trials: list[Trial]) -> float:
    """Leave-one-out R² of a forest."""
    inputs = np.array([[to_parameter(f, t.values[f.path]) for f in search.varied] for t in trials])
    scores = np.array([trial.score for trial in trials])
    if len(set(scores.tolist())) < 2:
        return 0.0
    forest = RandomForestRegressor(TREES, random_state=0)
    return float(r2_score(scores, cross_val_predict(forest, inputs, scores, cv=LeaveOneOut())))
