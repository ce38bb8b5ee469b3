#!/usr/bin/env bash
# label-studio-sdk 2.1.2: its converter widens spans to whole words, silently, in CoNLL.
#
# Tokens are parted at blanks and some punctuation. A span that ends within one takes all of it:
# "New York" of "New York-based" becomes New York-based, and in a language without blanks the whole
# sentence is the entity. The form “JSON” is no list of tasks for a folder, but a list with a list
# for each file, and “TSV” writes result.csv.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q label-studio-sdk==2.1.2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
from pathlib import Path

from label_studio_sdk.converter import Converter

control = '<Labels name="l" toName="text"><Label value="LOC"/></Labels>'
config = f'<View><Text name="text" value="$text"/>{control}</View>'

def convert(text: str, place: str, form: str) -> Path:
    source, target = Path(f"{form} {place} in"), Path(f"{form} {place} out")
    source.mkdir(), target.mkdir()
    start = text.index(place)
    span = {"start": start, "end": start + len(place), "text": place, "labels": ["LOC"]}
    result = {"from_name": "l", "to_name": "text", "type": "labels", "value": span}
    task = {"id": 1, "data": {"text": text}, "annotations": [{"id": 1, "result": [result]}]}
    (source / "tasks.json").write_text(json.dumps([task]))
    Converter(config, ".", download_resources=False).convert(str(source), str(target), form)
    return next(path for path in target.iterdir() if path.is_file())

def tagged(text: str, place: str) -> list[str]:
    lines = convert(text, place, "CONLL2003").read_text("utf-8").splitlines()
    return [line.split()[0] for line in lines if line.endswith("-LOC")]

english, japanese = tagged("He is New York-based.", "New York"), tagged("東京に住む。", "東京")
print("“New York” is", english, "| “東京” is", japanese)
tasks = json.loads(convert("In Rome", "Rome", "JSON").read_text())
name = convert("In Rome", "Rome", "TSV").name
print("JSON:", type(tasks).__name__, "of", type(tasks[0]).__name__, "| TSV:", name)
assert english == ["New", "York-based"] and japanese == ["東京に住む。"]
assert isinstance(tasks[0], list) and name == "result.csv"
PYTHON
# Output seen:
# “New York” is ['New', 'York-based'] | “東京” is ['東京に住む。']
# JSON: list of list | TSV: result.csv
