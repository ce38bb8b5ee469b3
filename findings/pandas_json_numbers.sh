#!/usr/bin/env bash
# pandas 2.3.3 and 3.1.1: quoted texts of JSON come back as numbers.
#
# pd.read_json makes numbers of texts that look like numbers, although JSON has quotes to keep them
# apart: ids lose leading zeros, "1e5" is 100000 and the labels "01" and "1" are one class, unless
# another text of the column is no number. dtype=False keeps them, and so does datasets 4.4.1.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
cd "$folder"
cat > read.py <<'PYTHON'
import pandas as pd

lines = ['{"text": "a", "label": "01", "id": "1e5"}', '{"text": "b", "label": "1", "id": "0xF"}']
open("a.jsonl", "w").write("\n".join(lines))
read, kept = pd.read_json("a.jsonl", lines=True), pd.read_json("a.jsonl", lines=True, dtype=False)
print(pd.__version__, "labels:", read.label.tolist(), "dtype=False:", kept.label.tolist())
assert read.label.tolist() == [1, 1] and kept.label.tolist() == ["01", "1"]
assert read.id.tolist() == ["1e5", "0xF"]  # one that is no number keeps the column
open("b.jsonl", "w").write("\n".join(lines[:1]))
read = pd.read_json("b.jsonl", lines=True)
print("id:", read.id.tolist())
assert read.id.tolist() == [100000.0]
PYTHON
for version in 2.3.3 3.1.1; do
  "$folder/venv/bin/pip" install -q "pandas==$version" && "$folder/venv/bin/python" read.py
done
"$folder/venv/bin/pip" install -q datasets==4.4.1
export HF_DATASETS_DISABLE_PROGRESS_BARS=1 HF_HOME="$folder/home"
"$folder/venv/bin/python" - <<'PYTHON'
import datasets

labels = datasets.load_dataset("json", data_files="a.jsonl", split="train")["label"][:]
print("datasets:", labels)
assert labels == ["01", "1"]
PYTHON
# Output seen:
# 2.3.3 labels: [1, 1] dtype=False: ['01', '1']
# id: [100000]
# 3.1.1 labels: [1, 1] dtype=False: ['01', '1']
# id: [100000.0]
# datasets: ['01', '1']
