#!/usr/bin/env bash
# pandas 2.3.3, python-calamine 0.5.3, openpyxl 3.1.5, XlsxWriter 3.2.9: formulas that were never
# calculated are read as values.
#
# A program that writes a workbook does not calculate formulas; a spreadsheet program does so when it
# opens the file, and stores the values when it saves it. Before that, a column of labels such as
# =IF(B2>3,"good","bad") comes as empty cells (written by openpyxl) or as the number 0, not marked
# in any way (XlsxWriter), and so with both engines of pandas. #N/A is NaN with openpyxl, even with
# keep_default_na=False, and an empty text with calamine; a value shown as 50 % is 0.5 in both.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pandas==2.3.3 python-calamine==0.5.3 openpyxl==3.1.5 xlsxwriter==3.2.9 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import openpyxl
import pandas as pd
import xlsxwriter

formula = '=IF(A2>3,"good","bad")'
book = openpyxl.Workbook()
book.active.append(["stars", "label"])
book.active.append([5, formula])
book.save("openpyxl.xlsx")
with xlsxwriter.Workbook("xlsxwriter.xlsx") as other:
    sheet = other.add_worksheet()
    sheet.write_row(0, 0, ["stars", "label", "error", "share"])
    sheet.write(1, 0, 5)
    sheet.write_formula(1, 1, formula)
    sheet.write_formula(1, 2, "=NA()", None, "#N/A")
    sheet.write(1, 3, 0.5, other.add_format({"num_format": "0%"}))
seen = {}
for writer in ("openpyxl", "xlsxwriter"):
    for engine in ("openpyxl", "calamine"):
        row = pd.read_excel(f"{writer}.xlsx", engine=engine, keep_default_na=False).iloc[0].to_dict()
        print("written by", writer, "read with", engine, row)
        seen[writer, engine] = row
for engine in ("openpyxl", "calamine"):
    assert seen["openpyxl", engine]["label"] in ("", None) and seen["xlsxwriter", engine]["label"] == 0
    assert seen["xlsxwriter", engine]["share"] == 0.5
PYTHON
# Output seen:
# written by openpyxl read with openpyxl {'stars': 5, 'label': ''}
# written by openpyxl read with calamine {'stars': 5, 'label': ''}
# written by xlsxwriter read with openpyxl {'stars': 5.0, 'label': 0.0, 'error': nan, 'share': 0.5}
# written by xlsxwriter read with calamine {'stars': 5, 'label': 0, 'error': '', 'share': 0.5}
