"""Read and write the tokenizer files of a folder.

A `tokenizer.json` is complete; without it, the older files are read like the named class of
transformers reads them.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.files.snapshot_folder import shared_folder
from engine.phrases import phrase
from engine.tokenizers import byte_bpe, sentencepiece, tokenizer_json, unigram, wordpiece
from engine.tokenizers.declared import CONFIG, Settings, read_declared, stated_length
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
TOKENIZER_JSON = "tokenizer.json"
CASING = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)
WORDPIECE_CLASSES = (  # in transformers, without “Fast”; all split like BERT
    *("BertTokenizer", "ConvBertTokenizer", "DistilBertTokenizer", "DPRContextEncoderTokenizer"),
    *("DPRQuestionEncoderTokenizer", "DPRReaderTokenizer", "ElectraTokenizer", "FunnelTokenizer"),
    *("LayoutLMTokenizer", "LxmertTokenizer", "MobileBertTokenizer", "RetriBertTokenizer"),
    *("SplinterTokenizer", "SqueezeBertTokenizer"),
)
BYTE_LEVEL_CLASSES = ("RobertaTokenizer", "GPT2Tokenizer", "LongformerTokenizer")
HERBERT = "HerbertTokenizer"
CLASS_DEFAULTS: dict[type[Vocabulary], dict[str, object]] = {  # in transformers 4 and 5
    wordpiece.WordPiece: {
        "do_lower_case": True,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
    },
    byte_bpe.ByteLevelBpe: {"add_prefix_space": False},
}
UNIGRAM_DEFAULTS: dict[str, dict[str, object]] = {  # the same, by class
    "AlbertTokenizer": {"do_lower_case": True, "keep_accents": False},
    "DebertaV2Tokenizer": {"do_lower_case": False},
}


def read_folder(folder: Path) -> Vocabulary:
    """Read the vocabulary of a checkpoint folder.

    The config, else the name of a Google folder, else the tokens decide if WordPiece is lowercase.

    Raises BadCheckpoint if there is no vocabulary, or a damaged or unknown one.
    """
    folder = shared_folder(folder)
    declared = read_declared(folder)
    path = folder / TOKENIZER_JSON
    loaded = (
        _read_tokenizer_json(read_json_object(path), declared, path)
        if path.exists()
        else _read_older_files(folder, declared)
    )
    if declared.lowers_first and not loaded.lowercase:
        loaded = _lower_first(loaded, path, declared)
    if declared.has_segments is False:
        loaded = replace(loaded, second_segment=0)
    return replace(
        loaded,
        cuts_beginning=declared.config.get("truncation_side") == "left",
        max_length=stated_length(declared.config),
    )


def class_notes(folder: Path, vocabulary: Vocabulary) -> list[str]:
    """A note if transformers would split texts otherwise than tokenizer.json says; empty else.

    Its classes replace settings of the file by their defaults, unless the config states them.
    """
    declared = read_declared(shared_folder(folder))
    if not (shared_folder(folder) / TOKENIZER_JSON).exists():
        return _case_notes(vocabulary, declared)
    if declared.is_generic:
        return []
    settings = vocabulary.class_config()
    defaults = CLASS_DEFAULTS.get(type(vocabulary), {})
    if isinstance(vocabulary, unigram.Unigram):
        name = sentencepiece.class_of(shared_folder(folder), declared)
        defaults = UNIGRAM_DEFAULTS.get(name, {})
    differing = {
        name: settings[name]
        for name, default in defaults.items()
        if name not in declared.config and settings[name] != default
    }
    if differing.get("strip_accents") == settings.get("do_lower_case"):
        differing.pop("strip_accents", None)  # the default is the same
    if not differing:
        return []
    return [
        phrase(
            "tokenizer.json is followed ({settings}); transformers takes the defaults of the class "
            "for what tokenizer_config.json does not state.",
            settings=", ".join(f"{name}: {json.dumps(value)}" for name, value in differing.items()),
        )
    ]


def _case_notes(vocabulary: Vocabulary, declared: Settings) -> list[str]:
    is_open = isinstance(vocabulary, wordpiece.WordPiece) and "do_lower_case" not in declared.config
    if not is_open or vocabulary.lowercase:
        return []
    return [
        phrase(
            "No file says whether the case is kept; it is, because the vocabulary has capital "
            "letters. transformers 4 lowers it."
        )
    ]


def _lower_first(loaded: Vocabulary, path: Path, declared: Settings) -> Vocabulary:
    """Lower the case before the other steps; accents stay."""
    if isinstance(loaded, wordpiece.WordPiece):
        return replace(loaded, lowercase=True, strip_accents=bool(loaded.strip_accents))
    if not path.exists():
        raise BadCheckpoint(
            "do_lower_case of sentence-transformers needs a tokenizer.json for this vocabulary.",
            ADD_JSON,
        )
    content = read_json_object(path)
    steps = [{"type": "Lowercase"}, *filter(None, [content.get("normalizer")])]
    content["normalizer"] = {"type": "Sequence", "normalizers": steps}
    return tokenizer_json.from_json(content, declared, path)


def _read_tokenizer_json(content: dict[str, Any], declared: Settings, path: Path) -> Vocabulary:
    """Read a tokenizer.json as a known kind, or step by step."""
    for read in (wordpiece.from_json, byte_bpe.from_json, unigram.from_json):
        if (known := read(content, declared, path)) is not None:
            return known
    return tokenizer_json.from_json(content, declared, path)


def _read_older_files(folder: Path, declared: Settings) -> Vocabulary:
    """Read the older files like the named class; without one, the files present decide."""
    class_name = declared.tokenizer
    is_open = not class_name or declared.is_generic
    has_lines = (folder / wordpiece.VOCABULARY).exists()
    has_bpe = (folder / byte_bpe.VOCABULARY).exists()
    if has_lines and (is_open or class_name in WORDPIECE_CLASSES):
        path = folder / wordpiece.VOCABULARY
        return wordpiece.from_lines(path, lowercase_by_name(folder), declared)
    if has_bpe and class_name == HERBERT:
        return _read_herbert(folder, declared)
    if has_bpe and (is_open or class_name in BYTE_LEVEL_CLASSES):
        return byte_bpe.from_vocab_and_merges(folder, declared)
    model = sentencepiece.find_file(folder)
    if model is not None and (known := sentencepiece.from_model(model, declared)) is not None:
        return known
    raise _unreadable_error(folder, class_name, has_lines or has_bpe)


def _read_herbert(folder: Path, declared: Settings) -> TokenizerJson:
    """Read vocab.json and merges.txt of HerBERT (Mroczkowski et al. 2021).

    It is a BPE with end-of-word marks and splits like its class; newer folders have a
    tokenizer.json. Raises BadCheckpoint.
    """
    suffix = "</w>"
    words = read_json_object(folder / byte_bpe.VOCABULARY)
    special = special_names(declared.config, byte_bpe.SPECIAL)
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
    return tokenizer_json.from_json(content, declared, folder / byte_bpe.VOCABULARY)


def _unreadable_error(folder: Path, class_name: str, has_older_files: bool) -> BadCheckpoint:
    """Error for a folder without a tokenizer.json or sufficient older files."""
    if (model := sentencepiece.find_file(folder)) is not None:
        return BadCheckpoint(
            "{folder} has its vocabulary only in {model}, and nothing says how its tokens are "
            "numbered.",
            ADD_JSON,
            folder=folder.name,
            model=model.name,
        )
    if has_older_files:
        return BadCheckpoint(
            "The tokenizer of {folder} is a {named}, and without a tokenizer.json it is not "
            "known how it splits text.",
            ADD_JSON,
            folder=folder.name,
            named=class_name[:60],
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


def write_folder(
    vocabulary: Vocabulary, library_json: str, folder: Path, max_length: int | None
) -> None:
    """Write the files that transformers and other tools read."""
    config = vocabulary.config()
    if max_length is not None:
        config["model_max_length"] = max_length
    texts = {
        TOKENIZER_JSON: library_json,
        **vocabulary.files(),
        CONFIG: _as_json(config),
        "special_tokens_map.json": _as_json(
            {key: config[key] for key in SPECIAL_KEYS if key in config}
        ),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode("utf-8"))


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def lowercase_by_name(folder: Path) -> bool | None:
    """Return True if the name of a Google folder says “uncased”, False if “cased”, else None.

    Its config has no such entry; Google's code uses the name, too.
    """
    if not (folder / GOOGLE_CONFIG).is_file():
        return None
    match = CASING.search(folder.absolute().name)
    return match[1] is not None if match else None
