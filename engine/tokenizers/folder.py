"""Read and write the vocabulary of a folder, of any kind.

A `tokenizer.json` is complete; without it, the older files are read as the named class of
transformers does.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.files.snapshot_folder import shared_folder
from engine.tokenizers import byte_bpe, sentencepiece, tokenizer_json, unigram, wordpiece
from engine.tokenizers.stated import CONFIG, Stated, read_stated
from engine.tokenizers.tokenizer_json import TokenizerJson
from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.vocabulary_files import (
    ADD_JSON,
    ADVICE,
    SPECIAL_KEYS,
    read_json_object,
    special_names,
)

GOOGLE_CONFIG = "bert_config.json"  # config.json in Google's releases
PUBLISHED = "tokenizer.json"
CASE = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)
WORDPIECE_CLASSES = (  # in transformers, without “Fast”; all split like BERT
    *("BertTokenizer", "ConvBertTokenizer", "DistilBertTokenizer", "DPRContextEncoderTokenizer"),
    *("DPRQuestionEncoderTokenizer", "DPRReaderTokenizer", "ElectraTokenizer", "FunnelTokenizer"),
    *("LayoutLMTokenizer", "LxmertTokenizer", "MobileBertTokenizer", "RetriBertTokenizer"),
    *("SplinterTokenizer", "SqueezeBertTokenizer"),
)
BYTE_LEVEL_CLASSES = ("RobertaTokenizer", "GPT2Tokenizer", "LongformerTokenizer")
HERBERT = "HerbertTokenizer"


def read_folder(folder: Path) -> Vocabulary:
    """Read the vocabulary of a checkpoint folder.

    A WordPiece vocabulary is lowercase by its config, else by the name of a Google folder, else by
    its tokens.

    Raises BadCheckpoint if there is no vocabulary, or a damaged or unknown one.
    """
    folder = shared_folder(folder)
    stated = read_stated(folder)
    path = folder / PUBLISHED
    loaded = (
        _read_published(read_json_object(path), stated, path)
        if path.exists()
        else _read_plain(folder, stated)
    )
    if stated.has_segments is False:
        loaded = replace(loaded, second_segment=0)
    return replace(loaded, cuts_beginning=stated.config.get("truncation_side") == "left")


def _read_published(content: dict[str, Any], stated: Stated, path: Path) -> Vocabulary:
    """Read a tokenizer.json as a known kind, or step by step."""
    for read in (wordpiece.from_published, byte_bpe.from_published, unigram.from_published):
        if (known := read(content, stated, path)) is not None:
            return known
    return tokenizer_json.from_published(content, stated, path)


def _read_plain(folder: Path, stated: Stated) -> Vocabulary:
    """Read the older files as the named class does; without one, by the files present."""
    named = stated.tokenizer
    is_open = not named or stated.is_generic
    has_lines = (folder / wordpiece.VOCABULARY).exists()
    has_merged = (folder / byte_bpe.WORDS).exists()
    if has_lines and (is_open or named in WORDPIECE_CLASSES):
        path = folder / wordpiece.VOCABULARY
        return wordpiece.from_lines(path, lowercase_by_name(folder), stated)
    if has_merged and named == HERBERT:
        return _read_herbert(folder, stated)
    if has_merged and (is_open or named in BYTE_LEVEL_CLASSES):
        return byte_bpe.from_plain(folder, stated)
    pieces = sentencepiece.file_in(folder)
    if pieces is not None and (read := sentencepiece.from_model(pieces, stated)) is not None:
        return read
    raise _unreadable(folder, named, has_lines or has_merged)


def _read_herbert(folder: Path, stated: Stated) -> TokenizerJson:
    """Read vocab.json and merges.txt of HerBERT (Mroczkowski et al. 2021).

    It is a BPE with end-of-word marks, split like its class in transformers; newer folders have a
    tokenizer.json. Raises BadCheckpoint.
    """
    suffix = "</w>"
    words = read_json_object(folder / byte_bpe.WORDS)
    special = special_names(stated.config, byte_bpe.SPECIAL)
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
        "decoder": {"type": "BPEDecoder", "suffix": suffix},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": suffix,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": words,
            "merges": byte_bpe.merge_lines(folder / byte_bpe.MERGES),
        },
    }
    return tokenizer_json.from_published(content, stated, folder / byte_bpe.WORDS)


def _unreadable(folder: Path, named: str, has_words: bool) -> BadCheckpoint:
    """Error for a folder without a tokenizer.json or sufficient older files."""
    if (model := sentencepiece.file_in(folder)) is not None:
        return BadCheckpoint(
            "{folder} has its vocabulary only in {model}, and nothing says how its tokens are "
            "numbered.",
            ADD_JSON,
            folder=folder.name,
            model=model.name,
        )
    if has_words:
        return BadCheckpoint(
            "The tokenizer of {folder} is a {named}, and without a tokenizer.json it is not "
            "known how it splits text.",
            ADD_JSON,
            folder=folder.name,
            named=named[:60],
        )
    return BadCheckpoint(
        "{folder} has no vocabulary: there is neither tokenizer.json nor vocab.txt.",
        ADVICE,
        folder=folder.name,
    )


def read_vocabulary(path: Path, lowercase: bool | None = None) -> Vocabulary:
    """Read a `vocab.txt` or its folder; by default lowercase unless a token has capitals."""
    if path.is_dir():
        return read_folder(path)
    return wordpiece.from_lines(path, lowercase)


def write_folder(vocabulary: Vocabulary, library_json: str, folder: Path) -> None:
    """Write the files that published tools read."""
    config = vocabulary.config()
    texts = {
        PUBLISHED: library_json,
        **vocabulary.files(),
        CONFIG: _as_json(config),
        "special_tokens_map.json": _as_json({key: config[key] for key in SPECIAL_KEYS}),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode("utf-8"))


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def lowercase_by_name(folder: Path) -> bool | None:
    """“cased” or “uncased” in the name of a Google folder, else None.

    Its config has no such entry; Google's code uses the name, too.
    """
    if not (folder / GOOGLE_CONFIG).is_file():
        return None
    named = CASE.search(folder.absolute().name)
    return named[1] is not None if named else None
