#!/usr/bin/env bash
# scikit-learn 1.7.2, NLTK 3.10.4, krippendorff 0.8.2: two coders who give one label to every row.
#
# They agree on all rows, and by chance they would as well, so kappa and alpha are 0/0. scikit-learn
# returns nan with a warning, NLTK says 1 for the same kappa and for alpha, and krippendorff refuses
# to compute alpha. A mean over labels or pairs of coders that takes such values unseen is too high
# with NLTK and nan with scikit-learn. Percent agreement is 1 in each.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q scikit-learn==1.7.2 nltk==3.10.4 krippendorff==0.8.2 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import math

import krippendorff
from nltk.metrics.agreement import AnnotationTask
from sklearn.metrics import cohen_kappa_score

coder = [0] * 5
task = AnnotationTask([(name, row, "yes") for name in ("Ann", "Ben") for row in range(5)])
ours = cohen_kappa_score(coder, coder)
print("kappa: scikit-learn", ours, "NLTK", task.kappa())
try:
    alpha = krippendorff.alpha([coder, coder], level_of_measurement="nominal")
except ValueError as error:
    alpha = f"refused: {error}"
print("alpha: krippendorff", alpha, "NLTK", task.alpha())
assert math.isnan(ours) and task.kappa() == 1 and task.alpha() == 1 and str(alpha).startswith("refused")
PYTHON
# Output seen:
# kappa: scikit-learn nan NLTK 1.0
# alpha: krippendorff refused: There has to be more than one value in the domain. NLTK 1
