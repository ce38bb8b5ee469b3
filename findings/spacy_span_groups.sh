#!/usr/bin/env bash
# spaCy 3.8.18: Doc.from_json needs a knowledge base id for each span of a group, not for entities.
#
# Nested spans go into a span group, since entities that overlap are refused with E1010. A span of a
# group without “kb_id” fails with a bare KeyError, also with validate=True, while entities may lack
# it. A span that does not begin and end at tokens is refused with E1039; for an entity at such a
# place, the error is a KeyError 'start' that does not name it.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q spacy==3.8.18 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import spacy
from spacy.tokens import Doc

vocab = spacy.blank("en").vocab
tokens = [{"id": 0, "start": 0, "end": 3}, {"id": 1, "start": 4, "end": 8}]
outer, inner = {"start": 0, "end": 8, "label": "ORG"}, {"start": 4, "end": 8, "label": "LOC"}
within = {"start": 5, "end": 8, "label": "LOC"}


def read(**marks):
    item = {"text": "New York", "tokens": tokens, "ents": [], **marks}
    try:
        doc = Doc(vocab).from_json(item, validate=True)
    except (KeyError, ValueError) as error:
        return f"{type(error).__name__} {str(error)[:7]}"
    return [span.text for span in (*doc.ents, *doc.spans.get("sc", ()))]


found = {
    "entities that overlap": read(ents=[outer, inner]),
    "a group without kb_id": read(spans={"sc": [outer, inner]}),
    "a group with kb_id": read(spans={"sc": [s | {"kb_id": ""} for s in (outer, inner)]}),
    "a group within a token": read(spans={"sc": [within | {"kb_id": ""}]}),
    "an entity within a token": read(ents=[within]),
}
for name, result in found.items():
    print(f"{name}: {result}")
assert found["a group without kb_id"].startswith("KeyError")
assert found["an entity within a token"].startswith("KeyError")
assert found["a group with kb_id"] == ["New York", "York"]
assert "E1010" in found["entities that overlap"] and "E1039" in found["a group within a token"]
PYTHON
# Output seen:
# entities that overlap: ValueError [E1010]
# a group without kb_id: KeyError 'kb_id'
# a group with kb_id: ['New York', 'York']
# a group within a token: ValueError [E1039]
# an entity within a token: KeyError 'start'
