"""doccano: JSON Lines with spans or labels, as it imports and exports them."""

from pathlib import Path

from engine.data.writers.examples import ID, Example, has_labels, iter_examples
from engine.data.writers.export import Export
from engine.data.writers.writer import (
    Writer,
    classes_of_words,
    untagged_losses,
    word_losses,
    write_lines,
)
from engine.phrases import phrase

COMMENTS = "Comments"
RESERVED = ("text", "data", "label", "labels", "entities", "annotations", "relations", COMMENTS)


def _write(file: Path, export: Export) -> None:
    def item(example: Example) -> dict[str, object]:
        given: dict[str, object] = {ID: example.number, "text": example.text, COMMENTS: []}
        if export.spec.mapping.tags is not None:
            given["label"] = [list(span) for span in example.spans or ()]
        elif has_labels(export):
            given["label"] = example.labels or []
        return given | example.others

    write_lines(file, map(item, iter_examples(export, RESERVED)))


DOCCANO = Writer(
    "doccano",
    "doccano",
    phrase("Texts with labels or spans to label in doccano; other columns are metadata."),
    ".doccano.jsonl",
    _write,
    lambda export: [*word_losses(export), *untagged_losses(export)],
    classes_of_words,
)
