"""LightTag exports: a JSON document with the spans and classes of each example."""

from typing import Any

from engine.data.formats.annotated import (
    AnnotatedText,
    BadObject,
    Tool,
    extra_values,
    get_list,
    get_span,
    get_text,
    make_format,
)
from engine.phrases import phrase

LISTS = ("annotations", "classifications")


def recognise(items: list[Any]) -> bool:
    """Recognise examples with content, annotations and classifications."""
    return all(
        isinstance(item, dict) and isinstance(item.get("content"), str) and {*LISTS} <= item.keys()
        for item in items
    )


def read(item: Any) -> list[AnnotatedText] | str:
    """Read an example that a person has seen. Raises BadObject."""
    if not isinstance(item, dict):
        raise BadObject(phrase("this is not an object."))
    entry = AnnotatedText(get_text(item, "content"))
    lists = [get_list(item, key) for key in LISTS]
    found = [[one for one in values if not _is_wrong(one)] for values in lists]
    spans, classes = found
    if spans:
        entry.spans = [get_span(span, "start", "end", "tag") for span in spans]
    elif not classes and not item.get("seen_by", True):
        return phrase("Text without a human annotation skipped")
    if classes:
        names = (get_text(one, "classname") for one in classes if isinstance(one, dict))
        entry.labels["label"] = list(dict.fromkeys(names))
    if found != lists:
        entry.remarks.append(phrase("Annotation that a reviewer rejected left out"))
    metadata = item.get("metadata")
    entry.extra = extra_values(metadata if isinstance(metadata, dict) else {}, ())
    return [entry]


def _is_wrong(annotation: Any) -> bool:
    return isinstance(annotation, dict) and annotation.get("correct") is False


LIGHTTAG = make_format("lighttag", "LightTag", Tool(recognise, read))
