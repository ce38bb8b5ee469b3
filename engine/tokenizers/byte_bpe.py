"""Byte-level byte-pair encoding, as RoBERTa has it (Radford et al. 2019, §2.2; Liu et al. 2019).

A text is cut into words, each with the space before it; a word is its bytes in UTF-8, and the
bytes are merged, pair by pair, in the order in which the merges were learned. So every text has
tokens, and none is unknown. In the files a byte is written as a character that can be seen.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors
from tokenizers import Tokenizer as LibraryTokenizer

from engine.errors import BadCheckpoint
from engine.phrases import phrase
from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.vocabulary_files import (
    ADVICE,
    MOST_TOKENS,
    Special,
    in_order,
    json_of,
    lines_of,
    numbered,
    special_names,
)

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
WORDS, MERGES = "vocab.json", "merges.txt"
SPACE = "▁"  # how the space in a token is shown
BYTES = 256


def _characters() -> dict[int, str]:
    """How each byte is written: as its own character where that can be seen, else as another."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(BYTES) if byte not in seen]
    own = {byte: chr(byte) for byte in seen}
    return own | {byte: chr(BYTES + number) for number, byte in enumerate(hidden)}


CHARACTERS = _characters()
BYTE_OF = {character: byte for byte, character in CHARACTERS.items()}
WRITTEN_SPACE = CHARACTERS[ord(" ")]


@dataclass(frozen=True)
class ByteLevelBpe(Vocabulary):
    """A byte-level vocabulary; `merges` are pairs of tokens, the first one is merged first."""

    kind: ClassVar[str] = "byte-level BPE"
    separators: ClassVar[int] = 2
    keeps_spaces: ClassVar[bool] = True
    mark: ClassVar[str] = SPACE
    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    special: Special = SPECIAL
    added: tuple[str, ...] = ()
    spaced: bool = False  # whether the first word counts as one with a space before it
    mask_takes_space: bool = True  # the space before a typed mask belongs to it
    lowercase: bool = field(default=False, init=False)
    marked: bool = field(default=True, init=False)

    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        library = LibraryTokenizer(models.BPE(ids, list(self.merges), fuse_unk=False))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=self.spaced)
        cls, sep, mask = self.special[2:]
        library.post_processor = processors.RobertaProcessing(
            (sep, ids[sep]), (cls, ids[cls]), trim_offsets=True, add_prefix_space=self.spaced
        )
        library.decoder = decoders.ByteLevel()
        library.add_special_tokens([AddedToken(p, normalized=False) for p in self.special[:4]])
        library.add_special_tokens([self._mask(mask)])
        library.add_tokens([AddedToken(p, normalized=False) for p in self.added])
        return library

    def continues(self, token: str) -> bool:
        whole = token in self.special or token in self.added
        return not whole and not token.startswith(WRITTEN_SPACE)

    def shown(self, token: str) -> str:
        """The text of a token; a space as “▁”, and bytes that are part of a character as \\xe6."""
        if token in self.special or not all(character in BYTE_OF for character in token):
            return token
        text = bytes(BYTE_OF[character] for character in token).decode("utf-8", "backslashreplace")
        return text.replace(" ", SPACE)

    def essence(self) -> list[Any]:
        settings = [self.special, self.added, self.spaced, self.mask_takes_space]
        return [self.kind, self.tokens, self.merges, *settings]

    def files(self) -> dict[str, str]:
        ids = {token: number for number, token in enumerate(self.tokens)}
        merges = "".join(f"{first} {second}\n" for first, second in self.merges)
        return {WORDS: json.dumps(ids, ensure_ascii=False), MERGES: f"#version: 0.2\n{merges}"}

    def config(self) -> dict[str, Any]:
        _, _, cls, sep, mask = self.special
        return {
            "tokenizer_class": "RobertaTokenizer",
            "add_prefix_space": self.spaced,
            "trim_offsets": True,
            **self.special_by_key,
            "bos_token": cls,
            "eos_token": sep,
            "mask_token": {
                "__type": "AddedToken",
                "content": mask,
                "lstrip": self.mask_takes_space,
                "normalized": False,
                "rstrip": False,
                "single_word": False,
            },
        }

    def _mask(self, mask: str) -> AddedToken:
        return AddedToken(mask, lstrip=self.mask_takes_space, normalized=False)


def from_published(
    content: dict[str, Any], config: dict[str, Any], path: Path
) -> ByteLevelBpe | None:
    """Read a tokenizer.json; None where its steps are not those of RoBERTa."""
    model, before = content.get("model"), content.get("pre_tokenizer")
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE" or "merges" not in model:
        return None
    if not isinstance(before, dict) or before.get("type") != "ByteLevel":
        return None
    others = ("dropout", "continuing_subword_prefix", "end_of_word_suffix")
    if content.get("normalizer") or any(model.get(name) for name in others):
        return None
    if model.get("byte_fallback") or model.get("ignore_merges") or before.get("use_regex") is False:
        return None
    ids, added = numbered(model, content, path)
    special = special_names(config, SPECIAL)
    flags = {t["content"]: t for t in content.get("added_tokens") or [] if t.get("content")}
    spaced = config.get("add_prefix_space", before.get("add_prefix_space"))
    return ByteLevelBpe(
        tokens=tuple(in_order(ids, path)),
        merges=_pairs(model["merges"], ids, path),
        special=special,
        added=tuple(token for token in added if token not in special),
        spaced=spaced is True,
        mask_takes_space=flags.get(special[4], {}).get("lstrip", True) is True,
    )


def from_plain(folder: Path, config: dict[str, Any]) -> ByteLevelBpe:
    """Read vocab.json and merges.txt."""
    words, merges = folder / WORDS, folder / MERGES
    if not merges.exists():
        raise BadCheckpoint(
            phrase(
                "{folder} has {words} but no {merges}.",
                folder=folder.name,
                words=WORDS,
                merges=MERGES,
            ),
            ADVICE,
        )
    ids = json_of(words)
    lines = [line for line in lines_of(merges) if line and not line.startswith("#version")]
    mask = config.get("mask_token")
    return ByteLevelBpe(
        tokens=tuple(in_order(ids, words)),
        merges=_pairs(lines, ids, merges),
        special=special_names(config, SPECIAL),
        spaced=config.get("add_prefix_space") is True,
        mask_takes_space=not isinstance(mask, dict) or mask.get("lstrip", True) is True,
    )


def _pairs(merges: object, ids: dict[str, Any], path: Path) -> tuple[tuple[str, str], ...]:
    """The merges, whether they are written as two texts or as one with a space between.

    Raises BadCheckpoint where one merges tokens that the vocabulary does not have.
    """
    if not isinstance(merges, list) or len(merges) > MOST_TOKENS:
        raise BadCheckpoint(phrase("{path} has no list of merges.", path=path.name), ADVICE)
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    for number, pair in enumerate(pairs, start=1):
        known = (
            isinstance(pair, list)
            and len(pair) == 2
            and all(isinstance(part, str) and part in ids for part in pair)
            and "".join(pair) in ids
        )
        if not known:
            raise BadCheckpoint(
                phrase(
                    "Merge {number} in {path} is not a pair of tokens of the vocabulary.",
                    number=number,
                    path=path.name,
                ),
                phrase("The two belong to different models. ") + ADVICE,
            )
    return tuple((first, second) for first, second in pairs)
