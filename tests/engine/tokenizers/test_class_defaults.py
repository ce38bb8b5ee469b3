"""Loading follows tokenizer.json, and notes the texts that transformers splits otherwise.

Its classes replace what a file says by their defaults, unless tokenizer_config.json states it.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from engine.tokenizers.folder import class_notes
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.tokenizers import published_tokenizers

TEXTS = ["The Café İs 北京 Über", "the cafe is good", "Hello World hello"]
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CHARACTERS = sorted({c for text in TEXTS for c in text + text.lower() + text.upper()} - {" "})
WORDS = [*SPECIAL, *CHARACTERS, *(f"##{c}" for c in CHARACTERS)]
BERT = ("BertTokenizer", "BertTokenizerFast", "ElectraTokenizer", "PreTrainedTokenizerFast")


def word_pieces(folder: Path, config: dict[str, Any], **changes: object) -> Path:
    """A folder with BERT's steps in tokenizer.json, with these settings of the normaliser."""
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS), encoding="utf-8")
    Tokenizer.from_vocabulary(folder / "vocab.txt", lowercase=True).save(folder)
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["normalizer"] |= changes
    path.write_text(json.dumps(content))
    (folder / "vocab.txt").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def without(folder: Path, *names: str) -> Path:
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in config.items() if k not in names}))
    return folder


def bert(name: str, config: dict[str, Any], **changes: object):
    return (
        f"{name}, file {changes}, config {config}",
        "bert",
        lambda folder: word_pieces(folder, {"tokenizer_class": name, **config}, **changes),
    )


def byte_level(spaced: bool, states: bool):
    names = () if states else ("add_prefix_space",)
    return (
        f"RoBERTa, file {spaced}, stated {states}",
        "roberta",
        lambda f: without(published_tokenizers.byte_level(f, TEXTS * 5, spaced=spaced), *names),
    )


def sentence_pieces(lowercase: bool, accents: bool, states: bool):
    names = () if states else ("do_lower_case", "keep_accents")
    options = {"lowercase": lowercase, "keep_accents": accents}
    return (
        f"ALBERT, file {options}, stated {states}",
        "albert",
        lambda f: without(
            published_tokenizers.sentence_pieces(f, TEXTS * 20, 80, **options), *names
        ),
    )


def unigram(family: str, names: bool):
    without_class = () if names else ("tokenizer_class",)
    return (
        f"{family}, class named {names}",
        family,
        lambda f: without(
            published_tokenizers.many_languages(f, TEXTS * 20, 80, family), *without_class
        ),
    )


BOTH = (True, False)
FOLDERS = [
    *(bert(name, {}, lowercase=False) for name in BERT),
    *(bert("BertTokenizer", {}, lowercase=True, strip_accents=value) for value in (None, *BOTH)),
    *(bert("BertTokenizer", {"do_lower_case": value}, lowercase=True) for value in BOTH),
    *(bert("BertTokenizer", {"do_lower_case": value}, lowercase=False) for value in BOTH),
    bert("BertTokenizer", {}, handle_chinese_chars=False),
    *(byte_level(*values) for values in itertools.product(BOTH, BOTH)),
    *(sentence_pieces(*values) for values in itertools.product(BOTH, BOTH, BOTH)),
    *(unigram(*values) for values in itertools.product(("xlm-roberta", "camembert"), BOTH)),
]


@pytest.mark.parametrize("name, family, make", FOLDERS, ids=[name for name, *_ in FOLDERS])
def test_a_note_tells_where_transformers_splits_otherwise(name, family, make, tmp_path):
    folder = make(tmp_path / "model")
    (folder / "config.json").write_text(json.dumps({"model_type": family}))
    tokenizer = Tokenizer.from_folder(folder)
    notes = class_notes(folder, tokenizer.vocabulary)
    theirs = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    same = theirs(TEXTS)["input_ids"] == [tokenizer.encode(text).ids for text in TEXTS]
    assert same != bool(notes)
    (tmp_path / "saved").mkdir()
    tokenizer.save(tmp_path / "saved")
    (tmp_path / "saved" / "config.json").write_text(json.dumps({"model_type": family}))
    saved = AutoTokenizer.from_pretrained(str(tmp_path / "saved"), local_files_only=True)
    assert saved(TEXTS)["input_ids"] == [tokenizer.encode(text).ids for text in TEXTS]
    assert not class_notes(tmp_path / "saved", tokenizer.vocabulary)
