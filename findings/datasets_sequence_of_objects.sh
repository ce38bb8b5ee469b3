#!/usr/bin/env bash
# datasets 5.2.0: a “Sequence” of objects is an object of lists, not a list of objects.
#
# A column of spans, each with a start and an end, whose feature in dataset_info.json is “Sequence”
# of an object, is read as one object with a list of starts and a list of ends, as in versions
# before 4, and rows that are lists of objects are refused with an AttributeError. A JSON list that
# holds the object means a list of objects in all versions.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q datasets==5.2.0 2> /dev/null
cd "$folder"
HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
from datasets import Dataset, Features

span = {"start": {"dtype": "int64", "_type": "Value"}}
named = Features.from_dict({"spans": {"feature": span, "_type": "Sequence"}})
listed = Features.from_dict({"spans": [span]})
print("Sequence:", named)
print("list:    ", listed)
rows = [{"spans": [{"start": 0}, {"start": 4}]}]
try:
    refused = Dataset.from_list(rows, features=named)[0]
except AttributeError as error:
    refused = f"refused: {error}"
print("rows as Sequence:", refused)
print("rows as list:    ", Dataset.from_list(rows, features=listed)[0])
assert str(refused).startswith("refused") and "{'start': List(" in str(named)
assert Dataset.from_list(rows, features=listed)[0] == rows[0]
PYTHON
# Output seen:
# Sequence: {'spans': {'start': List(Value('int64'))}}
# list:     {'spans': List({'start': Value('int64')})}
# rows as Sequence: refused: 'list' object has no attribute 'get'
# rows as list:     {'spans': [{'start': 0}, {'start': 4}]}
