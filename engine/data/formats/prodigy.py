"""Prodigy exports: JSONL with spans, a label or options, and the answer."""

from typing import Any

from engine.data.formats.annotated import (
    AnnotatedText,
    BadObject,
    Tool,
    extra_values,
    get_list,
    get_span,
    get_text,
    get_words,
    make_format,
)
from engine.phrases import phrase

ANSWERS = ("accept", "reject", "ignore")
KNOWN_KEYS = ("text", "label", "answer", "spans", "tokens", "options", "accept", "meta")


def recognise(items: list[Any]) -> bool:
    """Recognise texts with an answer, or with Prodigy's hash; some may have none yet."""
    are_texts = all(isinstance(item, dict) and isinstance(item.get("text"), str) for item in items)
    return (
        are_texts
        and all(item.get("answer", ANSWERS[0]) in ANSWERS for item in items)
        and any("answer" in item or "_task_hash" in item for item in items)
    )


def read(item: Any) -> list[AnnotatedText] | str:
    """Read an accepted text; a rejected label becomes “not LABEL”. Raises BadObject."""
    if not isinstance(item, dict):
        raise BadObject(phrase("this is not an object."))
    answer = item.get("answer", "accept")
    label = item.get("label")
    is_label = isinstance(label, str) and "spans" not in item
    if answer == "ignore" or (answer == "reject" and not is_label):
        return phrase("Text that was not accepted skipped")
    entry = AnnotatedText(get_text(item, "text"))
    entry.is_annotated = "answer" in item or "spans" in item
    if "spans" in item:
        spans = get_list(item, "spans")
        entry.spans = [get_span(span, "start", "end", "label") for span in spans]
    if isinstance(tokens := item.get("tokens"), list) and tokens:
        entry.words = get_words(entry.text, tokens)
    if isinstance(item.get("accept"), list):
        entry.labels["label"] = [str(option) for option in item["accept"]]
    elif is_label:
        entry.labels["label"] = [str(label) if answer == "accept" else f"not {label}"]
    entry.extra = extra_values(item, KNOWN_KEYS)
    return [entry]


PRODIGY = make_format("prodigy", "Prodigy", Tool(recognise, read))
