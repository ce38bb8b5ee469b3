#!/usr/bin/env bash
# pandas 3.1.1, openpyxl 3.1.5, xlsxwriter 3.3.1, polars 2.1.0: texts that vanish in Excel.
#
# DataFrame.to_excel writes a text that begins with "=" as a formula, with either engine. Nothing has
# calculated it, so it is read back as NaN (openpyxl) or 0 (xlsxwriter); polars keeps it as text. A
# text that begins with a web address is a link for xlsxwriter, which both may use: above 2,079
# characters the cell stays empty, and only a warning says so.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pandas==3.1.1 openpyxl==3.1.5 xlsxwriter==3.3.1 polars==2.1.0
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import pandas as pd
import polars as pl

texts = ["=) what a film", "= a tie", "https://example.org " + "word " * 500, "the end"]
rows = {"text": texts, "label": list("abcd")}
seen = {}
for engine in ("openpyxl", "xlsxwriter"):
    pd.DataFrame(rows).to_excel(f"{engine}.xlsx", index=False, engine=engine)
    seen[engine] = pd.read_excel(f"{engine}.xlsx").text.tolist()
pl.DataFrame(rows).write_excel("polars.xlsx")
seen["polars"] = pd.read_excel("polars.xlsx").text.tolist()
for name, values in seen.items():
    print(f"{name}:", [str(value)[:14] for value in values])
assert [str(value) for value in seen["openpyxl"][:2]] == ["nan", "nan"]
assert seen["openpyxl"][2:] == texts[2:] and seen["xlsxwriter"][:2] == [0, 0]
assert seen["polars"][:2] == texts[:2]
assert str(seen["xlsxwriter"][2]) == str(seen["polars"][2]) == "nan"
PYTHON
# Output seen:
# openpyxl: ['nan', 'nan', 'https://exampl', 'the end']
# xlsxwriter: ['0', '0', 'nan', 'the end']
# polars: ['=) what a film', '= a tie', 'nan', 'the end']
