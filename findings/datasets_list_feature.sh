#!/usr/bin/env bash
# datasets 5.2.0: a folder of save_to_disk with a column of lists cannot be opened by datasets 3.
#
# The feature is named “List” since version 4, and version 3.6.0 refuses the whole data set with
# “Feature type 'List' not found”, not only the column. Version 5 still reads the old name
# “Sequence”, so a writer that means all versions keeps the old one: in dataset_info.json and in the
# metadata of the Arrow file, which counts as well.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 3.6.0 5.2.0; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install -q "datasets==$version"
done
cd "$folder"
"$folder/5.2.0/bin/python" - <<'PYTHON'
import shutil
from pathlib import Path

import datasets
import pyarrow as pa

datasets.Dataset.from_dict({"words": [["a", "b"]], "n": [1]}).save_to_disk("new")
datasets.Dataset.from_dict({"words": [["a", "b"]], "n": [1]}).save_to_disk("old")
info, rows = Path("old/dataset_info.json"), "old/data-00000-of-00001.arrow"
info.write_text(info.read_text().replace('"List"', '"Sequence"'))
half = "old, but for its metadata"
shutil.copytree("old", half)
with pa.ipc.open_stream(Path(rows).read_bytes()) as stream:
    table = stream.read_all()
metadata = {key: value.replace(b'"List"', b'"Sequence"') for key, value in table.schema.metadata.items()}
with pa.ipc.new_stream(rows, table.schema.with_metadata(metadata)) as out:
    out.write_table(table.replace_schema_metadata(metadata))
print(datasets.__version__, "| old name:", datasets.load_from_disk("old")[0])
PYTHON
"$folder/3.6.0/bin/python" - <<'PYTHON'
import datasets

problems = []
for name in ("new", "old, but for its metadata"):
    try:
        datasets.load_from_disk(name)
    except ValueError as error:
        problems.append(str(error).partition(".")[0])
print(datasets.__version__, "| old name:", datasets.load_from_disk("old")[0], "| others:", problems)
assert len(problems) == 2 and datasets.load_from_disk("old")[0]["words"] == ["a", "b"]
PYTHON
# Output seen:
# 5.2.0 | old name: {'words': ['a', 'b'], 'n': 1}
# 3.6.0 | old name: {'words': ['a', 'b'], 'n': 1} | others: ["Feature type 'List' not found", "Feature type 'List' not found"]
