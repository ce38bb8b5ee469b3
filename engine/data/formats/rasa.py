"""Training data of Rasa NLU: intents and entities, in JSON, Markdown or YAML."""

import re
from collections.abc import Iterator
from typing import Any

from engine.config.dataset import Reading
from engine.data.columns.text_spans import TextSpan
from engine.data.formats.annotated import (
    AnnotatedText,
    BadObject,
    Tool,
    get_list,
    get_span,
    get_text,
    make_format,
    make_line_format,
)
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Remarks
from engine.data.formats.strict_json import without_surrogates
from engine.phrases import phrase

HEADING = re.compile(r"\s*(?:#{1,3}|-)\s*(intent|synonym|regex|lookup)\s*:\s*(.+?)\s*")
EXAMPLE = re.compile(r"\s*[-*+]\s+(?:text:\s*)?(.*?)\s*")
KEY = re.compile(r"(\w+):\s*$")
# “[New York](city)”, “[New York](city:NYC)” and “[New York]{"entity": "city"}”
ENTITY = re.compile(
    r"\[([^\[\]]+)\](?:\(([^():]+)[^()]*\)|\{[^{}]*[\"']entity[\"']:\s*[\"']([^\"']+)[\"'][^{}]*\})"
)


def recognise(items: list[Any]) -> bool:
    """Recognise texts with an intent and entities."""
    keys = {"text", "intent", "entities"}
    return all(isinstance(item, dict) and item.keys() >= keys for item in items)


def read_object(item: Any) -> list[AnnotatedText]:
    """Read an example. Raises BadObject."""
    if not isinstance(item, dict):
        raise BadObject(phrase("this is not an object."))
    entry = AnnotatedText(get_text(item, "text"))
    if entities := get_list(item, "entities"):
        entry.spans = [get_span(entity, "start", "end", "entity") for entity in entities]
    if isinstance(item.get("intent"), str):
        entry.labels["intent"] = [item["intent"]]
    return [entry]


def guess(lines: list[str], _suffix: str, _is_complete: bool) -> Reading | None:
    """Recognise headings of intents, in Markdown or under “nlu:” of YAML."""
    filled = [line for line in lines if line.strip()]
    headings = [match for line in filled if (match := HEADING.fullmatch(line.rstrip("\r\n")))]
    is_yaml = any(re.match(r"nlu:\s*$", line) for line in filled)
    has_intents = any(match[1] == "intent" for match in headings)
    is_rasa = has_intents and (is_yaml or headings[0].string.lstrip().startswith("##"))
    return Reading(format=RASA.name) if is_rasa else None


def read_lines(lines: Lines, _remarks: Remarks) -> Iterator[tuple[int, AnnotatedText]]:
    """Read the examples under each heading of an intent."""
    intent, is_nlu, is_text = "", True, False
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        key, heading, example = KEY.match(text), HEADING.fullmatch(text), EXAMPLE.fullmatch(text)
        if key or text.startswith("##"):
            intent, is_nlu = "", not key or key[1] == "nlu"
        if heading and is_nlu:
            intent = heading[2].strip("\"'") if heading[1] == "intent" else ""
        elif intent and (is_text or (example and example[1])):
            marked = text.strip() if is_text or not example else example[1]
            is_text = marked == "|"  # the text is in the next line
            if not is_text:
                yield number, _entry(marked, intent)


def _entry(marked: str, intent: str) -> AnnotatedText:
    text, spans, position = "", list[TextSpan](), 0
    for match in ENTITY.finditer(marked):
        text += marked[position : match.start()]
        spans.append(TextSpan(len(text), len(text) + len(match[1]), match[2] or match[3]))
        text += match[1]
        position = match.end()
    entry = AnnotatedText(without_surrogates(text + marked[position:]), spans or None)
    entry.labels["intent"] = [intent]
    return entry


RASA_JSON = make_format("rasa_json", "Rasa JSON", Tool(recognise, read_object), (".json",))
RASA = make_line_format("rasa", "Rasa NLU", (".md",), guess, read_lines)
