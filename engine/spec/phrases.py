"""A field of a spec or a message that may hold a phrase, which it keeps with its key in JSON."""

from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from engine.phrases import from_plain, plain

PhraseField = Annotated[
    str,
    PlainValidator(from_plain, json_schema_input_type=str),
    PlainSerializer(plain, when_used="json"),
]
