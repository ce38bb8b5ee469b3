#!/usr/bin/env bash
# transformers 4.57.6, 5.24.0: the second text of a pair loses its segment with ALBERT's tokenizer.
#
# ALBERT is trained with token_type_ids 0 and 1, and the tokenizer.json says so (type_id 1 after the
# first [SEP]). Version 4 returns them. Version 5 returns input_ids and attention_mask alone for the
# same folder, so that a model gets 0 everywhere and scores pairs differently after an upgrade, without
# a warning. `return_token_type_ids=True` brings them back.
set -euo pipefail
unset PYTHONPATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pairs.py <<'PYTHON'
import json
import pathlib

import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer

special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
scores = [(token, 0.0) for token in special] + [("\u2581rain", -1.0), ("\u2581wet", -1.0)]
albert = Tokenizer(models.Unigram(scores, unk_id=1))
albert.pre_tokenizer = pre_tokenizers.Metaspace()
albert.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
    special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
)  # fmt: skip
albert.add_special_tokens(special)
folder = pathlib.Path("albert")
folder.mkdir(exist_ok=True)
albert.save(str(folder / "tokenizer.json"))
names = dict(zip(("pad", "unk", "cls", "sep", "mask"), special))
settings = {"tokenizer_class": "AlbertTokenizer", **{f"{n}_token": t for n, t in names.items()}}
(folder / "tokenizer_config.json").write_text(json.dumps(settings))
(folder / "config.json").write_text(json.dumps({"model_type": "albert"}))
tokenizer = AutoTokenizer.from_pretrained(folder)
usual = tokenizer("rain", "wet").get("token_type_ids")
asked = tokenizer("rain", "wet", return_token_type_ids=True)["token_type_ids"]
print(transformers.__version__, "usual:", usual, "asked for:", asked)
is_four = transformers.__version__.startswith("4.")
assert usual == ([0, 0, 0, 1, 1] if is_four else None)
assert asked == [0, 0, 0, 1, 1]
PYTHON
for version in 4.57.6 5.24.0; do
    python3 -m venv "venv-$version"
    "venv-$version/bin/pip" install -q "transformers==$version" 2> /dev/null
    HF_HUB_OFFLINE=1 "venv-$version/bin/python" pairs.py 2> /dev/null
done
# Output seen:
# 4.57.6 usual: [0, 0, 0, 1, 1] asked for: [0, 0, 0, 1, 1]
# 5.24.0 usual: None asked for: [0, 0, 0, 1, 1]
