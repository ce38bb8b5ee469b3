"""Label Studio exports: JSON with all annotations of each task, or JSON-MIN."""

from typing import Any

from engine.data.columns.answers import find_nearest
from engine.data.columns.text_spans import TextSpan
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

ANNOTATIONS = ("annotations", "completions")
MIN_KEYS = ("annotation_id", "annotator", "lead_time")  # keys of JSON-MIN
SPANS, CHOICES, TAXONOMY, NUMBERS = "labels", "choices", "taxonomy", ("rating", "number")
DATES = ("created_at", "updated_at", "draft_created_at")


def recognise(items: list[Any]) -> bool:
    """Recognise tasks with data and annotations, or JSON-MIN."""
    return all(
        isinstance(item, dict)
        and (_is_min(item) or (isinstance(item.get("data"), dict) and {*ANNOTATIONS} & item.keys()))
        for item in items
    )


def _is_min(item: dict[str, Any]) -> bool:
    return all(key in item for key in MIN_KEYS)


def read(item: Any) -> list[AnnotatedText] | str:
    """Read a task with its first annotation that was not cancelled; one that has no annotation at
    all is a text without a label. Raises BadObject."""
    if not isinstance(item, dict):
        raise BadObject(phrase("this is not an object."))
    if _is_min(item):
        return [_read_min(item)]
    data = item.get("data")
    if not isinstance(data, dict):
        raise BadObject(phrase("this task has no “data”."))
    annotations = next((get_list(item, key) for key in ANNOTATIONS if key in item), [])
    finished = [
        annotation
        for annotation in annotations
        if isinstance(annotation, dict) and not annotation.get("was_cancelled")
    ]
    if annotations and not finished:
        return phrase("Task without an annotation skipped")
    key = _text_key(data)
    entry = AnnotatedText(get_text(data, key), is_annotated=bool(finished))
    if len(finished) > 1:
        entry.remarks.append(phrase("Task with several annotations, of which the first was used"))
    results = get_list(finished[0], "result") if finished else []
    for result in results:
        _add_result(entry, result)
    entry.extra = extra_values(data, (key,))
    return [entry]


def _text_key(data: dict[str, Any]) -> str:
    texts = [key for key, value in data.items() if isinstance(value, str)]
    if not texts and any(isinstance(value, list) for value in data.values()):
        raise BadObject(
            phrase("its “data” has a list, such as the turns of a dialogue, instead of a text.")
        )
    if not texts:
        raise BadObject(phrase("there is no text in the “data” of this task."))
    return "text" if "text" in texts else max(texts, key=lambda key: len(data[key]))


def _add_result(entry: AnnotatedText, result: Any) -> None:
    kind = result.get("type") if isinstance(result, dict) else None
    value: Any = result.get("value") if isinstance(result, dict) else None
    if kind in (SPANS, CHOICES, TAXONOMY, *NUMBERS) and not isinstance(value, dict):
        raise BadObject(phrase("a result in it has no “value”."))
    name = str(result.get("from_name", kind)) if isinstance(result, dict) else ""
    if kind == SPANS:
        entry.spans = (entry.spans or []) + _get_spans(entry, value)
    elif kind == CHOICES:
        choices = map(str, get_list(value, CHOICES))
        entry.labels[name] = [*entry.labels.get(name, ()), *choices]
    elif kind == TAXONOMY:
        paths = [path for path in get_list(value, TAXONOMY) if isinstance(path, list)]
        entry.labels[name] = [" > ".join(map(str, path)) for path in paths]
    elif kind in NUMBERS:
        entry.labels[name] = [str(value.get(kind, ""))]
    else:
        entry.remarks.append(
            phrase("Results of the type “{kind}” left out", kind=str(kind or "")[:60])
        )


def _get_spans(entry: AnnotatedText, value: Any) -> list[TextSpan]:
    labels = get_list(value, SPANS) if isinstance(value, dict) else []
    if not labels:
        entry.remarks.append(phrase("Span without a label left out"))
        return []
    if len(labels) > 1:
        entry.remarks.append(phrase("Span with several labels, of which the first was used"))
    start, end, label = get_span(value | {"label": labels[0]}, "start", "end", "label")
    text = value.get("text")
    if isinstance(text, str) and text and entry.text[start:end].strip() != text.strip():
        position = find_nearest(entry.text, text, start)
        if position is None:
            raise BadObject(phrase("the text does not contain its span “{text}”.", text=text[:60]))
        entry.remarks.append(phrase("Span not at its position; its nearest occurrence was used"))
        start, end = position, position + len(text)
    return [TextSpan(start, end, label)]


def _read_min(item: dict[str, Any]) -> AnnotatedText:
    """Read a text, and the values of the controls by name."""
    values = {key: value for key, value in item.items() if key not in MIN_KEYS}
    key = _text_key({name: value for name, value in values.items() if name not in DATES})
    entry = AnnotatedText(values[key])
    for name, value in values.items():
        if isinstance(value, dict) and CHOICES in value:
            entry.labels[name] = [str(choice) for choice in get_list(value, CHOICES)]
        elif isinstance(value, list) and all(
            isinstance(region, dict) and {"start", "end"} <= region.keys() for region in value
        ):
            spans = [span for region in value for span in _get_spans(entry, region)]
            entry.spans = (entry.spans or []) + spans
    entry.extra = extra_values(values, (key,))  # plain values, no choices or spans
    return entry


TOOL = Tool(recognise, read)
LABEL_STUDIO = make_format("label_studio", "Label Studio", TOOL)
