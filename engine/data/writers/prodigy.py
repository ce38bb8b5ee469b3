"""Prodigy: JSON Lines with spans, a label or options, and the answer."""

from pathlib import Path

from engine.data.writers.examples import Example, iter_examples, label_names
from engine.data.writers.export import Export
from engine.data.writers.writer import Writer, classes_of_words, write_lines
from engine.phrases import phrase

RESERVED = ("text", "label", "answer", "spans", "tokens", "options", "accept", "meta")


def _write(file: Path, export: Export) -> None:
    has_sets = export.label_sets is not None or bool(export.spec.mapping.flags)
    options = [{"id": name, "text": name} for name in label_names(export)] if has_sets else None
    examples = iter_examples(export, RESERVED)
    write_lines(file, ({"text": e.text, **_annotations(e, options), **e.others} for e in examples))


def _annotations(example: Example, options: list[dict[str, str]] | None) -> dict[str, object]:
    """The keys of the annotations; a row without a label has no answer."""
    accepted = {"answer": "accept"}
    if example.words is not None:
        firsts = {start: number for number, (start, _) in enumerate(example.words)}
        lasts = {end: number for number, (_, end) in enumerate(example.words)}
        tokens = [
            {"text": example.text[start:end], "start": start, "end": end, "id": number}
            for number, (start, end) in enumerate(example.words)
        ]
        if example.spans is None:
            return {"tokens": tokens}
        spans = [
            {
                "start": start,
                "end": end,
                "token_start": firsts[start],
                "token_end": lasts[end],
                "label": label,
            }
            for start, end, label in example.spans
        ]
        return {"tokens": tokens, "spans": spans, **accepted}
    if example.spans is not None:  # Prodigy finds the words of spans of characters
        spans = [{"start": a, "end": b, "label": label} for a, b, label in example.spans]
        return {"spans": spans, **accepted}
    if example.labels is None:
        return {}
    if options is not None:
        return {"options": options, "accept": example.labels, **accepted}
    return {"label": example.labels[0], **accepted}


PRODIGY = Writer(
    "prodigy",
    "Prodigy",
    phrase("Accepted tasks for db-in, with tokens and spans, a label or options."),
    ".prodigy.jsonl",
    _write,
    problem=classes_of_words,
)
