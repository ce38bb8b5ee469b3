#!/usr/bin/env bash
# transformers 4.57.6 and 5.0.0: `truncation=True` cuts nothing if no file states a length.
#
# A folder with a complete tokenizer.json and a config.json of 512 positions, but without
# `model_max_length` in tokenizer_config.json, has a maximum of 1e30 tokens, although both files are
# in one folder and AutoTokenizer reads config.json. `truncation=True` then truncates nothing, and
# `padding="max_length"` pads nothing, each with a log line at most. With the entry, both work.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > show.py <<'PYTHON'
import json
import pathlib

import tokenizers
import transformers

transformers.logging.set_verbosity_error()
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
backend = tokenizers.BertWordPieceTokenizer({word: index for index, word in enumerate(words)})
for length in ({}, {"model_max_length": 512}):
    folder = pathlib.Path(f"model{len(length)}")
    folder.mkdir(exist_ok=True)
    backend.save(str(folder / "tokenizer.json"))
    config = {"model_type": "bert", "vocab_size": 6, "max_position_embeddings": 512}
    (folder / "config.json").write_text(json.dumps(config))
    settings = {"tokenizer_class": "BertTokenizer", **length}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    cut = len(tokenizer("a " * 1000, truncation=True).input_ids)
    padded = len(tokenizer("a", padding="max_length").input_ids)
    print(transformers.__version__, length, "maximum", tokenizer.model_max_length, "cut to", cut, "padded to", padded)
    assert (cut, padded) == ((512, 512) if length else (1002, 3))
    assert length or tokenizer.model_max_length > 10**29
PYTHON
for version in 4.57.6 5.0.0; do
    python3 -m venv "venv-$version"
    "venv-$version/bin/pip" install -q "transformers==$version" 2> /dev/null
    "venv-$version/bin/python" show.py 2> /dev/null
done
# Output seen:
# 4.57.6 {} maximum 1000000000000000019884624838656 cut to 1002 padded to 3
# 4.57.6 {'model_max_length': 512} maximum 512 cut to 512 padded to 512
# 5.0.0 {} maximum 1000000000000000019884624838656 cut to 1002 padded to 3
# 5.0.0 {'model_max_length': 512} maximum 512 cut to 512 padded to 512
