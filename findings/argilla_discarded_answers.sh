#!/usr/bin/env bash
# argilla 2.8.0: the JSON that Argilla writes does not say which answers were discarded.
#
# records.to_json keeps the value and the user of each response and drops its status. A draft and an
# answer that a person discarded look like a submitted one; only the flattened table, as in
# to_datasets, has a column with the status. Training on to_json learns answers that were withdrawn.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q argilla==2.8.0 requests==2.32.5
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
import uuid

import argilla
from argilla.records._io import GenericIO
from argilla.records._io._json import JsonIO

def response(value: str, status: str) -> argilla.Response:
    return argilla.Response("label", value, user_id=uuid.uuid4(), status=status)

answers = [response("good", "submitted"), response("bad", "discarded"), response("ugly", "draft")]
records = [argilla.Record(fields={"text": "a film"}, responses=answers)]
JsonIO.to_json(records, "records.json")  # what dataset.records.to_json(…) calls
written = json.load(open("records.json"))[0]["responses"]["label"]
flat = GenericIO.to_list(records, flatten=True)[0]
print("to_json:", [[answer["value"], *sorted(answer)] for answer in written])
print("flattened:", flat["label.responses"], flat["label.responses.status"])
assert all(sorted(answer) == ["user_id", "value"] for answer in written)
assert [answer["value"] for answer in written] == ["good", "bad", "ugly"]
assert flat["label.responses.status"] == ["submitted", "discarded", "draft"]
PYTHON
# Output seen:
# to_json: [['good', 'user_id', 'value'], ['bad', 'user_id', 'value'], ['ugly', 'user_id', 'value']]
# flattened: ['good', 'bad', 'ugly'] ['submitted', 'discarded', 'draft']
