"""Known files without a table of texts are refused by their name."""

import json
from pathlib import Path

import pytest

from engine.data.formats.archives import SETTINGS
from engine.data.formats.reading import recognise
from engine.data.formats.sources import is_data_file
from engine.data.formats.unread import UNREAD
from engine.errors import BadFile

XML = '<?xml version="1.0"?>\n'
EXAMPLES: dict[str, list[tuple[str, str | bytes]]] = {
    "a settings file of a program or a model": [
        *((name, '{\n "a": 1\n}') for name in SETTINGS),
        ("a.json", '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'),
        ("a.json", '{\n  "version": "1.0",\n  "truncation": null,\n  "added_tokens": []\n}'),
    ],
    "a settings file in YAML or TOML": [
        ("a.yml", "version: 1\nstories:\n- story: a\n"),
        ("a.toml", "[a]\nb = 1\n"),
    ],
    "a Jupyter notebook": [("a.json", json.dumps({"cells": [{"source": ["a"]}], "nbformat": 4}))],
    "a GATE document": [("a.xml", f"{XML}<GateDocument version='3'/>")],
    "a FoLiA document": [("a.xml", f'{XML}<FoLiA xml:id="a"/>')],
    "a TEI document": [("a.xml", f'{XML}<TEI xmlns="http://www.tei-c.org/ns/1.0"/>')],
    "a BioC collection": [
        ("a.xml", f'{XML}<!DOCTYPE collection SYSTEM "BioC.dtd">\n<collection/>'),
        ("a.json", json.dumps({"documents": [{"infons": {}, "passages": [{"text": "a b"}]}]})),
    ],
    "a spaCy DocBin": [("a.spacy", b"\x78\x9c\xab\x00")],
    "a list of spans of Amazon Comprehend": [
        ("a.csv", "File,Line,Begin Offset,End Offset,Type\na.txt,0,0,5,PER\n")
    ],
    "a tweet archive of X": [("a.js", 'window.YTD.tweets.part0 = [ {"tweet": {}} ]')],
    "a database dump in SQL": [
        ("a.sql", "INSERT INTO a VALUES ('b');\n"),
        ("a.txt", "-- dump\n\nCREATE TABLE a (b text);\n"),
    ],
    "an ARFF file of Weka": [("a.arff", "@relation a\n@attribute b string\n@data\n'c'\n")],
    "program code": [("a.py", 'TRAIN_DATA = [("a", {"entities": []})]\n')],
    "a mail or a mailbox": [
        ("a.eml", "From: a@b\nSubject: a\n\nb\n"),
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        ("a.txt", "From a@b Mon Mar 01 10:00:00 2024\nSubject: a\n\nb\n"),
    ],
    "a LaTeX document or a bibliography": [("a.tex", "\\section{a}\n"), ("a.bib", "@book{a}\n")],
    "a rich text document": [("a.txt", "{\\rtf1\\ansi a}")],
    "an XML document": [("a.xml", f"{XML}<sentences><text>a</text></sentences>")],
    "an OpenDocument text": [("a.odt", b"PK\x03\x04")],
    "a Word document of an older form": [("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")],
    "a PowerPoint presentation": [("a.pptx", b"PK\x03\x04")],
}


@pytest.mark.parametrize("name", [name for name, _, _ in UNREAD])
def test_every_known_file_is_named_with_advice(tmp_path, name):
    for number, (file, content) in enumerate(EXAMPLES[name]):
        path = tmp_path / str(number) / file
        path.parent.mkdir()
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(BadFile, match=f"this is {name}, not a table of texts") as caught:
            recognise(path)
        assert caught.value.advice.endswith(".")


def test_texts_about_such_files_are_read(tmp_path):
    """And their own names are not searched for data."""
    path = tmp_path / "a.csv"
    path.write_text('text,label\n"<TEI> is ""$schema""",x\nhttp:///uima/cas.ecore <FoLiA>,y\n')
    assert recognise(path).columns == ("text", "label")
    assert not any(is_data_file(Path(name)) for name in SETTINGS)
