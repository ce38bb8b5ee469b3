#!/usr/bin/env bash
# ppi-python 0.2.3: intervals of small samples are far too narrow, and 90 % ones by default.
#
# `ppi_mean_ci` has alpha=0.1. It takes the quantile of the normal distribution and variances by n.
# Of a proportion of 0.1 with 50 labelled rows and a classifier that is right in 85 %, the 95 %
# interval covers the truth in about 90 % of samples, and of 0.3 with 10 rows in about 75 %. One
# labelled row has the interval (nan, nan), without a warning that says why.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ppi-python==0.2.3
"$folder/venv/bin/python" - <<'PYTHON'
import inspect

import numpy as np
from ppi_py import ppi_mean_ci

def covers(truth: float, labelled: int) -> float:
    hits = 0
    for seed in range(2_000):
        random = np.random.default_rng(seed)
        y = random.random(1_000) < truth
        f = np.where(random.random(1_000) < 0.85, y, ~y).astype(float)
        y = y.astype(float)
        low, high = ppi_mean_ci(y[:labelled], f[:labelled], f[labelled:], alpha=0.05)
        hits += low[0] <= truth <= high[0]
    return float(hits / 2_000)

alpha = inspect.signature(ppi_mean_ci).parameters["alpha"].default
one = np.ones(1)
low, high = ppi_mean_ci(one, one, np.ones(99))
rates = {(p, n): covers(p, n) for p, n in ((0.3, 10), (0.1, 50), (0.3, 200))}
print("alpha:", alpha, "| one row:", (float(low[0]), float(high[0])), "| coverage:", rates)
assert alpha == 0.1 and np.isnan([low[0], high[0]]).all()
assert rates[0.3, 10] < 0.8 and rates[0.1, 50] < 0.92 and rates[0.3, 200] > 0.93
PYTHON
# Output seen:
# alpha: 0.1 | one row: (nan, nan) | coverage: {(0.3, 10): 0.7455, (0.1, 50): 0.8955, (0.3, 200): 0.9425}
