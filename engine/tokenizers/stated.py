"""Tokenizer settings in the small files of a checkpoint."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.tokenizers.added import Added, also_special, parse_added, parse_decoder, plain_added
from engine.tokenizers.vocabulary_files import (
    ADVICE,
    ANOTHER_TOKENIZER,
    SPECIAL_KEYS,
    in_order,
    read_json_object,
    token_name,
)

CONFIG, MAP, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
NETWORK = "config.json"  # old ones name the tokenizer's class
SEGMENTS = "token_type_ids"  # name in transformers
GENERIC = ("PreTrainedTokenizer", "TokenizersBackend")  # classes without steps of their own
CUSTOM_CLASSES = (  # classes with code that no file describes
    *("BertJapaneseTokenizer", "BertweetTokenizer", "CanineTokenizer", "EsmTokenizer"),
    *("FlaubertTokenizer", "PhobertTokenizer", "ProphetNetTokenizer", "RoCBertTokenizer"),
    *("RoFormerTokenizer", "TapasTokenizer", "XLMTokenizer"),
)
DEFAULTS: dict[str, tuple[object, ...]] = {  # entries, and values without effect
    "word_tokenizer_type": (None, "basic"),
    "subword_tokenizer_type": (None, "wordpiece"),
    "split_special_tokens": (None, False),
    "truncation_side": (None, "right", "left"),
}


@dataclass(frozen=True)
class Stated:
    """Settings of a checkpoint folder.

    Args:
        config: tokenizer_config.json merged with special_tokens_map.json.
        tokenizer: name of its class in transformers, without “Fast”; may be empty.
        added: tokens with their ids, by content.
        special: further special tokens.
    """

    config: dict[str, Any]
    tokenizer: str
    added: dict[str, tuple[Added, Any]]
    special: tuple[Added, ...]

    @property
    def is_generic(self) -> bool:
        """True if the named class has no steps of its own, so that tokenizer.json is complete."""
        return self.tokenizer in GENERIC

    def flag(self, key: str, in_file: bool) -> bool:
        """A setting of a tokenizer.json, unless the named class overrides it."""
        value = None if self.is_generic else self.config.get(key)
        return value if isinstance(value, bool) else in_file

    def merge(
        self, own: dict[str, Any], path: Path, entries: object = None
    ) -> tuple[tuple[str, ...], tuple[Added, ...], int]:
        """All tokens in the order of their ids, those that are never split, and the number of
        leading tokens of the model itself.

        Args:
            own: the model's tokens with their ids.
            path: the file they are from.
            entries: added tokens in that file.

        Raises BadCheckpoint if a token has two ids, or an id two tokens.
        """
        added = self.added | parse_added(entries, path)
        ids = {**{name: number for name, (_, number) in added.items()}, **own}
        if any(ids[name] != number for name, (_, number) in added.items()):
            raise BadCheckpoint("{path} gives a token two ids.", ADVICE, path=path.name)
        tokens = in_order(ids, path)
        unsplit = {token.content: token for token in self.special}
        unsplit |= {name: token for name, (token, _) in added.items()}
        tokens += [name for name in unsplit if name not in ids]  # without an id, they come last
        count = max(own.values(), default=-1) + 1
        are_last = all(number >= count for name, number in ids.items() if name not in own)
        return tuple(tokens), tuple(unsplit.values()), count if are_last else len(tokens)

    @property
    def has_segments(self) -> bool | None:
        """True if the network has segment ids; None if not stated."""
        inputs = self.config.get("model_input_names")
        return SEGMENTS in inputs if isinstance(inputs, list) else None


NOTHING = Stated({}, "", {}, ())


def read_stated(folder: Path) -> Stated:
    """Read the files that exist.

    Raises BadCheckpoint if one is damaged, or the tokenizer has code of its own.
    """
    config, names, network, ids = (
        read_json_object(folder / name) if (folder / name).exists() else {}
        for name in (CONFIG, MAP, NETWORK, ADDED)
    )
    decides = {**names, **config} if "added_tokens_decoder" in config else {**config, **names}
    named = decides.get("tokenizer_class") or network.get("tokenizer_class")
    tokenizer = named.removesuffix("Fast") if isinstance(named, str) else ""
    _refuse_unsupported(tokenizer, decides)
    special = also_special(decides)
    all_special = {token_name(decides.get(key), "") for key in SPECIAL_KEYS}
    all_special |= {token.content for token in special}
    added = plain_added(ids, all_special) | parse_decoder(decides, folder / CONFIG)
    return Stated(decides, tokenizer, added, special)


def _refuse_unsupported(tokenizer: str, config: dict[str, Any]) -> None:
    if tokenizer in CUSTOM_CLASSES:
        raise BadCheckpoint(
            "The tokenizer of this model is a {tokenizer}, which splits text with code of its "
            "own; BERT Studio does not have it.",
            ANOTHER_TOKENIZER,
            tokenizer=tokenizer,
        )
    for key, usual in DEFAULTS.items():
        if (value := config.get(key)) not in usual:
            raise BadCheckpoint(
                "{file} sets {key} to “{value}”, which BERT Studio does not support.",
                ANOTHER_TOKENIZER,
                file=CONFIG,
                key=key,
                value=str(value)[:40],
            )
