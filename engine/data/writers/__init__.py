"""Formats that data sets are exported in, one module each; `WRITERS` lists them.

A new format is a module with a `Writer` and a line here. The dialog, the command and the tests are
derived from the table.
"""

from engine.data.writers.brat import BRAT
from engine.data.writers.conll import CONLL
from engine.data.writers.doccano import DOCCANO
from engine.data.writers.hugging_face import HUGGING_FACE
from engine.data.writers.label_studio import LABEL_STUDIO
from engine.data.writers.prodigy import PRODIGY
from engine.data.writers.spacy import DOC_BIN, SPACY
from engine.data.writers.tables import CSV, EXCEL, JSONL, PARQUET, TSV
from engine.data.writers.writer import Writer

WRITERS: dict[str, Writer] = {  # in the order of the dialog; the first with a suffix is its default
    writer.name: writer
    for writer in (
        *(CSV, EXCEL, PARQUET, JSONL, TSV, HUGGING_FACE),
        *(CONLL, SPACY, DOC_BIN, PRODIGY, DOCCANO, LABEL_STUDIO, BRAT),
    )
}
