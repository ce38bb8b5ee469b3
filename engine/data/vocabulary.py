"""Read and write the files of a vocabulary: tokenizer.json, vocab.txt, tokenizer_config.json.

Of a foreign `tokenizer.json` only the vocabulary and the settings that BERT's own steps have are
read; one that asks for other steps (a regular expression, say) is passed over for `vocab.txt`,
or refused.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.data.tf1.folder import lowercase_by_name
from engine.errors import BadCheckpoint

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"  # of a piece inside a word
LONGEST_WORD = 100  # characters; longer words become one [UNK], as in the published code
LARGEST_FILE = 256 * 1024 * 1024  # bytes
MOST_PIECES = 10_000_000
SPECIAL_KEYS = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
ADVICE = "Copy the files of the tokenizer again, or choose another checkpoint."


@dataclass(frozen=True)
class Vocabulary:
    """All that a tokenizer is made of.

    `pieces` stand in the order of their ids. `special` names [PAD], [UNK], [CLS], [SEP] and [MASK],
    in this order, as the vocabulary writes them. `added` are pieces that are never split.
    """

    pieces: tuple[str, ...]
    lowercase: bool = True
    strip_accents: bool | None = None  # None: as `lowercase`
    split_chinese: bool = True
    special: tuple[str, str, str, str, str] = SPECIAL
    added: tuple[str, ...] = ()
    marked: bool = True  # “##” begins the pieces inside a word; False: no piece is marked


def read_folder(folder: Path) -> Vocabulary:
    """Read the vocabulary of a checkpoint folder.

    Its config says whether it is lowercase; or else the name of a folder of Google's; or else its
    pieces.

    Raises:
        BadCheckpoint: no vocabulary, a damaged one, or one that is not WordPiece.
    """
    config = (
        _json(folder / "tokenizer_config.json")
        if (folder / "tokenizer_config.json").exists()
        else {}
    )
    published = folder / "tokenizer.json"
    plain = folder / "vocab.txt"
    if published.exists():
        known = _known_parts(_json(published), published)
        if known is not None:
            pieces, added, settings = known
            return _vocabulary(pieces, {**settings, **_settings(config)}, config, added)
        if not plain.exists():
            raise BadCheckpoint(
                f"{published.name} in {folder.name} describes no WordPiece tokenizer of BERT.",
                "Choose a checkpoint of the BERT family.",
            )
    if not plain.exists():
        raise BadCheckpoint(
            f"{folder.name} has no vocabulary: neither tokenizer.json nor vocab.txt is there.",
            ADVICE,
        )
    named = lowercase_by_name(folder)
    settings = {} if named is None else {"lowercase": named}
    return _vocabulary(_lines(plain), {**settings, **_settings(config)}, config, ())


def read_vocabulary(path: Path, lowercase: bool | None = None) -> Vocabulary:
    """Read a `vocab.txt`, or the folder of one; None: lowercase unless a piece has capitals."""
    if path.is_dir():
        return read_folder(path)
    settings = {} if lowercase is None else {"lowercase": lowercase}
    return _vocabulary(_lines(path), settings, {}, ())


def write_folder(vocabulary: Vocabulary, library_json: str, folder: Path) -> None:
    """Write what the published tools read; `vocab.txt` only where its lines can hold it."""
    (folder / "tokenizer.json").write_text(library_json, encoding="utf-8")
    if not any("\n" in piece or "\r" in piece for piece in vocabulary.pieces):
        text = "".join(f"{piece}\n" for piece in vocabulary.pieces)
        (folder / "vocab.txt").write_bytes(text.encode("utf-8"))
    special = dict(zip(SPECIAL_KEYS, vocabulary.special, strict=True))
    config = {
        "tokenizer_class": "BertTokenizer" if vocabulary.marked else "PreTrainedTokenizerFast",
        "do_lower_case": vocabulary.lowercase,
        "strip_accents": vocabulary.strip_accents,
        "tokenize_chinese_chars": vocabulary.split_chinese,
        **special,
    }
    for name, content in (
        ("tokenizer_config.json", config),
        ("special_tokens_map.json", special),
    ):
        text = json.dumps(content, indent=2, ensure_ascii=False)
        (folder / name).write_text(text + "\n", encoding="utf-8")


def _vocabulary(
    pieces: list[str],
    settings: dict[str, Any],
    config: dict[str, Any],
    added: tuple[str, ...],
) -> Vocabulary:
    if "lowercase" not in settings:
        settings = {**settings, "lowercase": not any(map(_has_capitals, pieces))}
    if "marked" not in settings:
        settings = {**settings, "marked": any(piece.startswith(PREFIX) for piece in pieces)}
    if not settings["marked"]:
        settings = {**settings, "split_chinese": False}
    names = [
        _name(config.get(key), default) for key, default in zip(SPECIAL_KEYS, SPECIAL, strict=True)
    ]
    pad, unknown, cls, sep, mask = names
    return Vocabulary(
        pieces=tuple(pieces),
        special=(pad, unknown, cls, sep, mask),
        added=added,
        **settings,
    )


def _has_capitals(piece: str) -> bool:
    return re.search("[A-Z]", piece) is not None and not re.fullmatch(r"\[.*\]|<.*>", piece)


def _name(value: object, default: str) -> str:
    """A special piece as a config names it: a text, or an object with its text."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else default


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that `tokenizer_config.json` states, in our names."""
    found: dict[str, Any] = {}
    if isinstance(config.get("do_lower_case"), bool):
        found["lowercase"] = config["do_lower_case"]
    if isinstance(config.get("strip_accents"), bool):
        found["strip_accents"] = config["strip_accents"]
    if isinstance(config.get("tokenize_chinese_chars"), bool):
        found["split_chinese"] = config["tokenize_chinese_chars"]
    return found


def _known_parts(
    content: dict[str, Any], path: Path
) -> tuple[list[str], tuple[str, ...], dict[str, Any]] | None:
    """Pieces, added pieces and settings, or None where the steps are not BERT's own."""
    model, steps = content.get("model"), content.get("normalizer")
    before = content.get("pre_tokenizer")
    if not isinstance(model, dict) or model.get("type", "WordPiece") != "WordPiece":
        return None
    marked = model.get("continuing_subword_prefix", PREFIX) == PREFIX
    words = "BertPreTokenizer" if marked else "WhitespaceSplit"
    if not isinstance(before, dict) or before.get("type") != words:
        return None
    if not marked and model["continuing_subword_prefix"] != "":
        return None
    if not isinstance(steps, dict) or steps.get("type") != "BertNormalizer":
        return None
    settings: dict[str, Any] = {"marked": marked}
    for theirs, ours in (
        ("lowercase", "lowercase"),
        ("strip_accents", "strip_accents"),
        ("handle_chinese_chars", "split_chinese"),
    ):
        if isinstance(steps.get(theirs), bool):
            settings[ours] = steps[theirs]
    numbered = model.get("vocab")
    extra = content.get("added_tokens") or []
    if not isinstance(numbered, dict) or not isinstance(extra, list):
        raise BadCheckpoint(f"{path.name} has no vocabulary in it.", ADVICE)
    named = [t for t in extra if isinstance(t, dict) and isinstance(t.get("content"), str)]
    ids = {**{t["content"]: t.get("id") for t in named}, **numbered}
    if any(ids[t["content"]] != t.get("id") for t in named):
        raise BadCheckpoint(f"{path.name} gives one of its pieces two numbers.", ADVICE)
    own = tuple(t["content"] for t in named if t["content"] not in SPECIAL and t["content"])
    return _in_order(ids, path), own, settings


