#!/usr/bin/env bash
# NLTK 3.9.1 and 3.10.4: the MASI distance of two label sets differs between the versions.
#
# MASI (Passonneau 2006) multiplies the Jaccard index by 1 for equal sets, 2/3 if one contains the
# other and 1/3 for other overlaps. NLTK up to 3.9 has 0.67 and 0.33, NLTK 3.10 has 2/3 and 1/3. So
# Krippendorff's alpha of the same codes differs in the third digit, and a published value can be
# repeated to more digits only with the version it was made with.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 3.9.1 3.10.4; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q "nltk==$version" 2> /dev/null
done
cat > "$folder/masi.py" <<'PYTHON'
from nltk.metrics import masi_distance
from nltk.metrics.agreement import AnnotationTask

ann = [{"joy"}, {"joy", "love"}, {"fear"}, {"fear", "anger"}, {"joy", "fear"}]
ben = [{"joy"}, {"joy"}, {"fear"}, {"anger", "love"}, {"joy"}]
codes = [(c, r, frozenset(s)) for c, sets in (("Ann", ann), ("Ben", ben)) for r, s in enumerate(sets)]
subset = masi_distance({1, 2}, {1, 2, 3, 4})  # 1 - 2/4 * weight
print(f"weight of a subset {2 * (1 - subset):.6f}, alpha {AnnotationTask(codes, masi_distance).alpha():.6f}")
PYTHON
cd "$folder"
old=$("$folder/3.9.1/bin/python" masi.py)
new=$("$folder/3.10.4/bin/python" masi.py)
echo "3.9.1:  $old"
echo "3.10.4: $new"
[[ $old == "weight of a subset 0.670000"* && $new == "weight of a subset 0.666667"* ]]
# Output seen:
# 3.9.1:  weight of a subset 0.670000, alpha 0.404293
# 3.10.4: weight of a subset 0.666667, alpha 0.403974
