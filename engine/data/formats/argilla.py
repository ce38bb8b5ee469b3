"""Argilla and Rubrix exports: the answers of persons; a model's suggestions are never labels."""

from typing import Any

from engine.data.columns.text_spans import TextSpan
from engine.data.formats.annotated import (
    AnnotatedText,
    BadObject,
    Object,
    Tool,
    extra_values,
    get_list,
    get_span,
    get_text,
    make_format,
    parse_span,
)
from engine.phrases import phrase

SUBMITTED = ("submitted", None)
FLAT, FLAT_STATUS = ".responses", ".responses.status"  # Argilla 2, as a table
SUGGESTIONS = (".suggestion", ".suggestion.agent", "-suggestion", "-suggestion-metadata")
MODEL = ("suggestions", "prediction")
KNOWN_KEYS = ("_server_id", "status", "annotation", "prediction_agent", "annotation_agent")


def recognise(items: list[Any]) -> bool:
    """Recognise records by their responses, suggestions, or agents of annotation."""
    return all(isinstance(item, dict) and _is_record(item) for item in items)


def _is_record(item: Object) -> bool:
    if isinstance(item.get("fields"), dict):
        return {"responses", "suggestions"} <= item.keys()
    is_flat = any(key.endswith((FLAT_STATUS, *SUGGESTIONS[1::2])) for key in item)
    return is_flat or {"annotation", "prediction", "annotation_agent"} <= item.keys()


def read(item: Any) -> list[AnnotatedText] | str:
    """Read a text with the submitted answer to each question. Raises BadObject."""
    if not isinstance(item, dict):
        raise BadObject(phrase("this is not an object."))
    fields = next((item[key] for key in ("fields", "inputs") if item.get(key)), item)
    if not isinstance(fields, dict):
        fields = {"text": fields}  # Argilla 1 wrote the one input as a text
    answers = _answers(item)
    names = [name for name in fields if fields is not item or name not in (*KNOWN_KEYS, "id")]
    entry = AnnotatedText(get_text(fields, "text", *names))
    if item.get("status") == "Discarded" or not any(answers.values()):
        return phrase("Text without a submitted answer skipped")
    entry.remarks = [*_remarks(item, answers)]
    for question, values in answers.items():
        _add_answer(entry, question, values[0] if values else [])
    texts = [name for name in names if isinstance(fields[name], str)]
    if entry.spans and fields is not item and len(texts) > 1:
        name = next(name for name in ("text", *texts) if fields.get(name) == entry.text)
        entry.remarks.append(phrase("Spans taken to be in the field “{name}”", name=name[:60]))
    metadata = item.get("metadata")
    others = {**fields, **(metadata if isinstance(metadata, dict) else {})}
    known = [key for key in others if key.endswith(SUGGESTIONS) or others[key] == entry.text]
    entry.extra = extra_values(others, (*known, *MODEL, *KNOWN_KEYS))
    return [entry]


def _remarks(item: Object, answers: dict[str, list[Any]]) -> list[str]:
    remarks = list[str]()
    if any(value != values[0] for values in answers.values() for value in values):
        remarks.append(phrase("Text with different answers, of which the first was used"))
    if item.get("status") == "pending" and isinstance(item.get("responses"), dict):
        remarks.append(
            phrase("Answer of a pending record: the export does not say if it was submitted")
        )
    if any(item.get(key) for key in item if key in MODEL or key.endswith(SUGGESTIONS[::2])):
        remarks.append(phrase("Suggestions of a model left out"))
    return remarks


def _answers(item: Object) -> dict[str, list[Any]]:
    """Submitted values by question."""
    responses = item.get("responses")
    if "annotation" in item:  # Rubrix
        return {"label": [item["annotation"]] if item["annotation"] is not None else []}
    if isinstance(responses, dict):  # Argilla 2
        return {name: _submitted(values) for name, values in responses.items()}
    answers: dict[str, list[Any]] = {}
    for response in filter(_is_object, responses if isinstance(responses, list) else ()):
        values = response.get("values")  # of Argilla 1
        for name, value in values.items() if isinstance(values, dict) else ():
            if _is_object(value) and response.get("status") in SUBMITTED:
                answers.setdefault(name, []).append(value.get("value"))
    for key, value in item.items():
        if key.endswith(FLAT) and isinstance(value, list):
            statuses = item.get(f"{key}.status")
            statuses = statuses if isinstance(statuses, list) else [None] * len(value)
            pairs = zip(value, statuses, strict=False)
            answers[key.removesuffix(FLAT)] = [one for one, status in pairs if status in SUBMITTED]
        elif f"{key}-suggestion" in item:  # a table of Argilla 1
            answers[key] = _submitted(value)
    return answers


def _submitted(responses: Any) -> list[Any]:
    return [
        response.get("value")
        for response in filter(_is_object, responses if isinstance(responses, list) else ())
        if response.get("status") in SUBMITTED
    ]


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _add_answer(entry: AnnotatedText, question: str, answer: Any) -> None:
    """Add spans, or labels of the question. Raises BadObject."""
    if isinstance(answer, dict):  # a list of objects, as datasets 1 to 3 write it
        lists = [get_list(answer, key) for key in answer]
        answer = [dict(zip(answer, row, strict=True)) for row in zip(*lists, strict=False)]
    values = answer if isinstance(answer, list) else [answer]
    if any(isinstance(value, dict) and "rank" in value for value in values):
        entry.remarks.append(phrase("Ranking left out"))
    elif any(isinstance(value, (dict, list)) for value in values):
        entry.spans = [*(entry.spans or ()), *map(_span, values)]
    elif values:
        entry.labels[question] = [str(value) for value in values if value is not None]


def _span(value: Any) -> TextSpan:
    if isinstance(value, list):  # [label, start, end, …] of Rubrix
        return parse_span([*value[1:3], *value[:1]])
    return get_span(value, "start", "end", "label")


TOOL = Tool(recognise, read)
ARGILLA = make_format("argilla", "Argilla", TOOL)
