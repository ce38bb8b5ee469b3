"""Formats of data files, one module each; `FORMATS` lists them.

A new format is a module with a `Format` and a line here. Suffixes, the filter of the file dialog,
drag and drop, and the help of the commands are derived from the table.
"""

from engine.data.formats.argilla import ARGILLA
from engine.data.formats.brat import BRAT
from engine.data.formats.cas import CAS
from engine.data.formats.columnar import ARROW, PARQUET
from engine.data.formats.conll import CONLL
from engine.data.formats.doccano import DOCCANO
from engine.data.formats.docx import DOCX
from engine.data.formats.folder import FOLDER
from engine.data.formats.ground_truth import GROUND_TRUTH
from engine.data.formats.json_document import DOCUMENT
from engine.data.formats.jsonl import JSONL
from engine.data.formats.label_studio import LABEL_STUDIO
from engine.data.formats.lighttag import LIGHTTAG
from engine.data.formats.plain import PLAIN
from engine.data.formats.prodigy import PRODIGY
from engine.data.formats.pubtator import PUBTATOR
from engine.data.formats.race import RACE
from engine.data.formats.rasa import RASA, RASA_JSON
from engine.data.formats.rows import Format
from engine.data.formats.spacy_json import SPACY
from engine.data.formats.spans import SPANS
from engine.data.formats.squad import SQUAD
from engine.data.formats.table import CSV, TSV
from engine.data.formats.tagged_text import TAGGED_TEXT
from engine.data.formats.transcript import SUBTITLES
from engine.data.formats.webanno import WEBANNO
from engine.data.formats.workbook import WORKBOOK

FORMATS: dict[str, Format] = {  # in the order of recognition; plain text accepts any text
    format_.name: format_
    for format_ in (
        *(DOCX, WORKBOOK, PARQUET, ARROW),
        *(ARGILLA, DOCCANO, GROUND_TRUTH, LABEL_STUDIO, LIGHTTAG, PRODIGY, RASA_JSON, SPACY),
        *(CAS, PUBTATOR, RASA, SUBTITLES, WEBANNO),
        *(SQUAD, RACE, SPANS, DOCUMENT, JSONL, CONLL, TAGGED_TEXT, CSV, TSV, PLAIN, FOLDER, BRAT),
    )
}
