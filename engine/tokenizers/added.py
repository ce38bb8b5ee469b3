"""Added and special tokens, which are matched before a text is split.

Their flags decide what they match and whether they include surrounding white space.
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
ADDITIONAL_KEYS = ("additional_special_tokens", "extra_special_tokens")


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

    def json_entry(self) -> dict[str, Any]:
        """Entry in tokenizer.json."""
        return {"content": self.content, **{name: getattr(self, name) for name in FLAGS}}

    def config_entry(self) -> dict[str, Any]:
        """Entry in tokenizer_config.json."""
        flags = {name: flag for name, flag in self.json_entry().items() if name != "special"}
        return {"__type": "AddedToken", **flags}


def register_added(
    library: LibraryTokenizer, extra: Iterable[str], special: Iterable[str], added: Iterable[Added]
) -> None:
    """Register all tokens that are never split with the library.

    Args:
        extra: tokens that the model lacks, in the order of their ids.
        special: names of the special tokens; `added` may give them other flags.
    """
    extra = tuple(extra)
    known = (n for n in special if n in extra or library.token_to_id(n) is not None)
    tokens = {name: Added(name, special=True) for name in known}
    tokens |= {token.content: token for token in added}
    names = dict.fromkeys((*extra, *tokens))
    library.add_tokens([AddedToken(**tokens.get(name, Added(name)).json_entry()) for name in names])


def drop_default_special(added: Iterable[Added], special: Iterable[str]) -> tuple[Added, ...]:
    """Drop the special tokens that have default flags."""
    usual = {name: Added(name, special=True) for name in special}
    flagged = [replace(token, special=True) if token.content in usual else token for token in added]
    return tuple(token for token in flagged if token != usual.get(token.content))


def parse_added(entries: object, path: Path) -> dict[str, tuple[Added, Any]]:
    """Parse the added tokens and ids of a tokenizer.json, by content. Raises BadCheckpoint."""
    listed = entries or []
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise BadCheckpoint("{path} has no list of added tokens.", ADVICE, path=path.name)
    tokens = {}
    for entry in listed:
        if isinstance(content := entry.get("content"), str) and content:
            tokens[content] = (_added(entry), entry.get("id"))
    return tokens


def parse_decoder(config: dict[str, Any], path: Path) -> dict[str, tuple[Added, Any]]:
    """Parse `added_tokens_decoder` of a tokenizer_config.json like `parse_added`."""
    entries = config.get("added_tokens_decoder") or {}
    if not isinstance(entries, dict) or not all(str(key).isdecimal() for key in entries):
        raise BadCheckpoint("{path} has no list of added tokens.", ADVICE, path=path.name)
    rows = [
        {**item, "id": int(key)} if isinstance(item, dict) else {"content": item, "id": int(key)}
        for key, item in entries.items()
    ]
    return parse_added(rows, path)


def parse_plain(entries: dict[str, Any], special: Iterable[str]) -> dict[str, tuple[Added, Any]]:
    """Parse an added_tokens.json, which has only names and ids.

    As in transformers, tokens that are not special match the normalised text.
    """
    names = set(special)
    return {
        name: (Added(name, normalized=name not in names, special=name in names), token_id)
        for name, token_id in entries.items()
        if name
    }


def extra_special(config: dict[str, Any]) -> tuple[Added, ...]:
    """Additional special tokens of a config, in any of its forms."""
    tokens = []
    for key in ADDITIONAL_KEYS:
        listed = config.get(key)
        entries = list(listed.values()) if isinstance(listed, dict) else listed
        for entry in entries if isinstance(entries, list) else ():
            row = {"content": entry} if isinstance(entry, str) else entry
            if isinstance(row, dict) and isinstance(row.get("content"), str) and row["content"]:
                tokens.append(_added({**row, "special": True}))
    return tuple({token.content: token for token in tokens}.values())


def _added(entry: dict[str, Any]) -> Added:
    return Added(entry["content"], **{name: entry.get(name) is True for name in FLAGS})
