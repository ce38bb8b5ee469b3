#!/usr/bin/env bash
# PySide6 6.10.1 (QPdfWriter), pypdf 6.4.0, Inter 4.1: a PDF has not the text that was printed.
#
# Qt writes glyphs, and for each glyph a character of the font that has it. A glyph that the font puts
# in place of another (dashes, brackets and colons next to digits and capitals) belongs to none, or to one
# of the private use area, so that it is lost when the page is searched or copied. `QFont.setFeature` with "calt" and "liga" at 0 keeps
# all characters. The glyph of the blank belongs to the tab, too, which comes first: all blanks are
# tabs for a program that reads the file.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q PySide6-Essentials==6.10.1 pypdf==6.4.0 fontpkg-inter==4.1.post1 2> /dev/null
cd "$folder"
export QT_QPA_PLATFORM=offscreen
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import sys

import pypdf
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication, QPainter, QPdfWriter

app = QGuiApplication([])
file = min(pathlib.Path(sys.prefix).rglob("fontpkg_inter/files/*.ttf"), key=lambda f: len(f.name))
family = QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(file)))[0]
TEXT = "[CLS] 2026-11-21 12:30 (London)"
read = {}
for name, features in (("as it is", ()), ("without features", ("calt", "liga"))):
    font = QFont(family, 12)
    for feature in features:
        font.setFeature(QFont.Tag(feature), 0)
    writer = QPdfWriter("out.pdf")
    painter = QPainter(writer)
    painter.setFont(font)
    painter.drawText(QPointF(500, 500), TEXT)
    painter.end()
    del writer
    read[name] = pypdf.PdfReader("out.pdf").pages[0].extract_text()
    print(name, repr(TEXT), "->", repr(read[name]))
assert read["without features"].replace("\t", " ") == TEXT and "\t" in read["without features"]
assert "2026-11" not in read["as it is"] and "]" not in read["as it is"]
PYTHON
# Output seen:
# as it is '[CLS] 2026-11-21 12:30 (London)' -> '\ue083CLS\ue084\t2026\ue08811\ue08821\t12\ue09230\t\ue081London\ue082'
# without features '[CLS] 2026-11-21 12:30 (London)' -> '[CLS]\t2026-11-21\t12:30\t(London)'
