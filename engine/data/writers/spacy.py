"""spaCy: documents with entities and categories, as JSON of `Doc.to_json`, or as a DocBin.

Entities cannot overlap. If some spans of a document do, all are in its span group “sc”, which the
span categorizer of spaCy reads, and the longer ones are its entities.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.data.columns.text_spans import flat_spans, sorted_spans, split_at_spans, trim_span
from engine.data.columns.words import word_spans
from engine.data.writers.examples import iter_examples, label_names
from engine.data.writers.export import Export
from engine.data.writers.writer import Writer, classes_of_words, untagged_losses, write_json
from engine.phrases import phrase

GROUP = "sc"
USER_DATA = "user_data"  # as in `Doc`; “_” would need extensions that are registered before


def _docs(export: Export) -> Iterator[dict[str, Any]]:
    names = label_names(export)
    for example in iter_examples(export):
        doc: dict[str, Any] = {"text": example.text}
        spans = sorted_spans(trim_span(example.text, span) for span in example.spans or ())
        words = example.words if example.words is not None else word_spans(example.text)
        if export.spec.mapping.tags is not None:
            flat = flat_spans(spans)
            doc["ents"] = [{"start": a, "end": b, "label": label} for a, b, label in flat]
            if len(flat) < len(spans):
                group = [{"start": a, "end": b, "label": x, "kb_id": ""} for a, b, x in spans]
                doc["spans"] = {GROUP: group}
            words = split_at_spans(words, spans)
        else:
            labels = example.labels
            doc["cats"] = {} if labels is None else {x: float(x in labels) for x in names}
        doc["tokens"] = [
            {"id": number, "start": start, "end": end}
            for number, (start, end) in enumerate(_tokens(example.text, words))
        ]
        doc[USER_DATA] = example.others
        yield doc


def _tokens(text: str, words: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Words, and tokens of the white space that spaCy does not take as the space after a word."""
    end = 0
    for start, stop in (*words, (len(text), len(text))):
        gap = end + (end > 0 and text[end : end + 1] == " ")
        if gap < start:
            yield gap, start
        if start < stop:
            yield start, stop
        end = stop


def _write(file: Path, export: Export) -> None:
    write_json(file, _docs(export))


def _write_bin(file: Path, export: Export) -> None:
    import spacy  # type: ignore[import-not-found]  # no part of this program
    from spacy.tokens import Doc, DocBin  # type: ignore[import-not-found]

    vocab, bin_ = spacy.blank("xx").vocab, DocBin(store_user_data=True)
    for item in _docs(export):
        doc = Doc(vocab).from_json(item)
        doc.user_data |= item[USER_DATA]
        bin_.add(doc)
    bin_.to_disk(file)


def _losses(export: Export) -> list[str]:
    space = phrase("White space at the ends of spans is left out.")
    return [*untagged_losses(export), *([space] if export.spec.has_text_spans else [])]


def _missing(export: Export) -> str:
    if find_spec("spacy") is None:
        return phrase("A DocBin needs the library spaCy, which is not installed here.")
    return classes_of_words(export)


SPACY = Writer(
    "spacy",
    "spaCy JSON",
    phrase("Documents for Doc.from_json, with entities, categories and the other columns."),
    ".spacy.json",
    _write,
    _losses,
    problem=classes_of_words,
)
DOC_BIN = Writer(
    "docbin",
    "spaCy DocBin",
    phrase("Documents for spacy train; spaCy must be installed next to this program."),
    ".spacy",
    _write_bin,
    _losses,
    problem=_missing,
)
