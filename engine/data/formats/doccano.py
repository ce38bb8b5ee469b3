"""doccano exports: JSONL with spans or labels of each text."""

from typing import Any

from engine.data.formats.annotated import (
    Annotated,
    NotOfTool,
    Tool,
    annotated_format,
    further_in,
    list_in,
    span_in,
    span_of_list,
    text_in,
)
from engine.phrases import phrase

TEXTS, LABELS = ("text", "data"), ("label", "labels")
NUMBERED = "annotations"  # of older versions, which refer to labels by id
OWN = {"id", "Comments", "comments", "relations", "meta", "metadata", "annotation_approver"}


def knows(items: list[Any]) -> bool:
    """Spans as lists or objects with offsets; or lists of labels, without foreign keys."""
    if not all(
        isinstance(item, dict) and any(isinstance(item.get(key), str) for key in TEXTS)
        for item in items
    ):
        return False
    entities = [one for item in items for one in _listed(item, "entities")]
    if entities:
        return all(isinstance(one, dict) and "start_offset" in one for one in entities)
    if numbered := [one for item in items for one in _listed(item, NUMBERED)]:
        return all(isinstance(one, dict) and {"label", "user"} <= one.keys() for one in numbered)
    labels = [one for item in items for key in LABELS for one in _listed(item, key)]
    if not labels:
        return False
    if all(isinstance(one, list) for one in labels):
        return all(len(one) == 3 and isinstance(one[0], int) for one in labels)
    own = OWN.union(TEXTS, LABELS)
    is_own = all(own >= item.keys() and "id" in item for item in items)
    return is_own and all(isinstance(one, str) for one in labels)


def _listed(item: dict[str, Any], key: str) -> list[Any]:
    found = item.get(key)
    return found if isinstance(found, list) else []


def read(item: Any) -> list[Annotated]:
    """A text with its spans or labels. Raises NotOfTool."""
    if not isinstance(item, dict):
        raise NotOfTool(phrase("this is not an object."))
    found = Annotated(text_in(item, *TEXTS))
    key = next((key for key in LABELS if key in item), LABELS[0])
    given = list_in(item, key)
    if "entities" in item:
        entities = list_in(item, "entities")
        found.spans = [span_in(one, "start_offset", "end_offset", "label") for one in entities]
    elif annotations := list_in(item, NUMBERED):
        _add_numbered(found, annotations)
    elif any(isinstance(one, list) for one in given):
        found.spans = [span_of_list(one) for one in given]
    elif given:
        found.labels = [str(one) for one in given]
    if item.get("relations"):
        found.remarks.append(phrase("Relations between spans left out"))
    found.further = further_in(item, (*TEXTS, *LABELS))
    return [found]


def _add_numbered(found: Annotated, annotations: list[Any]) -> None:
    """Spans or labels whose names only the project knows. Raises NotOfTool."""
    named = [one | {"label": str(one.get("label"))} for one in annotations if isinstance(one, dict)]
    if len(named) < len(annotations):
        raise NotOfTool(phrase("“{key}” is not a list of objects.", key=NUMBERED))
    if any("start_offset" in one for one in named):
        found.spans = [span_in(one, "start_offset", "end_offset", "label") for one in named]
    else:
        found.labels = [one["label"] for one in named]
    found.remarks.append(phrase("Label by its number, as the export has no name for it"))


DOCCANO = annotated_format("doccano", "doccano", Tool(knows, read))
