"""What stands in the files of a vocabulary: text, lines, JSON, and pieces by their numbers.

All of them may be somebody else's; whatever they hold, the only error is a BadCheckpoint.
"""

import json
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.phrases import phrase

LARGEST_FILE = 256 * 1024 * 1024  # bytes
MOST_PIECES = 10_000_000
SPECIAL_KEYS = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
ADVICE = phrase("Copy the files of the tokenizer again, or choose another checkpoint.")

Special = tuple[str, str, str, str, str]  # pad, unknown, cls, sep, mask


def special_names(config: dict[str, Any], usual: Special) -> Special:
    """The special pieces as a tokenizer_config.json names them, or else the usual ones."""
    pad, unknown, cls, sep, mask = (
        _name(config.get(key), name) for key, name in zip(SPECIAL_KEYS, usual, strict=True)
    )
    return pad, unknown, cls, sep, mask


def _name(value: object, default: str) -> str:
    """A special piece as a config names it: a text, or an object with its text."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else default


def numbered(
    model: dict[str, Any], content: dict[str, Any], path: Path
) -> tuple[dict[str, Any], list[str]]:
    """The numbers of all pieces of a tokenizer.json, and those that were added to its model's."""
    own, extra = model.get("vocab"), content.get("added_tokens") or []
    if not isinstance(own, dict) or not isinstance(extra, list):
        raise BadCheckpoint(phrase("{path} has no vocabulary in it.", path=path.name), ADVICE)
    named = [t for t in extra if isinstance(t, dict) and isinstance(t.get("content"), str)]
    ids = {**{t["content"]: t.get("id") for t in named}, **own}
    if any(ids[t["content"]] != t.get("id") for t in named):
        raise BadCheckpoint(
            phrase("{path} gives one of its pieces two numbers.", path=path.name), ADVICE
        )
    return ids, [t["content"] for t in named if t["content"]]


def in_order(ids: dict[str, Any], path: Path) -> list[str]:
    """Pieces in the order of their ids; ids that no piece has are filled with unused names."""
    if not ids or not all(type(i) is int and 0 <= i < MOST_PIECES for i in ids.values()):
        raise BadCheckpoint(phrase("{path} numbers its pieces wrongly.", path=path.name), ADVICE)
    size = max(ids.values()) + 1
    if size > 2 * len(ids) + 1_000 or len(set(ids.values())) < len(ids):
        raise BadCheckpoint(
            phrase(
                "{path} numbers {count} pieces up to {size}: some twice, or not at all.",
                path=path.name,
                count=len(ids),
                size=size - 1,
            ),
            ADVICE,
        )
    pieces = [f"[hole{number}]" for number in range(size)]
    for piece, number in ids.items():
        pieces[number] = piece
    return pieces


def lines_of(path: Path) -> list[str]:
    content = text_of(path)
    lines = content.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    pieces = [line.removesuffix("\r") for line in lines]
    if not pieces or len(pieces) > MOST_PIECES:
        raise BadCheckpoint(
            phrase("{path} holds no pieces, or far too many.", path=path.name), ADVICE
        )
    return pieces


def text_of(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            raise BadCheckpoint(
                phrase("{path} is no file, or far too large for a vocabulary.", path=path.name),
                ADVICE,
            )
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadCheckpoint(
            phrase("{path} is not text in UTF-8.", path=path.name), ADVICE
        ) from error
    except OSError as error:
        raise BadCheckpoint(
            phrase("{path} cannot be read: {strerror}.", path=path.name, strerror=error.strerror),
            ADVICE,
        ) from error


def json_of(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise BadCheckpoint(phrase("{path} is not valid JSON.", path=path.name), ADVICE) from error
    if not isinstance(content, dict):
        raise BadCheckpoint(phrase("{path} does not hold an object.", path=path.name), ADVICE)
    return content
