"""Tokenizer settings that the JSON files of a checkpoint declare."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.tokenizers.added import Added, extra_special, parse_added, parse_decoder, parse_plain
from engine.tokenizers.vocabulary_files import (
    ADVICE,
    ANOTHER_TOKENIZER,
    SPECIAL_KEYS,
    read_json_object,
    sort_by_id,
    token_name,
)

CONFIG, MAP, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
NETWORK = "config.json"  # old ones name the tokenizer's class
SENTENCE = "sentence_*_config.json"  # of sentence-transformers
SEGMENTS = "token_type_ids"  # name in transformers
GENERIC = ("PreTrainedTokenizer", "TokenizersBackend")  # classes that add no steps
CUSTOM_CLASSES = (  # their code splits text in ways that no file describes
    *("BertJapaneseTokenizer", "BertweetTokenizer", "CanineTokenizer", "EsmTokenizer"),
    *("FlaubertTokenizer", "PhobertTokenizer", "ProphetNetTokenizer", "RoCBertTokenizer"),
    *("RoFormerTokenizer", "TapasTokenizer", "XLMTokenizer"),
)
MAX_LENGTH = 1_000_000  # tokens; larger values mean no limit
SUPPORTED: dict[str, tuple[object, ...]] = {  # values by entry
    "word_tokenizer_type": (None, "basic"),
    "subword_tokenizer_type": (None, "wordpiece"),
    "split_special_tokens": (None, False),
    "truncation_side": (None, "right", "left"),
}


@dataclass(frozen=True)
class Settings:
    """Settings of a checkpoint folder.

    Args:
        config: tokenizer_config.json merged with special_tokens_map.json.
        tokenizer: name of its class in transformers, without “Fast”; may be empty.
        added: tokens with their ids, by content.
        special: additional special tokens.
        lowers_first: sentence-transformers lowers the case before the other steps.
    """

    config: dict[str, Any]
    tokenizer: str
    added: dict[str, tuple[Added, Any]]
    special: tuple[Added, ...]
    lowers_first: bool = False

    @property
    def is_generic(self) -> bool:
        """True if the class adds no steps, so that tokenizer.json is complete."""
        return self.tokenizer in GENERIC

    def flag(self, key: str, in_file: bool) -> bool:
        """A setting of a tokenizer.json, unless the named class overrides it."""
        value = None if self.is_generic else self.config.get(key)
        return value if isinstance(value, bool) else in_file

    def merge(
        self, model_ids: dict[str, Any], path: Path, entries: object = None
    ) -> tuple[tuple[str, ...], tuple[Added, ...], int]:
        """Return all tokens by id, those that are never split, and the number of leading tokens
        that belong to the model.

        Args:
            model_ids: the model's tokens with their ids, from the file `path`.
            entries: added tokens in that file.

        Raises BadCheckpoint if a token has two ids, or an id two tokens.
        """
        added = self.added | parse_added(entries, path)
        ids = {**{name: number for name, (_, number) in added.items()}, **model_ids}
        if any(ids[name] != number for name, (_, number) in added.items()):
            raise BadCheckpoint("{path} gives a token two ids.", ADVICE, path=path.name)
        tokens = sort_by_id(ids, path)
        unsplit = {token.content: token for token in self.special}
        unsplit |= {name: token for name, (token, _) in added.items()}
        tokens += [name for name in unsplit if name not in ids]  # without an id, they come last
        count = max(model_ids.values(), default=-1) + 1
        are_last = all(number >= count for name, number in ids.items() if name not in model_ids)
        return tuple(tokens), tuple(unsplit.values()), count if are_last else len(tokens)

    @property
    def has_segments(self) -> bool | None:
        """True if the network has segment ids; None if the files do not say."""
        inputs = self.config.get("model_input_names")
        return SEGMENTS in inputs if isinstance(inputs, list) else None


def stated_length(config: dict[str, Any], key: str = "model_max_length") -> int | None:
    """The maximum of tokens that a file states; None for none, or for more than MAX_LENGTH."""
    length = config.get(key)
    return length if isinstance(length, int) and 1 < length <= MAX_LENGTH else None


NO_SETTINGS = Settings({}, "", {}, ())


def read_declared(folder: Path) -> Settings:
    """Read the settings from the files that exist.

    Raises BadCheckpoint if a file is damaged or the tokenizer needs its own code.
    """
    config, names, network, ids = (
        read_json_object(folder / name) if (folder / name).exists() else {}
        for name in (CONFIG, MAP, NETWORK, ADDED)
    )
    merged = {**names, **config} if "added_tokens_decoder" in config else {**config, **names}
    class_name = merged.get("tokenizer_class") or network.get("tokenizer_class")
    tokenizer = class_name.removesuffix("Fast") if isinstance(class_name, str) else ""
    _refuse_unsupported(tokenizer, merged)
    special = extra_special(merged)
    all_special = {token_name(merged.get(key), "") for key in SPECIAL_KEYS}
    all_special |= {token.content for token in special}
    added = parse_plain(ids, all_special) | parse_decoder(merged, folder / CONFIG)
    lowers_first = any(
        read_json_object(path).get("do_lower_case") is True for path in folder.glob(SENTENCE)
    )
    return Settings(merged, tokenizer, added, special, lowers_first)


def _refuse_unsupported(tokenizer: str, config: dict[str, Any]) -> None:
    if tokenizer in CUSTOM_CLASSES:
        raise BadCheckpoint(
            "The tokenizer of this model is a {tokenizer}, whose code for splitting text "
            "BERT Studio does not have.",
            ANOTHER_TOKENIZER,
            tokenizer=tokenizer,
        )
    for key, supported in SUPPORTED.items():
        if (value := config.get(key)) not in supported:
            raise BadCheckpoint(
                "{file} sets {key} to “{value}”, which BERT Studio does not support.",
                ANOTHER_TOKENIZER,
                file=CONFIG,
                key=key,
                value=str(value)[:40],
            )