def _in_order(ids: dict[str, Any], path: Path) -> list[str]:
    """Pieces in the order of their ids; ids that no piece has are filled with unused names."""
    if not ids or not all(type(i) is int and 0 <= i < MOST_PIECES for i in ids.values()):
        raise BadCheckpoint(f"{path.name} numbers its pieces wrongly.", ADVICE)
    size = max(ids.values()) + 1
    if size > 2 * len(ids) + 1_000 or len(set(ids.values())) < len(ids):
        raise BadCheckpoint(
            f"{path.name} numbers {len(ids)} pieces up to {size - 1}: some twice, or not at all.",
            ADVICE,
        )
    pieces = [f"[hole{number}]" for number in range(size)]
    for piece, number in ids.items():
        pieces[number] = piece
    return pieces


def _lines(path: Path) -> list[str]:
    content = _text(path)
    lines = content.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    pieces = [line.removesuffix("\r") for line in lines]
    if not pieces or len(pieces) > MOST_PIECES:
        raise BadCheckpoint(f"{path.name} holds no pieces, or far too many.", ADVICE)
    return pieces


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            raise BadCheckpoint(
                f"{path.name} is no file, or far too large for a vocabulary.", ADVICE
            )
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadCheckpoint(f"{path.name} is not text in UTF-8.", ADVICE) from error
    except OSError as error:
        raise BadCheckpoint(f"{path.name} cannot be read: {error.strerror}.", ADVICE) from error


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise BadCheckpoint(f"{path.name} is not valid JSON.", ADVICE) from error
    if not isinstance(content, dict):
        raise BadCheckpoint(f"{path.name} does not hold an object.", ADVICE)
    return content
