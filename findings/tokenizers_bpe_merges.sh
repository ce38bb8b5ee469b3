#!/usr/bin/env bash
# tokenizers 0.19.1, 0.20.3 and 0.22.1: since 0.20 a BPE file cannot be read by older versions.
#
# Since 0.20, tokenizer.json has each merge as a list of two tokens instead of "a b". 0.19.1 says
# "data did not match any variant of untagged enum ModelWrapper", which names neither the merges nor
# a version. `version` in the file is "1.0" in both forms. Files of WordPiece are not affected, and
# newer versions read old files. transformers 4.44 and older install tokenizers below 0.20.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for version in 0.19.1 0.20.3 0.22.1; do
    python3 -m venv "venv-$version"
    "venv-$version/bin/pip" install -q "tokenizers==$version" 2> /dev/null
    "venv-$version/bin/python" - <<'PYTHON'
import json

import tokenizers
from tokenizers.models import BPE, WordPiece

version = tokenizers.__version__
tokenizers.Tokenizer(BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])).save(f"bpe-{version}.json")
tokenizers.Tokenizer(WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]")).save(f"wordpiece-{version}.json")
content = json.load(open(f"bpe-{version}.json"))
print(version, "writes merges as", content["model"]["merges"], "in a file of version", content["version"])
PYTHON
done
for reader in 0.19.1 0.20.3 0.22.1; do
    "venv-$reader/bin/python" - <<'PYTHON'
import tokenizers

reader = tokenizers.__version__
results = {}
for kind in ("bpe", "wordpiece"):
    for writer in ("0.19.1", "0.20.3", "0.22.1"):
        try:
            tokenizers.Tokenizer.from_file(f"{kind}-{writer}.json")
            results[kind, writer] = "read"
        except Exception as error:
            results[kind, writer] = str(error).partition(" at line")[0]
print(reader, "reads", results)
for (kind, writer), result in results.items():
    fails = reader == "0.19.1" and kind == "bpe" and writer != "0.19.1"
    assert result == ("data did not match any variant of untagged enum ModelWrapper" if fails else "read")
PYTHON
done
# Output seen:
# 0.19.1 writes merges as ['a b'] in a file of version 1.0
# 0.20.3 writes merges as [['a', 'b']] in a file of version 1.0
# 0.22.1 writes merges as [['a', 'b']] in a file of version 1.0
# 0.19.1 reads {('bpe', '0.19.1'): 'read', ('bpe', '0.20.3'): 'data did not match any variant of untagged enum ModelWrapper', ('bpe', '0.22.1'): 'data did not match any variant of untagged enum ModelWrapper', ('wordpiece', '0.19.1'): 'read', ('wordpiece', '0.20.3'): 'read', ('wordpiece', '0.22.1'): 'read'}
# 0.20.3 reads {('bpe', '0.19.1'): 'read', ('bpe', '0.20.3'): 'read', ('bpe', '0.22.1'): 'read', ('wordpiece', '0.19.1'): 'read', ('wordpiece', '0.20.3'): 'read', ('wordpiece', '0.22.1'): 'read'}
# 0.22.1 reads {('bpe', '0.19.1'): 'read', ('bpe', '0.20.3'): 'read', ('bpe', '0.22.1'): 'read', ('wordpiece', '0.19.1'): 'read', ('wordpiece', '0.20.3'): 'read', ('wordpiece', '0.22.1'): 'read'}
