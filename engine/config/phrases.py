"""Fields for phrases, which keep their translation key in JSON."""

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from engine.phrases import from_json, to_json
from engine.visible import concise


def _shorten(value: Any) -> str:
    return concise(from_json(value))[0]


PhraseField = Annotated[
    str,
    PlainValidator(_shorten, json_schema_input_type=str),
    PlainSerializer(to_json, when_used="json"),
]
