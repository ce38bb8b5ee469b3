"""Read and write the vocabulary of a folder, of whichever kind it is.

Of a foreign `tokenizer.json` only the vocabulary and the settings that the published steps have
are read; one that asks for other steps is passed over for the older files, or refused.
"""

import json
import re
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.phrases import phrase
from engine.tokenizers import byte_bpe as byte_pieces
from engine.tokenizers import unigram as sentence_pieces
from engine.tokenizers.vocabulary import PREFIX, SPECIAL, AnyVocabulary, Vocabulary
from engine.tokenizers.vocabulary_files import (
    ADVICE,
    SPECIAL_KEYS,
    in_order,
    json_of,
    lines_of,
    numbered,
    special_names,
)

GOOGLE_CONFIG = "bert_config.json"  # Google's name of what is config.json elsewhere
CASE = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)


def read_folder(folder: Path) -> AnyVocabulary:
    """Read the vocabulary of a checkpoint folder.

    Whether a WordPiece one is lowercase is said by its config; or else by the name of a folder of
    Google's; or else by its pieces.

    Raises:
        BadCheckpoint: no vocabulary, a damaged one, or one of a kind that is not known.
    """
    stated = folder / "tokenizer_config.json"
    config = json_of(stated) if stated.exists() else {}
    published, plain = folder / "tokenizer.json", folder / "vocab.txt"
    if published.exists():
        content = json_of(published)
        for read in (_word_pieces, byte_pieces.from_published, sentence_pieces.from_published):
            if (known := read(content, config, published)) is not None:
                return known
    if plain.exists():
        named = lowercase_by_name(folder)
        settings = {} if named is None else {"lowercase": named}
        return _vocabulary(lines_of(plain), {**settings, **_settings(config)}, config, ())
    if (folder / byte_pieces.WORDS).exists():
        return byte_pieces.from_plain(folder, config)
    if published.exists():
        raise BadCheckpoint(
            phrase(
                "{published} in {folder} describes none of the tokenizers that are known: "
                "WordPiece, byte-level BPE, or SentencePiece as ALBERT has it.",
                published=published.name,
                folder=folder.name,
            ),
            phrase("Choose a checkpoint of the BERT family."),
        )
    if (folder / sentence_pieces.MODEL).exists():
        raise BadCheckpoint(
            phrase(
                "{folder} has its vocabulary in {model} only.",
                folder=folder.name,
                model=sentence_pieces.MODEL,
            ),
            phrase(
                "Put the model's tokenizer.json beside it; transformers writes one where it loads "
                "the "
                "tokenizer and saves it again."
            ),
        )
    raise BadCheckpoint(
        phrase(
            "{folder} has no vocabulary: neither tokenizer.json nor vocab.txt is there.",
            folder=folder.name,
        ),
        ADVICE,
    )


def read_vocabulary(path: Path, lowercase: bool | None = None) -> AnyVocabulary:
    """Read a `vocab.txt`, or the folder of one; None: lowercase unless a piece has capitals."""
    if path.is_dir():
        return read_folder(path)
    settings = {} if lowercase is None else {"lowercase": lowercase}
    return _vocabulary(lines_of(path), settings, {}, ())


def write_folder(vocabulary: AnyVocabulary, library_json: str, folder: Path) -> None:
    """Write what the published tools read."""
    config = vocabulary.config()
    texts = {
        "tokenizer.json": library_json,
        **vocabulary.files(),
        "tokenizer_config.json": _as_json(config),
        "special_tokens_map.json": _as_json({key: config[key] for key in SPECIAL_KEYS}),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode("utf-8"))


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


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
    special = special_names(config, SPECIAL)
    return Vocabulary(pieces=tuple(pieces), special=special, added=added, **settings)


def _has_capitals(piece: str) -> bool:
    return re.search("[A-Z]", piece) is not None and not re.fullmatch(r"\[.*\]|<.*>", piece)


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


def _word_pieces(content: dict[str, Any], config: dict[str, Any], path: Path) -> Vocabulary | None:
    """Read a tokenizer.json; None where its steps are not BERT's own."""
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
    ids, added = numbered(model, content, path)
    own = tuple(piece for piece in added if piece not in SPECIAL)
    return _vocabulary(in_order(ids, path), {**settings, **_settings(config)}, config, own)


def lowercase_by_name(folder: Path) -> bool | None:
    """What “cased” or “uncased” in the name of a folder of Google's says; None: nothing.

    Its config has no entry for this, and Google's own code looks at the name too.
    """
    if not (folder / GOOGLE_CONFIG).is_file():
        return None
    named = CASE.search(folder.absolute().name)
    return named[1] is not None if named else None
