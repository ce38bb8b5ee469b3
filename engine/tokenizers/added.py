"""Added and special tokens, which are matched in a text before it is split.

Flags decide what they match and whether they include the white space around them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tokenizers import AddedToken
from tokenizers import Tokenizer as LibraryTokenizer

from engine.errors import BadCheckpoint
from engine.tokenizers.vocabulary_files import ADVICE

FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")
ALSO_SPECIAL = ("additional_special_tokens", "extra_special_tokens")


@dataclass(frozen=True)
class Added:
    """A token that is never split.

    Args:
        lstrip: includes white space before it; rstrip: after it.
        single_word: matches whole words only.
        normalized: is matched in the normalised text.
    """

    content: str
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False
    special: bool = False

    def flags(self) -> dict[str, Any]:
        """Entry in tokenizer.json."""
        return {"content": self.content, **{name: getattr(self, name) for name in FLAGS}}

    def published(self) -> dict[str, Any]:
        """Entry in tokenizer_config.json."""
        flags = {name: flag for name, flag in self.flags().items() if name != "special"}
        return {"__type": "AddedToken", **flags}


def register_added(
    library: LibraryTokenizer, extra: Iterable[str], special: Iterable[str], added: Iterable[Added]
) -> None:
    """Register all tokens that are never split with the library.

    Args:
        extra: tokens that its model does not have, in the order of their ids.
        special: names of the special tokens; their flags are those in `added`, if present.
    """
    known = {name: Added(name, special=True) for name in special}
    known |= {token.content: token for token in added}
    names = dict.fromkeys((*extra, *known))
    library.add_tokens([AddedToken(**known.get(name, Added(name)).flags()) for name in names])


def unusual(added: Iterable[Added], special: Iterable[str]) -> tuple[Added, ...]:
    """Tokens except special ones with their default flags."""
    usual = {name: Added(name, special=True) for name in special}
    flagged = [replace(token, special=True) if token.content in usual else token for token in added]
    return tuple(token for token in flagged if token != usual.get(token.content))


def parse_added(entries: object, path: Path) -> dict[str, tuple[Added, Any]]:
    """Added tokens and ids of a tokenizer.json, by content. Raises BadCheckpoint."""
    listed = entries or []
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise BadCheckpoint("{path} has no list of added tokens.", ADVICE, path=path.name)
    tokens = {}
    for entry in listed:
        if isinstance(content := entry.get("content"), str) and content:
            tokens[content] = (_added(entry), entry.get("id"))
    return tokens


def parse_decoder(config: dict[str, Any], path: Path) -> dict[str, tuple[Added, Any]]:
    """Added tokens and ids of `added_tokens_decoder` in a tokenizer_config.json."""
    entries = config.get("added_tokens_decoder") or {}
    if not isinstance(entries, dict) or not all(str(key).isdecimal() for key in entries):
        raise BadCheckpoint("{path} has no list of added tokens.", ADVICE, path=path.name)
    rows = [
        {**item, "id": int(key)} if isinstance(item, dict) else {"content": item, "id": int(key)}
        for key, item in entries.items()
    ]
    return parse_added(rows, path)


def plain_added(entries: dict[str, Any], special: Iterable[str]) -> dict[str, tuple[Added, Any]]:
    """Added tokens of an added_tokens.json, which has only names and ids.

    As in transformers, those that are not special match the normalised text.
    """
    names = set(special)
    return {
        name: (Added(name, normalized=name not in names, special=name in names), number)
        for name, number in entries.items()
        if name
    }


def also_special(config: dict[str, Any]) -> tuple[Added, ...]:
    """Additional special tokens of a config, in any form."""
    tokens = []
    for key in ALSO_SPECIAL:
        listed = config.get(key)
        entries = list(listed.values()) if isinstance(listed, dict) else listed
        for entry in entries if isinstance(entries, list) else ():
            row = {"content": entry} if isinstance(entry, str) else entry
            if isinstance(row, dict) and isinstance(row.get("content"), str) and row["content"]:
                tokens.append(_added({**row, "special": True}))
    return tuple({token.content: token for token in tokens}.values())


def _added(entry: dict[str, Any]) -> Added:
    return Added(entry["content"], **{name: entry.get(name) is True for name in FLAGS})
