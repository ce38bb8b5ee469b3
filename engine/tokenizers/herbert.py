"""The older files of HerBERT (Mroczkowski et al. 2021): a BPE with end-of-word marks.

The steps are those of its class in transformers; newer folders have a tokenizer.json.
"""

from pathlib import Path
from typing import Any

from engine.tokenizers.byte_bpe import MERGES, WORDS
from engine.tokenizers.stated import Stated
from engine.tokenizers.tokenizer_json import TokenizerJson, from_published
from engine.tokenizers.vocabulary_files import json_of, lines_of, special_names

CLASS = "HerbertTokenizer"
SPECIAL = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
SUFFIX = "</w>"


def from_plain(folder: Path, stated: Stated) -> TokenizerJson:
    """Read vocab.json and merges.txt. Raises BadCheckpoint."""
    words = json_of(folder / WORDS)
    lines = [line for line in lines_of(folder / MERGES) if line and not line.startswith("#version")]
    special = special_names(stated.config, SPECIAL)
    _, unknown, cls, sep, _ = special
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    content: dict[str, Any] = {
        "added_tokens": [
            {"id": words.get(name), "content": name, "special": True, **flags} for name in special
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": False,
            "lowercase": False,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "BertProcessing",
            "sep": [sep, words.get(sep, -1)],
            "cls": [cls, words.get(cls, -1)],
        },
        "decoder": {"type": "BPEDecoder", "suffix": SUFFIX},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": SUFFIX,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": words,
            "merges": lines,
        },
    }
    return from_published(content, stated, folder / WORDS)
