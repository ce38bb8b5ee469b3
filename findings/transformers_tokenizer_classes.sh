#!/usr/bin/env bash
# transformers 4.57.6, 5.24.0: a tokenizer.json is not followed; a class replaces parts of it, and the
# two versions replace different parts.
#
# A tokenizer.json that keeps case (BertNormalizer with lowercase false) is loaded as one that lowers it
# if tokenizer_config.json names BertTokenizer and has no do_lower_case, in both versions. Of ALBERT,
# version 4 follows the file; version 5 builds the normaliser from the defaults of the class, so the
# same folder gives other tokens after an upgrade. Nothing is printed about it. With the class
# PreTrainedTokenizerFast the file is followed by both.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > tokens.py <<'PYTHON'
import json
import pathlib

import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer

special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
bert = Tokenizer(models.WordPiece({word: n for n, word in enumerate(
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Ann", "ann"])}, unk_token="[UNK]"))
bert.normalizer = normalizers.BertNormalizer(lowercase=False)
bert.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
albert = Tokenizer(models.Unigram(
    [(word, 0.0) for word in special] + [("▁Ann", -1.0), ("▁ann", -1.0)], unk_id=1))
albert.normalizer = normalizers.NFKC()
albert.pre_tokenizer = pre_tokenizers.Metaspace()
found = {}
for name, tokenizer, model_type in (
    ("BertTokenizer", bert, "bert"),
    ("AlbertTokenizer", albert, "albert"),
    ("PreTrainedTokenizerFast", bert, "bert"),
):
    path = pathlib.Path(name)
    path.mkdir(exist_ok=True)
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "config.json").write_text(json.dumps({"model_type": model_type}))
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    loaded = AutoTokenizer.from_pretrained(name)
    found[name] = [word.strip("▁") for word in loaded.tokenize("Ann")]
print(transformers.__version__, found)
is_four = transformers.__version__.startswith("4.")
assert found == {
    "BertTokenizer": ["ann"],
    "AlbertTokenizer": ["Ann"] if is_four else ["ann"],
    "PreTrainedTokenizerFast": ["Ann"],
}
PYTHON
for version in 4.57.6 5.24.0; do
    python3 -m venv "venv-$version"
    "venv-$version/bin/pip" install -q "transformers==$version" 2> /dev/null
    "venv-$version/bin/python" tokens.py 2> /dev/null
done
# Output seen:
# 4.57.6 {'BertTokenizer': ['ann'], 'AlbertTokenizer': ['Ann'], 'PreTrainedTokenizerFast': ['Ann']}
# 5.24.0 {'BertTokenizer': ['ann'], 'AlbertTokenizer': ['ann'], 'PreTrainedTokenizerFast': ['Ann']}
