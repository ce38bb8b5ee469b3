"""Byte-level byte-pair encoding of RoBERTa (Radford et al. 2019, §2.2; Liu et al. 2019).

A text is split into words, each with the space before it, and the UTF-8 bytes of a word are merged
pair by pair in the order of the merges, so that no token is unknown. Files write each byte as a
visible character.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers, processors

from engine.errors import BadCheckpoint
from engine.phrases import phrase
from engine.tokenizers.added import Added, drop_default_special, register_added
from engine.tokenizers.declared import Settings
from engine.tokenizers.vocabulary import Vocabulary, build_post_processor, with_template
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
VOCABULARY, MERGES = "vocab.json", "merges.txt"
SPACE = "▁"  # displays a space in a token
BYTES = 256
UNSUPPORTED = (  # BPE settings that RoBERTa does not use
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
    add_prefix_space: bool = False  # the first word counts as preceded by a space

    def to_library(self, ids: dict[str, int]) -> LibraryTokenizer:
        library = LibraryTokenizer(models.BPE(ids, list(self.merges), fuse_unk=False))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=self.add_prefix_space)
        library.post_processor = build_post_processor(self.template, ids)
        if self._is_roberta:
            cls, sep = self.special[2:4]
            library.post_processor = processors.RobertaProcessing(
                (sep, ids[sep]), (cls, ids[cls]), add_prefix_space=self.add_prefix_space
            )
        library.decoder = decoders.ByteLevel()
        register_added(library, (), self.special, self.added)
        return library

    def continues(self, token: str) -> bool:
        return token not in self.unsplit and not token.startswith(WRITTEN_SPACE)

    def display_form(self, token: str) -> str:
        return token if token in self.special else decode_token(token)

    @property
    def _is_roberta(self) -> bool:
        """True if special tokens and segments are placed as in RoBERTa."""
        return (self.separators, self.second_segment) == (2, 0)

    def fingerprint_fields(self) -> list[Any]:
        return [self.kind, self.merges, self.add_prefix_space, *self.common_fields()]

    def for_words(self) -> "ByteLevelBpe":
        return replace(self, add_prefix_space=True)

    def files(self) -> dict[str, str]:
        ids = {token: index for index, token in enumerate(self.tokens)}
        merges = "".join(f"{first} {second}\n" for first, second in self.merges)
        return {VOCABULARY: json.dumps(ids, ensure_ascii=False), MERGES: f"#version: 0.2\n{merges}"}

    def class_config(self) -> dict[str, Any]:
        _, _, cls, sep, mask = self.special
        flags = {token.content: token for token in self.added}
        name = "RobertaTokenizer" if self._is_roberta else "PreTrainedTokenizerFast"
        return {
            "tokenizer_class": name,
            "do_lower_case": False,
            "add_prefix_space": self.add_prefix_space,
            "trim_offsets": True,
            **self.special_by_key,
            "bos_token": cls,
            "eos_token": sep,
            "mask_token": flags.get(mask, Added(mask)).config_entry(),
        }


def from_json(content: dict[str, Any], declared: Settings, path: Path) -> ByteLevelBpe | None:
    """Read a tokenizer.json; None if its steps are not those of RoBERTa."""
    model, pre_tokenizer = content.get("model"), content.get("pre_tokenizer")
    if not isinstance(model, dict) or not isinstance(pre_tokenizer, dict):
        return None
    is_roberta = (
        model.get("type", "BPE") == "BPE"
        and "merges" in model
        and not any(model.get(name) for name in UNSUPPORTED)
        and pre_tokenizer.get("type") == "ByteLevel"
        and pre_tokenizer.get("use_regex") is not False
        and not content.get("normalizer")
    )
    if not is_roberta:
        return None
    ids = parse_vocab(model, path)
    if model.get("unk_token") and not ids.keys() >= BYTES_BY_CHARACTER.keys():
        return None  # bytes may be unknown
    tokens, added, _ = declared.merge(ids, path, content.get("added_tokens"))
    special = special_names(declared.config, SPECIAL)
    in_file = pre_tokenizer.get("add_prefix_space") is True
    vocabulary = ByteLevelBpe(
        tokens,
        _parse_merges(model["merges"], ids, path),
        special=special,
        added=_add_mask(added, special, declared),
        add_prefix_space=declared.flag("add_prefix_space", in_file),
    )
    return with_template(vocabulary, content.get("post_processor"))


def from_vocab_and_merges(folder: Path, declared: Settings) -> ByteLevelBpe:
    """Read vocab.json and merges.txt, which is optional if every token is a byte."""
    path, merges = folder / VOCABULARY, folder / MERGES
    ids = read_json_object(path)
    special = special_names(declared.config, SPECIAL)
    tokens, added, _ = declared.merge(ids, path)
    unsplit = {*special, *(token.content for token in added)}
    if not merges.exists() and any(len(t) > 1 and t not in unsplit for t in ids):
        raise BadCheckpoint(
            "{folder} has {words} but no {merges}.",
            "Copy {merges} from where the model comes from.",
            folder=folder.name,
            words=VOCABULARY,
            merges=MERGES,
        )
    return ByteLevelBpe(
        tokens,
        _parse_merges(merge_lines(merges) if merges.exists() else [], ids, merges),
        special=special,
        added=drop_default_special(_add_mask(added, special, declared), special),
        add_prefix_space=declared.config.get("add_prefix_space") is True,
    )


def merge_lines(path: Path) -> list[str]:
    """Lines of a merges.txt; a space separates the two tokens of a merge."""
    return [line for line in read_lines(path) if line and not line.startswith("#version")]


def _add_mask(added: tuple[Added, ...], special: Special, declared: Settings) -> tuple[Added, ...]:
    """Add the mask if it is missing; by default it includes the space before it."""
    mask = declared.config.get("mask_token")
    takes_space = not isinstance(mask, dict) or mask.get("lstrip", True) is True
    flags = {special[4]: Added(special[4], lstrip=takes_space, special=True)}
    return tuple((flags | {token.content: token for token in added}).values())


def _parse_merges(merges: object, ids: dict[str, Any], path: Path) -> tuple[tuple[str, str], ...]:
    """Parse merges, which are pairs or texts with a space in between.

    Raises BadCheckpoint if a merge uses tokens that the vocabulary lacks.
    """
    if not isinstance(merges, list) or len(merges) > MAX_TOKENS:
        raise BadCheckpoint("{path} has no list of merges.", ADVICE, path=path.name)
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    for number, pair in enumerate(pairs, start=1):
        is_valid = (
            isinstance(pair, list)
            and len(pair) == 2
            and all(isinstance(part, str) and part in ids for part in pair)
            and "".join(pair) in ids
        )
        if not is_valid:
            raise BadCheckpoint(
                "Merge {number} in {path} is not a pair of tokens of the vocabulary.",
                phrase("The two belong to different models. ") + ADVICE,
                number=number,
                path=path.name,
            )
    return tuple((first, second) for first, second in pairs)
