"""Files to download for a model: weights, config, vocabulary, card and licence; never code."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from engine.checkpoints.other_forms import other_form
from engine.checkpoints.source import CARD, LICENCES
from engine.errors import BadCheckpoint
from engine.files.untrusted import safe_name
from engine.phrases import phrase

CONFIGS = ("config.json", "bert_config.json")
TOKENIZERS = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt"),
    *("spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model"),
)
SENTENCE_CONFIGS = (  # sentence-transformers: pooling of the tokens
    *("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
)
DOCUMENTS = (CARD, *LICENCES)
MODULE = re.compile(
    r"[0-9]_(?:Pooling|Dense|LayerNorm|Dropout|Normalize)/"
    r"(?:config\.json|model\.safetensors|pytorch_model\.bin)"
)
SHARD = r"-\d{5}-of-\d{5}\."
WEIGHTS = (  # by preference; the first available kind is fetched
    ("model.safetensors",),
    ("model.safetensors.index.json", rf"model{SHARD}safetensors"),
    ("pytorch_model.bin",),
    ("pytorch_model.bin.index.json", rf"pytorch_model{SHARD}bin"),
    ("bert_model.ckpt.index", r"bert_model\.ckpt\.data-\d{5}-of-\d{5}"),
)
MAX_NAME = 200  # characters


def select_files(names: Iterable[str], model: str) -> list[str]:
    """The files to fetch, in order: small ones before the weights.

    Raises BadCheckpoint if a config, a vocabulary or weights are missing.
    """
    available = [name for name in names if is_plain(name)]
    small = (*CONFIGS, *TOKENIZERS, *SENTENCE_CONFIGS, *DOCUMENTS)
    chosen = [name for name in small if name in available]
    chosen += sorted(name for name in available if MODULE.fullmatch(name))
    weights = _weights(available)
    missing = [
        title
        for title, files in (
            (phrase("config.json"), set(CONFIGS) & set(chosen)),
            (phrase("a vocabulary"), set(TOKENIZERS) & set(chosen)),
            (phrase("weights of PyTorch or of TensorFlow 1"), weights),
        )
        if not files
    ]
    if missing:
        is_complete = missing == [phrase("a vocabulary")]
        form = None if is_complete else other_form(model, available)
        raise form or BadCheckpoint(
            "{model} has no {missing}.",
            "Choose another model; many are published in several forms.",
            model=safe_name(model),
            missing=missing[0],
        )
    return chosen + weights


def is_pickled(name: str) -> bool:
    """True if a weight file is a pickle, which is read without running its code."""
    return name.endswith(".bin")


def is_plain(name: str, max_parts: int = 2) -> bool:
    """True if an untrusted name is safe as a path below one of our folders."""
    path = PurePosixPath(name)
    return (
        0 < len(name) <= MAX_NAME
        and name.isprintable()
        and not path.is_absolute()
        and str(path) == name
        and len(path.parts) <= max_parts
        and not any(part.startswith(".") or ":" in part or "\\" in part for part in path.parts)
    )


def _weights(names: list[str]) -> list[str]:
    for first, *rest in WEIGHTS:
        parts = sorted(name for name in names if rest and re.fullmatch(rest[0], name))
        if first in names and (parts or not rest):
            return [first, *parts]
    return []
