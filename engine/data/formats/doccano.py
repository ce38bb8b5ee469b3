"""doccano exports: JSONL with spans or labels of each text."""

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
    parse_span,
)
from engine.phrases import phrase

TEXTS, LABELS = ("text", "data"), ("label", "labels")
ANNOTATIONS = "annotations"  # in older versions, which refer to labels by id
KNOWN_KEYS = {"id", "Comments", "comments", "relations", "meta", "metadata", "annotation_approver"}


def recognise(items: list[Any]) -> bool:
    """True for spans as lists or objects with offsets; or lists of labels, with comments or
    without other keys."""
    if not all(
        isinstance(item, dict) and any(isinstance(item.get(key), str) for key in TEXTS)
        for item in items
    ):
        return False
    entities = [entity for item in items for entity in _get_list(item, "entities")]
    if entities:
        return all(isinstance(entity, dict) and "start_offset" in entity for entity in entities)
    if numbered := [annotation for item in items for annotation in _get_list(item, ANNOTATIONS)]:
        return all(isinstance(item, dict) and {"label", "user"} <= item.keys() for item in numbered)
    labels = [label for item in items for key in LABELS for label in _get_list(item, key)]
    if not labels:
        return False
    if all(isinstance(label, list) for label in labels):
        return all(len(label) == 3 and isinstance(label[0], int) for label in labels)
    known_keys = KNOWN_KEYS.union(TEXTS, LABELS)
    has_known_keys = all(
        "id" in item and (known_keys >= item.keys() or "Comments" in item) for item in items
    )
    return has_known_keys and all(isinstance(label, str) for label in labels)


def _get_list(item: dict[str, Any], key: str) -> list[Any]:
    value = item.get(key)
    return value if isinstance(value, list) else []


def read(item: Any) -> list[AnnotatedText]:
    """Read a text with its spans or labels. Raises BadObject."""
    if not isinstance(item, dict):
        raise BadObject(phrase("this is not an object."))
    entry = AnnotatedText(get_text(item, *TEXTS))
    key = next((key for key in LABELS if key in item), LABELS[0])
    labels = get_list(item, key)
    if "entities" in item:
        entities = get_list(item, "entities")
        entry.spans = [get_span(span, "start_offset", "end_offset", "label") for span in entities]
    elif annotations := get_list(item, ANNOTATIONS):
        _add_annotations(entry, annotations)
    elif any(isinstance(label, list) for label in labels):
        entry.spans = [parse_span(label) for label in labels]
    elif labels:
        entry.labels["label"] = [str(label) for label in labels]
    if item.get("relations"):
        entry.remarks.append(phrase("Relations between spans left out"))
    entry.extra = extra_values(item, (*TEXTS, *LABELS))
    return [entry]


def _add_annotations(entry: AnnotatedText, annotations: list[Any]) -> None:
    """Add spans or labels by id; only the project has their names. Raises BadObject."""
    items = [
        item | {"label": str(item.get("label"))} for item in annotations if isinstance(item, dict)
    ]
    if len(items) < len(annotations):
        raise BadObject(phrase("“{key}” is not a list of objects.", key=ANNOTATIONS))
    if any("start_offset" in item for item in items):
        entry.spans = [get_span(item, "start_offset", "end_offset", "label") for item in items]
    else:
        entry.labels["label"] = [item["label"] for item in items]
    entry.remarks.append(phrase("Label by its number, as the export has no name for it"))


DOCCANO = make_format("doccano", "doccano", Tool(recognise, read))
