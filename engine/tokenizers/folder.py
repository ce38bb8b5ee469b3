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
from engine.tokenizers import byte_bpe, unigram, wordpiece
from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.vocabulary_files import (
    ADVICE,
    SPECIAL_KEYS,
    json_of,
    lines_of,
)

GOOGLE_CONFIG = "bert_config.json"  # Google's name of what is config.json elsewhere
CASE = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)


def read_folder(folder: Path) -> Vocabulary:
    """Read the vocabulary of a checkpoint folder.

    Whether a WordPiece one is lowercase is said by its config; or else by the name of a folder of
    Google's; or else by its tokens.

    Raises:
        BadCheckpoint: no vocabulary, a damaged one, or one of a kind that is not known.
    """
    stated = folder / "tokenizer_config.json"
    config = json_of(stated) if stated.exists() else {}
    published, plain = folder / "tokenizer.json", folder / "vocab.txt"
    if published.exists():
        content = json_of(published)
        for read in (
            wordpiece.from_published,
            byte_bpe.from_published,
            unigram.from_published,
        ):
            if (known := read(content, config, published)) is not None:
                return known
    if plain.exists():
        named = lowercase_by_name(folder)
        settings = {} if named is None else {"lowercase": named}
        return wordpiece.of_tokens(
            lines_of(plain), {**settings, **wordpiece.stated_settings(config)}, config, ()
        )
    if (folder / byte_bpe.WORDS).exists():
        return byte_bpe.from_plain(folder, config)
    if published.exists():
        raise BadCheckpoint(
            phrase(
                "{published} in {folder} is not a supported tokenizer: WordPiece, byte-level "
                "BPE, or Unigram (SentencePiece) as in ALBERT.",
                published=published.name,
                folder=folder.name,
            ),
            phrase("Choose a checkpoint of the BERT family."),
        )
    if (folder / unigram.MODEL).exists():
        raise BadCheckpoint(
            phrase(
                "{folder} has its vocabulary only in {model}.",
                folder=folder.name,
                model=unigram.MODEL,
            ),
            phrase(
                "Add the model's tokenizer.json; to get one, load the tokenizer with "
                "transformers and save it again."
            ),
        )
    raise BadCheckpoint(
        phrase(
            "{folder} has no vocabulary: there is neither tokenizer.json nor vocab.txt.",
            folder=folder.name,
        ),
        ADVICE,
    )


def read_vocabulary(path: Path, lowercase: bool | None = None) -> Vocabulary:
    """Read a `vocab.txt`, or the folder of one; None: lowercase unless a token has capitals."""
    if path.is_dir():
        return read_folder(path)
    settings = {} if lowercase is None else {"lowercase": lowercase}
    return wordpiece.of_tokens(lines_of(path), settings, {}, ())


def write_folder(vocabulary: Vocabulary, library_json: str, folder: Path) -> None:
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


def lowercase_by_name(folder: Path) -> bool | None:
    """What “cased” or “uncased” in the name of a folder of Google's says; None: nothing.

    Its config has no entry for this, and Google's own code looks at the name too.
    """
    if not (folder / GOOGLE_CONFIG).is_file():
        return None
    named = CASE.search(folder.absolute().name)
    return named[1] is not None if named else None
