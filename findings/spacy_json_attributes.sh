#!/usr/bin/env bash
# spaCy 3.8.18: Doc.from_json cannot read what Doc.to_json(underscore=…) writes, elsewhere.
#
# Custom attributes are written under “_”, and reading them fails with E083 in a process that has
# not registered each of them before. Values under a key that spaCy does not know are ignored
# instead, also with validate=True; and a DocBin keeps `user_data` without any registration.
# White space that is not one space after a word must be a token: a document without such tokens
# fails with an AssertionError that has no text.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q spacy==3.8.18
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
from pathlib import Path

import spacy
from spacy.tokens import Doc

Doc.set_extension("source", default="")
doc = spacy.blank("en")("In Rome.")
doc._.source = "letter 7"
Path("doc.json").write_text(json.dumps(doc.to_json(underscore=["source"])))
PYTHON
"$folder/venv/bin/python" - <<'PYTHON'
import json
from pathlib import Path

import spacy
from spacy.tokens import Doc, DocBin

vocab = spacy.blank("en").vocab
written = json.loads(Path("doc.json").read_text())
try:
    Doc(vocab).from_json(written)
    problem = ""
except ValueError as error:
    problem = str(error)[:40]
other = {key: value for key, value in written.items() if key != "_"} | {"user_data": {"a": "1"}}
doc = Doc(vocab).from_json(other, validate=True)
doc.user_data |= other["user_data"]
(back,) = DocBin(docs=[doc], store_user_data=True).get_docs(vocab)
tokens = [{"id": 0, "start": 0, "end": 3}, {"id": 1, "start": 5, "end": 8}]
gap = "read"
try:
    Doc(vocab).from_json({"text": "one\n\ntwo", "tokens": tokens})
except AssertionError as error:
    gap = f"AssertionError({error})"
print("with “_”:", problem, "| of the DocBin:", back.user_data, "| gap:", gap)
assert "E083" in problem and back.user_data == {"a": "1"} and gap == "AssertionError()"
PYTHON
# Output seen:
# with “_”: [E083] Error setting extension: only one | of the DocBin: {'a': '1'} | gap: AssertionError()
