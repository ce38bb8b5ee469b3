"""Byte-level byte-pair encoding of RoBERTa (Radford et al. 2019, §2.2; Liu et al. 2019).

A text is split into words with the space before each; the UTF-8 bytes of a word are merged pair by
pair in the order of the merges. So no text has an unknown token. Files represent bytes by visible
characters.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers, processors

from engine.errors import BadCheckpoint
from engine.phrases import phrase
from engine.tokenizers.added import Added, register_added, unusual
from engine.tokenizers.stated import Stated
from engine.tokenizers.vocabulary import Vocabulary, template, with_frame
from engine.tokenizers.vocabulary_files import (
    ADVICE,
    MAX_TOKENS,
    Special,
    parse_vocab,
    read_json_object,
    read_lines,
    special_names,
)

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
WORDS, MERGES = "vocab.json", "merges.txt"
SPACE = "▁"  # shown for a space in a token
BYTES = 256
UNSUPPORTED = (  # settings of a BPE that RoBERTa's does not have
    *("dropout", "continuing_subword_prefix", "end_of_word_suffix"),
    *("byte_fallback", "ignore_merges"),
)


VISIBLE = (*range(33, 127), *range(161, 173), *range(174, 256))
HIDDEN = [byte for byte in range(BYTES) if byte not in VISIBLE]
CHARACTERS = {byte: chr(byte) for byte in VISIBLE}
CHARACTERS |= {byte: chr(BYTES + index) for index, byte in enumerate(HIDDEN)}
"""The visible character of each byte."""
BYTES_BY_CHARACTER = {character: byte for byte, character in CHARACTERS.items()}
WRITTEN_SPACE = CHARACTERS[ord(" ")]


def decode_token(token: str) -> str:
    r"""Text of a token; a space is “▁”, and bytes of a partial character are \xe6."""
    if not all(character in BYTES_BY_CHARACTER for character in token):
        return token
    text = bytes(BYTES_BY_CHARACTER[character] for character in token).decode(
        "utf-8", "backslashreplace"
    )
    return text.replace(" ", SPACE)


@dataclass(frozen=True)
class ByteLevelBpe(Vocabulary):
    """A byte-level vocabulary; `merges` are pairs of tokens in merge order."""

    kind: ClassVar[str] = "byte-level BPE"
    mark: ClassVar[str] = SPACE
    keeps_spaces: ClassVar[bool] = True
    merges: tuple[tuple[str, str], ...]
    special: Special = field(default=SPECIAL, kw_only=True)
    separators: int = field(default=2, kw_only=True)
    second_segment: int = field(default=0, kw_only=True)
    spaced: bool = False  # the first word counts as preceded by a space

    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        library = LibraryTokenizer(models.BPE(ids, list(self.merges), fuse_unk=False))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=self.spaced)
        library.post_processor = template(self.frame, ids)
        if self._is_usual:
            cls, sep = self.special[2:4]
            library.post_processor = processors.RobertaProcessing(
                (sep, ids[sep]), (cls, ids[cls]), trim_offsets=True, add_prefix_space=self.spaced
            )
        library.decoder = decoders.ByteLevel()
        register_added(library, (), self.special, self.added)
        return library

    def continues(self, token: str) -> bool:
        return token not in self.unsplit and not token.startswith(WRITTEN_SPACE)

    def shown(self, token: str) -> str:
        return token if token in self.special else decode_token(token)

    @property
    def _is_usual(self) -> bool:
        """True if the special tokens are placed as in RoBERTa."""
        return (self.separators, self.second_segment) == (2, 0)

    def essence(self) -> list[Any]:
        return [self.kind, self.merges, self.spaced, *self.common()]

    def for_words(self) -> "ByteLevelBpe":
        return replace(self, spaced=True)

    def files(self) -> dict[str, str]:
        ids = {token: index for index, token in enumerate(self.tokens)}
        merges = "".join(f"{first} {second}\n" for first, second in self.merges)
        return {WORDS: json.dumps(ids, ensure_ascii=False), MERGES: f"#version: 0.2\n{merges}"}

    def named(self) -> dict[str, Any]:
        _, _, cls, sep, mask = self.special
        flags = {token.content: token for token in self.added}
        return {
            "tokenizer_class": "RobertaTokenizer" if self._is_usual else "PreTrainedTokenizerFast",
            "do_lower_case": False,
            "add_prefix_space": self.spaced,
            "trim_offsets": True,
            **self.special_by_key,
            "bos_token": cls,
            "eos_token": sep,
            "mask_token": flags.get(mask, Added(mask)).published(),
        }


def from_published(content: dict[str, Any], stated: Stated, path: Path) -> ByteLevelBpe | None:
    """Read a tokenizer.json; None if its steps are not those of RoBERTa."""
    model, before = content.get("model"), content.get("pre_tokenizer")
    if not isinstance(model, dict) or not isinstance(before, dict):
        return None
    is_roberta = (
        model.get("type", "BPE") == "BPE"
        and "merges" in model
        and not any(model.get(name) for name in UNSUPPORTED)
        and before.get("type") == "ByteLevel"
        and before.get("use_regex") is not False
        and not content.get("normalizer")
    )
    if not is_roberta:
        return None
    own = parse_vocab(model, path)
    # then a byte may be unknown
    if model.get("unk_token") and not own.keys() >= BYTES_BY_CHARACTER.keys():
        return None
    tokens, added, _ = stated.merge(own, path, content.get("added_tokens"))
    special = special_names(stated.config, SPECIAL)
    spaced = stated.flag("add_prefix_space", before.get("add_prefix_space") is True)
    read = ByteLevelBpe(
        tokens,
        _pairs(model["merges"], own, path),
        special=special,
        added=_flagged(added, special, stated),
        spaced=spaced,
    )
    return with_frame(read, content.get("post_processor"))


def from_plain(folder: Path, stated: Stated) -> ByteLevelBpe:
    """Read vocab.json and merges.txt, which is optional if every token is a byte."""
    words, merges = folder / WORDS, folder / MERGES
    own = read_json_object(words)
    special = special_names(stated.config, SPECIAL)
    tokens, added, _ = stated.merge(own, words)
    unsplit = {*special, *(token.content for token in added)}
    if not merges.exists() and any(len(t) > 1 and t not in unsplit for t in own):
        raise BadCheckpoint(
            "{folder} has {words} but no {merges}.",
            "Copy {merges} from where the model comes from.",
            folder=folder.name,
            words=WORDS,
            merges=MERGES,
        )
    return ByteLevelBpe(
        tokens,
        _pairs(merge_lines(merges) if merges.exists() else [], own, merges),
        special=special,
        added=unusual(_flagged(added, special, stated), special),
        spaced=stated.config.get("add_prefix_space") is True,
    )


def merge_lines(path: Path) -> list[str]:
    """The merges in a merges.txt, each as a text with a space in between."""
    return [line for line in read_lines(path) if line and not line.startswith("#version")]


def _flagged(added: tuple[Added, ...], special: Special, stated: Stated) -> tuple[Added, ...]:
    """Tokens that are never split. By default the mask includes the space before it."""
    mask = stated.config.get("mask_token")
    takes_space = not isinstance(mask, dict) or mask.get("lstrip", True) is True
    flags = {special[4]: Added(special[4], lstrip=takes_space, special=True)}
    return tuple((flags | {token.content: token for token in added}).values())


def _pairs(merges: object, ids: dict[str, Any], path: Path) -> tuple[tuple[str, str], ...]:
    """The merges, as pairs or as texts with a space in between.

    Raises BadCheckpoint if a merge uses tokens that the vocabulary lacks.
    """
    if not isinstance(merges, list) or len(merges) > MAX_TOKENS:
        raise BadCheckpoint("{path} has no list of merges.", ADVICE, path=path.name)
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
                "Merge {number} in {path} is not a pair of tokens of the vocabulary.",
                phrase("The two belong to different models. ") + ADVICE,
                number=number,
                path=path.name,
            )
    return tuple((first, second) for first, second in pairs)
