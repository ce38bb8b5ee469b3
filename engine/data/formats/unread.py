"""Known files that hold no table of texts, each refused by its name with what to use instead."""

import re
from pathlib import Path

from engine.data.formats.archives import SETTINGS, logical_name
from engine.errors import BadFile
from engine.phrases import phrase

SAMPLE_CHARACTERS = 5_000
CHOOSE_DATA = phrase("Choose a file with texts, such as CSV or JSON Lines.")
AS_TEXT = phrase("Save it as plain text, or as .docx.")
NAME = r"\A.*"  # in the first line
OBJECT, XML = rf"{NAME}\n\s*\{{\s*", rf"{NAME}\n\s*<[\s\S]*?"
PROGRAM = rf"\A(?:{'|'.join(map(re.escape, SETTINGS))})\n"
# what it is, a pattern of the file name, a line break and the first characters; and advice
UNREAD: tuple[tuple[str, str, str], ...] = (
    (
        phrase("a settings file of a program or a model"),
        rf'{PROGRAM}|{OBJECT}"(?:\$schema"|version": "1\.0",\s*"truncation)',
        CHOOSE_DATA,
    ),
    (
        phrase("a settings file in YAML or TOML"),
        rf"{NAME}\.(?:ya?ml|toml)\n(?![\s\S]*^nlu:\s*$)",
        phrase("Choose a file with texts, such as CSV; of Rasa, the file with “nlu:”."),
    ),
    (phrase("a Jupyter notebook"), rf'{NAME}\.ipynb\n|{OBJECT}"cells":\s*\[', CHOOSE_DATA),
    (
        phrase("a GATE document"),
        rf"{XML}<GateDocument\b",
        phrase("Export it as CoNLL, or save its text alone."),
    ),
    (
        phrase("a FoLiA document"),
        rf"{XML}<FoLiA\b",
        phrase("Convert it with folia2txt or folia2conllu."),
    ),
    (
        phrase("a TEI document"),
        rf"{XML}<(?:\w+:)?TEI\b",
        phrase("Convert its texts to plain text or CSV first."),
    ),
    (
        phrase("a BioC collection"),
        rf'{XML}BioC\.dtd|{OBJECT}(?=[\s\S]*"passages":\s*\[)(?=[\s\S]*"infons")',
        phrase("Save it as PubTator."),
    ),
    (
        phrase("a spaCy DocBin"),
        rf"{NAME}\.spacy\n",
        phrase("Save its documents as JSON Lines, one Doc.to_json() in each line."),
    ),
    (
        phrase("a list of spans of Amazon Comprehend"),
        rf"{NAME}\nFile,Line,Begin Offset,End Offset,Type\b",
        phrase("Put each text and its spans in one object of JSON Lines."),
    ),
    (
        phrase("a tweet archive of X"),
        rf"{NAME}\n\s*window\.YTD\.",
        phrase("Delete everything before the first “[”, and save the file as .json."),
    ),
    (
        phrase("a database dump in SQL"),
        rf"{NAME}\.sql\n|{NAME}\n(?:--.*\n|\s)*(?:CREATE TABLE|INSERT INTO)\b",
        phrase("Export the table as CSV from the database."),
    ),
    (
        phrase("an ARFF file of Weka"),
        rf"{NAME}\.arff\n",
        phrase("Save it as CSV in Weka."),
    ),
    (
        phrase("program code"),
        rf"{NAME}\.(?:py|r|js|ts|java|c|cpp|cs|php|rb|go|rs|sh)\n",
        phrase("Save its data as JSON or CSV. To train on code, name the file .txt."),
    ),
    (
        phrase("a mail or a mailbox"),
        rf"{NAME}\.(?:mbox|eml|msg)\n|{NAME}\nFrom \S+ [A-Z][a-z]{{2}} [A-Z][a-z]{{2}} ",
        phrase("Export the mails as CSV."),
    ),
    (
        phrase("a LaTeX document or a bibliography"),
        rf"{NAME}\.(?:tex|bib)\n",
        phrase("Convert it to plain text first, for example with pandoc."),
    ),
    (phrase("a rich text document"), rf"{NAME}\n\{{\\rtf", AS_TEXT),
    (
        phrase("an XML document"),
        rf"{NAME}\n\s*<\?xml\b(?![\s\S]*(?:<xmi:XMI|cas\.ecore))",
        phrase("Write its texts and labels to a table, such as CSV, first."),
    ),
    (phrase("an OpenDocument text"), rf"{NAME}\.odt\n", AS_TEXT),
    (phrase("a Word document of an older form"), rf"{NAME}\.doc\n\ufffd", AS_TEXT),
    (phrase("a PowerPoint presentation"), rf"{NAME}\.pptx?\n", AS_TEXT),
)
PATTERNS = [(name, re.compile(pattern, re.MULTILINE), advice) for name, pattern, advice in UNREAD]


def check_unread(path: Path, start: bytes) -> None:
    """Raise BadFile for a known file without a table of texts."""
    text = f"{logical_name(path).lower()}\n{start[:SAMPLE_CHARACTERS].decode('utf-8', 'replace')}"
    for name, pattern, advice in PATTERNS:
        if pattern.search(text):
            raise BadFile(path, phrase("this is {name}, not a table of texts.", name=name), advice)
