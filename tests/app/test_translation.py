"""Translated texts: English plurals, and languages added by a file."""

import ast
import re
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QObject

from app import translation
from app.translation import Language, Translator, entries, in_language, tr, translated
from engine.phrases import phrase
from tools import texts

POLISH = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" sourcelanguage="en" language="pl"><context><name>app</name>
<message><source>Runs</source><translation>Przebiegi</translation></message>
<message><source>Open</source><comment>state</comment><translation>Otwarty</translation></message>
<message numerus="yes"><source>%n run(s)</source><translation><numerusform>%n bieg</numerusform>
<numerusform>%n biegi</numerusform><numerusform>%n biegów</numerusform></translation></message>
<message numerus="yes"><source>{n} row(s) of {name}</source><translation>
<numerusform>{name}: {n} wiersz</numerusform><numerusform>{name}: {n} wiersze</numerusform>
<numerusform>{name}: {n} wierszy</numerusform></translation></message>
<message><source>Data</source><translation type="unfinished"></translation></message>
</context></TS>
"""


def polish_form(n: int) -> int:
    return 0 if n == 1 else 1 if n % 10 in (2, 3, 4) and n % 100 not in (12, 13, 14) else 2


POLISH_LANGUAGE = Language("pl", "Polski", polish_form, forms=3)


@pytest.fixture
def polish(qapp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Polish, added by a file and an entry of LANGUAGES."""
    (tmp_path / "translations").mkdir()
    (tmp_path / "translations" / "pl.ts").write_text(POLISH, encoding="utf-8")
    monkeypatch.setattr(translation, "resources", lambda: tmp_path)
    monkeypatch.setattr(translation, "LANGUAGES", (*translation.LANGUAGES, POLISH_LANGUAGE))
    translator = Translator(translation.find_language("pl"))
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)


def test_english_plurals_follow_the_number(qapp):
    english = Translator()
    qapp.installTranslator(english)
    try:
        translatable = QObject()
        assert translatable.tr("%n run(s) of %n class(es)", "", 1) == "1 run of 1 class"
        assert translatable.tr("%n run(s) of %n class(es)", "", 2) == "2 runs of 2 classes"
        assert translatable.tr("%n run(s)", "", 0) == "0 runs"
        assert translatable.tr("no number (s)") == "no number (s)"
        translate = QCoreApplication.translate
        assert translate("numbers", "%n minute(s) ago", "", 5) == "5 minutes ago"
    finally:
        qapp.removeTranslator(english)


def test_a_language_is_added_by_a_file_and_an_entry(polish):
    assert QObject().tr("Runs") == in_language("Runs") == "Przebiegi"
    assert tr("Open", comment="state") == "Otwarty" and tr("Open") == "Open"
    assert [tr("%n run(s)", n) for n in (1, 3, 5)] == ["1 bieg", "3 biegi", "5 biegów"]
    assert tr("Data") == "Data", "untranslated texts stay English"
    assert tr("%n step(s)", 1) == "1 step"
    assert translated(phrase("{n} row(s) of {name}", n=3, name="a.csv")) == "a.csv: 3 wiersze"
    assert translated(phrase("{n} cell(s)", n=1)) == "1 cell"
    assert translated("Runs") == "Runs", "plain text, such as a name, is unchanged"
    assert translation.find_language("pl").name == "Polski"
    assert translation.find_language("tlh").code == "en"


def test_updating_a_file_keeps_its_translations(tmp_path):
    file = tmp_path / "pl.ts"
    file.write_text(POLISH, encoding="utf-8")
    found = [texts.SourceText("app", text) for text in ("Runs", "%n run(s)", "New")]
    file.write_bytes(texts.render(POLISH_LANGUAGE, found, file))
    translations = dict(entries(file))
    assert translations["Runs", ""] == ("Przebiegi",)
    assert translations["%n run(s)", ""] == ("%n bieg", "%n biegi", "%n biegów")
    assert translations["New", ""] == ("",)
    assert b"vanished" in file.read_bytes() and translations["Open", "state"] == ("Otwarty",)


SETTERS = {
    *("setText", "setWindowTitle", "setToolTip", "setPlaceholderText", "setAccessibleName"),
    *("setAccessibleDescription", "setTitle", "setSuffix", "setPrefix", "setSpecialValueText"),
    *("addTab", "addAction", "Text", "OneLine", "QLabel", "QPushButton", "QCheckBox", "Switch"),
    *("plain", "quiet", "primary", "tooltip"),
}
NAMES = {"BERT Studio", "HF_TOKEN"}  # the same in every language
KEYS = {"Title", "Description"}  # of picture metadata


def test_widgets_show_no_untranslated_literals():
    """Finds English words in literals passed to widgets without `tr`."""
    literals = []
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(SETTERS))})\(\s*f?[\"']")
    for file in sorted((texts.ROOT / "app").rglob("*.py")):
        source = file.read_text("utf-8")
        for call in ast.walk(ast.parse(source)) if pattern.search(source) else ():
            if not isinstance(call, ast.Call) or not call.args:
                continue
            function = call.func
            name = function.attr if isinstance(function, ast.Attribute) else None
            if (name or getattr(function, "id", None)) not in SETTERS:
                continue
            text = call.args[0]
            parts = text.values if isinstance(text, ast.JoinedStr) else [text]
            for part in parts:
                literal = part.value if isinstance(part, ast.Constant) else ""
                is_word = isinstance(literal, str) and re.search(r"[A-Za-z]{3}", literal)
                if is_word and not literal.startswith("%(") and literal not in NAMES | KEYS:
                    literals.append(f"{file}:{call.lineno}: {literal!r}")
    assert not literals, "\n".join(literals)
