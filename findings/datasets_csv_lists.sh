#!/usr/bin/env bash
# datasets 4.4.1, pandas 2.3.3, NumPy 2.3.5: lists in a CSV that `ast.literal_eval` reads wrongly.
#
# Dataset.to_csv writes the list of a cell as NumPy prints an array: blanks instead of commas. Of a
# list of texts, ast.literal_eval makes a list of ONE text without an error, because Python joins
# adjacent strings; of a list of numbers it raises. The same frame, written by pandas from Python
# lists, has commas. A list of more than 1,000 items is shortened with "..." in the file, for good.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q datasets==4.4.1 pandas==2.3.3 numpy==2.3.5
cd "$folder"
export HF_DATASETS_DISABLE_PROGRESS_BARS=1
"$folder/venv/bin/python" - <<'PYTHON'
import ast
import csv

import datasets
import pandas as pd

rows = {"words": [["New", "York"]], "tags": [[1, 2]], "long": [list(map(str, range(1001)))]}
datasets.Dataset.from_dict(rows).to_csv("datasets.csv")
pd.DataFrame(rows).to_csv("pandas.csv", index=False)
csv.field_size_limit(10**8)
by_datasets, by_pandas = ([*csv.DictReader(open(f"{name}.csv"))][0] for name in ("datasets", "pandas"))
print("datasets:", by_datasets["words"], by_datasets["tags"], "| pandas:", by_pandas["words"], by_pandas["tags"])
print("literal_eval:", ast.literal_eval(by_datasets["words"]), "of", rows["words"][0])
print("items of the long list that are left:", by_datasets["long"].count("'") // 2)
assert by_datasets["words"] == "['New' 'York']" and by_datasets["tags"] == "[1 2]"
assert by_pandas["words"] == "['New', 'York']" and by_pandas["tags"] == "[1, 2]"
assert ast.literal_eval(by_datasets["words"]) == ["NewYork"]
try:
    ast.literal_eval(by_datasets["tags"])
except SyntaxError:
    print("literal_eval of the numbers: SyntaxError")
else:
    raise SystemExit("the numbers are parsed now")
assert "..." in by_datasets["long"] and by_datasets["long"].count("'") // 2 == 6
PYTHON
# Output seen:
# datasets: ['New' 'York'] [1 2] | pandas: ['New', 'York'] [1, 2]
# literal_eval: ['NewYork'] of ['New', 'York']
# items of the long list that are left: 6
# literal_eval of the numbers: SyntaxError
