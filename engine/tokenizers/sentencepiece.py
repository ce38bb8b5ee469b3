"""Vocabularies in SentencePiece's own file only, as DeBERTa v3 is published.

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
from engine.tokenizers.stated import NETWORK, Stated
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
PIECES, TRAINER, NORMALIZER = 1, 2, 3  # fields of the file
PIECE, SCORE, KIND = 1, 2, 3  # of a piece
MODEL_TYPE, BYTE_FALLBACK, UNIGRAM = 3, 35, 1  # of the training settings
CHARACTERS = 2  # of the normaliser
NORMAL, USER_DEFINED = 1, 4  # kinds of pieces

Scored = list[list[Any]]  # pieces with their scores
BY_NETWORK = {  # tokenizer class of a network, if none is named
    "albert": "AlbertTokenizer",
    "camembert": "CamembertTokenizer",
    "deberta-v2": "DebertaV2Tokenizer",
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
    """Token ids and frame of a class of transformers.

    Args:
        numbered: tokens with scores, from the pieces.
        special: padding, unknown, start, end of a text, mask.
        separators: how many separate two texts.
        second_segment: segment id of the second text.
    """

    numbered: Callable[[Scored], Scored]
    special: tuple[str, str, str, str, str]
    separators: int
    second_segment: int


def _prepend(*first: str, dropped: int) -> Callable[[Scored], Scored]:
    """Own tokens, then the pieces without the first `dropped`."""
    own = [[name, -100.0 if name.startswith("<unk>N") else 0.0] for name in first]
    return lambda pieces: [*own, *pieces[dropped:]]


XLM = _prepend("<s>", "<pad>", "</s>", "<unk>", dropped=3)
CAMEMBERT = _prepend("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", dropped=1)
LAYOUTS = {  # by class
    "XLMRobertaTokenizer": Layout(XLM, byte_bpe.SPECIAL, 2, 0),
    "CamembertTokenizer": Layout(CAMEMBERT, byte_bpe.SPECIAL, 2, 0),
    "DebertaV2Tokenizer": Layout(list, wordpiece.SPECIAL, 1, 1),
    "AlbertTokenizer": Layout(list, unigram.SPECIAL, 1, 1),
}


def file_in(folder: Path) -> Path | None:
    """The SentencePiece file of a folder, or None."""
    return next((folder / name for name in FILES if (folder / name).exists()), None)


def from_model(path: Path, stated: Stated) -> Vocabulary | None:
    """Read a file as the named class does; None if that class is unknown.

    Raises BadCheckpoint if it is damaged, or not a Unigram model.
    """
    network = path.parent / NETWORK
    model_type = read_json_object(network).get("model_type") if network.exists() else None
    named = stated.tokenizer if not stated.is_generic else ""
    name = named or BY_NETWORK.get(model_type if isinstance(model_type, str) else "", "")
    layout = LAYOUTS.get(name)
    if layout is None:
        return None
    content = _tokenizer_json(read_model(path), layout, stated, name)
    names = dict(zip(SPECIAL_KEYS, layout.special, strict=True))
    stated = replace(stated, config=names | stated.config)
    vocabulary = unigram.from_published(content, stated, path)
    return vocabulary or tokenizer_json.from_published(content, stated, path)


def read_model(path: Path) -> Model:
    """Parse a file. Raises BadCheckpoint."""
    try:
        fields = decode_fields(read_regular(path, MAX_FILE_SIZE), MAX_FILE_SIZE)
        pieces = [_piece(message) for message in message_fields(fields, PIECES)]
        trainer = decode_fields(b"".join(message_fields(fields, TRAINER)), MAX_FILE_SIZE)
        normalizer = decode_fields(b"".join(message_fields(fields, NORMALIZER)), MAX_FILE_SIZE)
        kind = int_field(trainer, MODEL_TYPE) or UNIGRAM
        table = b"".join(message_fields(normalizer, CHARACTERS))
        falls_back = bool(int_field(trainer, BYTE_FALLBACK))
    except (Damage, OSError, UnicodeDecodeError, struct.error) as error:
        raise BadCheckpoint(
            "{path} is not a whole file of SentencePiece.", ADVICE, path=path.name
        ) from error
    if kind != UNIGRAM:
        raise BadCheckpoint(
            "{path} is a SentencePiece model, but not a Unigram one.", ADD_JSON, path=path.name
        )
    if not 0 < len(pieces) <= MAX_TOKENS:
        raise BadCheckpoint("{path} contains no vocabulary.", ADVICE, path=path.name)
    return Model(pieces, base64.b64encode(table).decode(), falls_back)


def _piece(message: bytes) -> tuple[str, float, int]:
    fields = decode_fields(message)
    text = message_fields(fields, PIECE)
    score = struct.unpack("<f", struct.pack("<I", int_field(fields, SCORE)))[0]
    return (text[-1].decode("utf-8") if text else ""), score, int_field(fields, KIND) or NORMAL


def _tokenizer_json(model: Model, layout: Layout, stated: Stated, name: str) -> dict[str, Any]:
    scored = layout.numbered([[text, score] for text, score, _ in model.pieces])
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
        "normalizer": {"type": "Sequence", "normalizers": _steps(model, stated, name)},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Metaspace", "replacement": unigram.MARK, "prepend_scheme": "always"},
            ],
        },
        "post_processor": _frame(cls, sep, layout),
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


def _steps(model: Model, stated: Stated, name: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    is_albert = name == "AlbertTokenizer"
    if is_albert:
        steps += [
            {"type": "Replace", "pattern": {"String": quote}, "content": '"'}
            for quote in unigram.QUOTES
        ]
        if not stated.config.get("keep_accents"):
            steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if stated.config.get("do_lower_case", is_albert) is True:
        steps.append({"type": "Lowercase"})
    if model.characters:
        steps.append({"type": "Precompiled", "precompiled_charsmap": model.characters})
    return [*steps, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]


def _frame(cls: str, sep: str, layout: Layout) -> dict[str, Any]:
    def piece(name: str, segment: int = 0) -> dict[str, Any]:
        kind = "Sequence" if name in ("A", "B") else "SpecialToken"
        return {kind: {"id": name, "type_id": segment}}

    second = layout.second_segment
    between = [piece(sep)] * layout.separators
    return {
        "type": "TemplateProcessing",
        "single": [piece(cls), piece("A"), piece(sep)],
        "pair": [piece(cls), piece("A"), *between, piece("B", second), piece(sep, second)],
    }
