"""Read the files of a vocabulary: text, lines, JSON, tokens by id.

The files are untrusted; any content that is invalid raises BadCheckpoint.
"""

import json
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.files.regular_file import read_regular
from engine.phrases import phrase

MAX_FILE_SIZE = 256 * 1024 * 1024  # bytes
MAX_TOKENS = 10_000_000
MAX_WORD = 100  # characters; longer words become one [UNK], as in the published code
SPECIAL_KEYS = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
ADVICE = phrase("Copy the tokenizer files again, or choose another checkpoint.")
ADD_JSON = phrase(
    "Add the model's tokenizer.json; to get one, load the tokenizer with transformers and save it "
    "again."
)
ANOTHER_TOKENIZER = phrase("Choose a model with a WordPiece, BPE or Unigram tokenizer.")

Special = tuple[str, str, str, str, str]  # pad, unknown, cls, sep, mask


def special_names(config: dict[str, Any], defaults: Special) -> Special:
    """Special tokens of a tokenizer_config.json; those it lacks have default names."""
    pad, unknown, cls, sep, mask = (
        token_name(config.get(key), name) for key, name in zip(SPECIAL_KEYS, defaults, strict=True)
    )
    return pad, unknown, cls, sep, mask


def token_name(value: object, default: str) -> str:
    """Name of a special token in a config, which is a text or an object with its text."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else default


def parse_vocab(model: dict[str, Any], path: Path) -> dict[str, Any]:
    """Tokens and ids of the model of a tokenizer.json."""
    vocab = model.get("vocab")
    if not isinstance(vocab, dict):
        raise BadCheckpoint("{path} contains no vocabulary.", ADVICE, path=path.name)
    return vocab


def sort_by_id(ids: dict[str, Any], path: Path) -> list[str]:
    """Sort tokens by id; gaps are filled with unused names."""
    if not ids or not all(type(i) is int and 0 <= i < MAX_TOKENS for i in ids.values()):
        raise BadCheckpoint("{path} contains invalid token ids.", ADVICE, path=path.name)
    size = max(ids.values()) + 1
    if size > 2 * len(ids) + 1_000 or len(set(ids.values())) < len(ids):
        raise BadCheckpoint(
            "{path} has {count} tokens with ids up to {size}: some ids are used twice or "
            "not at all.",
            ADVICE,
            path=path.name,
            count=len(ids),
            size=size - 1,
        )
    tokens = [f"[hole{index}]" for index in range(size)]
    for token, number in ids.items():
        tokens[number] = token
    return tokens


def read_lines(path: Path) -> list[str]:
    content = read_text(path)
    lines = content.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    # Google's code and transformers 5 ignore blanks behind a token
    tokens = [line.rstrip(" \t\r") or line.removesuffix("\r") for line in lines]
    if not tokens or len(tokens) > MAX_TOKENS:
        raise BadCheckpoint("{path} contains no tokens, or far too many.", ADVICE, path=path.name)
    return tokens


def read_text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_SIZE:
            raise BadCheckpoint(
                "{path} is not a file, or far too large for a vocabulary.", ADVICE, path=path.name
            )
        return read_regular(path, MAX_FILE_SIZE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadCheckpoint("{path} is not UTF-8 text.", ADVICE, path=path.name) from error
    except OSError as error:
        raise BadCheckpoint(
            "{path} cannot be read: {strerror}.", ADVICE, path=path.name, strerror=error.strerror
        ) from error


def read_json_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise BadCheckpoint("{path} is not valid JSON.", ADVICE, path=path.name) from error
    if not isinstance(content, dict):
        raise BadCheckpoint("{path} is not a JSON object.", ADVICE, path=path.name)
    return content
