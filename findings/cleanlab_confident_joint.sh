#!/usr/bin/env bash
# cleanlab 2.9.0, NumPy 2.3.5: a row may count as a label whose threshold it does not reach.
#
# Confident learning (Northcutt et al. 2021, equation 1) counts a row as the most probable of the
# labels whose thresholds it reaches. cleanlab does so for a row that reaches one threshold. A row
# that reaches two counts as the most probable of ALL labels: row 0 below reaches those of its own
# label 0 and of label 1, and counts as label 2, with 0.44 under a threshold of 0.9. It becomes an
# error that the definition does not have. Rounding is allowed for: 1e-6 is taken off thresholds.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q cleanlab==2.9.0 numpy==2.3.5 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from cleanlab.count import compute_confident_joint, get_confident_thresholds
from cleanlab.filter import find_label_issues

p = np.array([[0.31, 0.25, 0.44], [0.5, 0.25, 0.25], [0.05, 0.05, 0.9]])
labels = np.array([0, 1, 2])
thresholds = get_confident_thresholds(labels, p)
reached = np.flatnonzero(p[0] >= thresholds).tolist()
joint = compute_confident_joint(labels, p, calibrate=False)
issues = find_label_issues(labels, p, filter_by="confident_learning", n_jobs=1)
print("thresholds", thresholds, "row 0 reaches", reached)
print("row 0 counts as label", joint[0].nonzero()[0].tolist(), "issues:", issues)
assert reached == [0, 1] and joint[0, 2] == 1 and issues[0]

# equal probabilities, whose mean is rounded up: compared exactly, no row reaches the threshold
found = []
for count in range(3, 60):
    p = np.tile([0.3, 0.7], (count, 1))
    labels = np.ones(count, int)
    labels[0] = 0
    is_exact = p[0, 1] >= get_confident_thresholds(labels, p)[1]
    issues = find_label_issues(labels, p, filter_by="confident_learning", n_jobs=1)
    found.append((bool(is_exact), bool(issues[0])))
exact, cleanlab = zip(*found)
print("of", len(found), "equal columns, found if compared exactly:", sum(exact), "by cleanlab:", sum(cleanlab))
assert all(cleanlab) and not all(exact)
PYTHON
# Output seen:
# thresholds [0.31 0.25 0.9 ] row 0 reaches [0, 1]
# row 0 counts as label [0, 2] issues: [ True  True False]
# of 57 equal columns, found if compared exactly: 42 by cleanlab: 57
