#!/usr/bin/env bash
# transformers 5.0.0 and 4.57.1: an empty second text is no second text, unless it is in a list.
#
# tokenizer("a", "") encodes one text, [CLS] a [SEP]; tokenizer(["a"], [""]) encodes a pair,
# [CLS] a [SEP] [SEP], and tokenizer("", "a") one, too. A model trained on batches, as data sets are
# tokenized, reads other tokens when a row with an empty second column is predicted alone.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for version in 5.0.0 4.57.1; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q "transformers==$version" 2> /dev/null
    "$folder/$version/bin/python" -W ignore - << 'PYTHON'
import pathlib

import transformers

pathlib.Path("vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]))
tokenizer = transformers.BertTokenizerFast("vocab.txt")
alone, listed = tokenizer("a", ""), tokenizer(["a"], [""])
print(transformers.__version__, alone["input_ids"], listed["input_ids"][0])
assert alone["input_ids"] == [2, 5, 3] and listed["input_ids"] == [[2, 5, 3, 3]]
assert listed["token_type_ids"] == [[0, 0, 0, 1]]
assert tokenizer("", "a")["input_ids"] == [2, 3, 5, 3]
PYTHON
done
# Output seen:
# 5.0.0 [2, 5, 3] [2, 5, 3, 3]
# 4.57.1 [2, 5, 3] [2, 5, 3, 3]
