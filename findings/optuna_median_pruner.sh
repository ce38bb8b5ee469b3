#!/usr/bin/env bash
# Optuna 4.5.0 and 5.0.0: MedianPruner compares two different things, and prunes NaN.
#
# A trial is judged by its BEST value so far, but the median is that of the others' values AT the
# step, not of their best so far. A trial that has collapsed is therefore kept for good if its first
# value was high. Only complete trials count: pruned ones change no median, unlike in a hand-written
# rule "below the median of the others". A trial that has reported nothing but NaN is pruned, but
# only once five trials are complete, and NaN of the others is left out of the median.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > show.py <<'PYTHON'
import math
import warnings

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")
State = optuna.trial.TrialState


def is_pruned(values, others, state=State.COMPLETE):
    study = optuna.create_study(direction="maximize", pruner=optuna.pruners.MedianPruner())
    for other in others:
        value = 1.0 if state == State.COMPLETE else None
        trial = optuna.trial.create_trial(
            state=state, value=value, intermediate_values=dict(enumerate(other))
        )
        study.add_trial(trial)
    trial = study.ask()
    for step, value in enumerate(values):
        trial.report(value, step)
    return trial.should_prune()


results = {
    "collapsed after a good first value": is_pruned([0.9, 0.0, 0.0], [[0.5, 0.8, 0.8]] * 5),
    "worse than the others' best, not than their last": is_pruned([0.3, 0.3], [[0.9, 0.2]] * 5),
    "NaN alone": is_pruned([math.nan], [[0.5]] * 5),
    "NaN alone, four complete": is_pruned([math.nan], [[0.5]] * 4),
    "below five pruned trials": is_pruned([0.1], [[0.5]] * 5, State.PRUNED),
    "below three of five, two are NaN": is_pruned([0.4], [[0.5]] * 3 + [[math.nan]] * 2),
}
for name, result in results.items():
    print(optuna.__version__, name, "->", "pruned" if result else "kept")
assert list(results.values()) == [False, False, True, False, False, True]
PYTHON
for version in 4.5.0 5.0.0; do
    python3 -m venv "venv-$version"
    "venv-$version/bin/pip" install -q "optuna==$version" 2> /dev/null
    "venv-$version/bin/python" show.py
done
# Output seen:
# 4.5.0 collapsed after a good first value -> kept
# 4.5.0 worse than the others' best, not than their last -> kept
# 4.5.0 NaN alone -> pruned
# 4.5.0 NaN alone, four complete -> kept
# 4.5.0 below five pruned trials -> kept
# 4.5.0 below three of five, two are NaN -> pruned
# 5.0.0 collapsed after a good first value -> kept
# 5.0.0 worse than the others' best, not than their last -> kept
# 5.0.0 NaN alone -> pruned
# 5.0.0 NaN alone, four complete -> kept
# 5.0.0 below five pruned trials -> kept
# 5.0.0 below three of five, two are NaN -> pruned
