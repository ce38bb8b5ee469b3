"""Vocabularies that have only a SentencePiece file, such as that of DeBERTa v3.

The file is a protocol buffer (sentencepiece_model.proto): pieces with scores and kinds, training
settings, and a character map. The classes of transformers number the pieces differently; the result
is equal to their tokenizer.json.
"""

import base64
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.files.protobuf import Damage, decode_fields, int_field, message_fields
from engine.files.regular_file import read_regular
from engine.tokenizers import byte_bpe, tokenizer_json, unigram, wordpiece
from engine.tokenizers.declared import NETWORK, Settings
from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.vocabulary_files import (
    ADD_JSON,
    ADVICE,
    MAX_FILE_SIZE,
    MAX_TOKENS,
    SPECIAL_KEYS,
    read_json_object,
)

FILES = ("spm.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
PIECES, TRAINER, NORMALIZER = 1, 2, 3  # field numbers of the file
PIECE, SCORE, KIND = 1, 2, 3  # field numbers of a piece
MODEL_TYPE, BYTE_FALLBACK, UNIGRAM = 3, 35, 1  # two fields of the trainer, a model type
CHARACTERS = 2  # field number of the normaliser
NORMAL, USER_DEFINED = 1, 4  # kinds of pieces

ScoredTokens = list[list[Any]]  # a token and its score each
CLASSES = {  # if the files name no tokenizer class
    "albert": "AlbertTokenizer",
    "camembert": "CamembertTokenizer",
    "deberta-v2": "DebertaV2Tokenizer",
    "gte": "XLMRobertaTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
}


@dataclass(frozen=True)
class Model:
    """Content of a SentencePiece file."""

    pieces: list[tuple[str, float, int]]  # text, score (log probability) and kind
    characters: str  # character map, base64; may be empty
    byte_fallback: bool


@dataclass(frozen=True)
class Layout:
    """Token ids and special tokens of a class of transformers.

    Args:
        number_tokens: converts the pieces to tokens in the order of their ids.
        special: padding, unknown, start, end of a text, mask.
        separators: number of [SEP] between two texts.
        second_segment: segment id of the second text.
    """

    number_tokens: Callable[[ScoredTokens], ScoredTokens]
    special: tuple[str, str, str, str, str]
    separators: int
    second_segment: int


def _prepending(*first: str, dropped: int) -> Callable[[ScoredTokens], ScoredTokens]:
    """Return a function that replaces the first `dropped` pieces by other tokens."""
    prepended = [[name, -100.0 if name.startswith("<unk>N") else 0.0] for name in first]
    return lambda pieces: [*prepended, *pieces[dropped:]]


XLM = _prepending("<s>", "<pad>", "</s>", "<unk>", dropped=3)
CAMEMBERT = _prepending("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", dropped=1)
LAYOUTS = {  # by tokenizer class
    "XLMRobertaTokenizer": Layout(XLM, byte_bpe.SPECIAL, 2, 0),
    "CamembertTokenizer": Layout(CAMEMBERT, byte_bpe.SPECIAL, 2, 0),
    "DebertaV2Tokenizer": Layout(list, wordpiece.SPECIAL, 1, 1),
    "AlbertTokenizer": Layout(list, unigram.SPECIAL, 1, 1),
}


def find_file(folder: Path) -> Path | None:
    """Return the SentencePiece file of a folder; None if it has none."""
    return next((folder / name for name in FILES if (folder / name).exists()), None)


def from_model(path: Path, declared: Settings) -> Vocabulary | None:
    """Read a file like the named class; None if the class is unknown.

    Raises BadCheckpoint if the file is damaged or not a Unigram model.
    """
    name = class_of(path.parent, declared)
    layout = LAYOUTS.get(name)
    if layout is None:
        return None
    content = _build_json(read_model(path), layout, declared, name)
    names = dict(zip(SPECIAL_KEYS, layout.special, strict=True))
    declared = replace(declared, config=names | declared.config)
    vocabulary = unigram.from_json(content, declared, path)
    return vocabulary or tokenizer_json.from_json(content, declared, path)


def class_of(folder: Path, declared: Settings) -> str:
    """The tokenizer class of a folder, which its files or its model type name; may be empty."""
    if declared.tokenizer and not declared.is_generic:
        return declared.tokenizer
    network = folder / NETWORK
    model_type = read_json_object(network).get("model_type") if network.exists() else None
    return CLASSES.get(model_type, "") if isinstance(model_type, str) else ""


def read_model(path: Path) -> Model:
    """Parse a SentencePiece file. Raises BadCheckpoint."""
    try:
        fields = decode_fields(read_regular(path, MAX_FILE_SIZE), MAX_FILE_SIZE)
        pieces = [_parse_piece(message) for message in message_fields(fields, PIECES)]
        trainer = decode_fields(b"".join(message_fields(fields, TRAINER)), MAX_FILE_SIZE)
        normalizer = decode_fields(b"".join(message_fields(fields, NORMALIZER)), MAX_FILE_SIZE)
        kind = int_field(trainer, MODEL_TYPE) or UNIGRAM
        table = b"".join(message_fields(normalizer, CHARACTERS))
        byte_fallback = bool(int_field(trainer, BYTE_FALLBACK))
    except (Damage, OSError, UnicodeDecodeError, struct.error) as error:
        raise BadCheckpoint(
            "{path} is not a complete SentencePiece file.", ADVICE, path=path.name
        ) from error
    if kind != UNIGRAM:
        raise BadCheckpoint(
            "{path} is a SentencePiece model, but not a Unigram one.", ADD_JSON, path=path.name
        )
    if not 0 < len(pieces) <= MAX_TOKENS:
        raise BadCheckpoint("{path} contains no vocabulary.", ADVICE, path=path.name)
    return Model(pieces, base64.b64encode(table).decode(), byte_fallback)


def _parse_piece(message: bytes) -> tuple[str, float, int]:
    fields = decode_fields(message)
    text = message_fields(fields, PIECE)
    score = struct.unpack("<f", struct.pack("<I", int_field(fields, SCORE)))[0]
    return (text[-1].decode("utf-8") if text else ""), score, int_field(fields, KIND) or NORMAL


def _build_json(model: Model, layout: Layout, declared: Settings, name: str) -> dict[str, Any]:
    scored = layout.number_tokens([[text, score] for text, score, _ in model.pieces])
    known = {text: index for index, (text, _) in enumerate(scored)}
    for token in layout.special:
        if token not in known:
            known[token] = len(known)
            scored.append([token, 0.0])
    user_defined = {text for text, _, kind in model.pieces if kind == USER_DEFINED}
    added = [
        {"id": known[text], "content": text, "special": text in layout.special}
        for text in known
        if text in user_defined or text in layout.special
    ]
    _, unknown, cls, sep, mask = layout.special
    for row in added:
        if row["content"] == mask:
            row["lstrip"] = True
    return {
        "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": _steps(model, declared, name)},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Metaspace", "replacement": unigram.MARK, "prepend_scheme": "always"},
            ],
        },
        "post_processor": _build_post_processor(cls, sep, layout),
        "decoder": {
            "type": "Metaspace",
            "replacement": unigram.MARK,
            "prepend_scheme": "always",
            "split": True,
        },
        "model": {
            "type": "Unigram",
            "unk_id": known[unknown],
            "vocab": json.loads(json.dumps(scored)),
            "byte_fallback": model.byte_fallback,
        },
    }


def _steps(model: Model, declared: Settings, name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    is_albert = name == "AlbertTokenizer"
    if is_albert:
        steps += [
            {"type": "Replace", "pattern": {"String": quote}, "content": '"'}
            for quote in unigram.QUOTES
        ]
        if not declared.config.get("keep_accents"):
            steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if declared.config.get("do_lower_case", is_albert) is True:
        steps.append({"type": "Lowercase"})
    if model.characters:
        steps.append({"type": "Precompiled", "precompiled_charsmap": model.characters})
    return [*steps, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]


def _build_post_processor(cls: str, sep: str, layout: Layout) -> dict[str, Any]:
    def part(name: str, segment: int = 0) -> dict[str, Any]:
        kind = "Sequence" if name in ("A", "B") else "SpecialToken"
        return {kind: {"id": name, "type_id": segment}}

    second = layout.second_segment
    between = [part(sep)] * layout.separators
    return {
        "type": "TemplateProcessing",
        "single": [part(cls), part("A"), part(sep)],
        "pair": [part(cls), part("A"), *between, part("B", second), part(sep, second)],
    }
