"""Any other tokenizer.json, run by the library: multilingual Unigrams, Polish BPE, Korean
WordPiece.

Only known steps that take linear time and affect nothing but the text are allowed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tokenizers import Tokenizer as LibraryTokenizer

from engine.errors import BadCheckpoint
from engine.phrases import phrase
from engine.tokenizers.added import drop_default_special
from engine.tokenizers.byte_bpe import WRITTEN_SPACE, decode_token
from engine.tokenizers.declared import Settings
from engine.tokenizers.template import Template, UnknownTemplate, parse_template
from engine.tokenizers.unigram import MARK, parse_scores
from engine.tokenizers.vocabulary import Vocabulary
from engine.tokenizers.vocabulary_files import (
    ADVICE,
    ANOTHER_TOKENIZER,
    MAX_WORD,
    SPECIAL_KEYS,
    parse_vocab,
    token_name,
)
from engine.tokenizers.wordpiece import SETTINGS, flags_in

if TYPE_CHECKING:  # as in vocabulary.py
    import numpy as np
    from numpy.typing import NDArray

MODELS = ("WordPiece", "BPE", "Unigram", "WordLevel")
NORMALIZERS = (
    *("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt"),
    *("Precompiled", "Prepend", "Replace", "Sequence", "Strip", "StripAccents"),
)
PRE_TOKENIZERS = (
    *("BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace"),
    *("Punctuation", "Sequence", "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"),
)
DEFAULT_NAMES = (  # default names of padding, unknown, [CLS], [SEP] and mask
    ("[PAD]", "<pad>"),
    ("[UNK]", "<unk>"),
    ("[CLS]", "<s>"),
    ("[SEP]", "</s>"),
    ("[MASK]", "<mask>"),
)
MAX_DEPTH = 4  # nesting of sequences
MAX_INSERTED_CHARACTERS = 100  # per step
MAX_WORD_CHARACTERS = 1_000
# A character or a class, perhaps repeated: such an expression takes linear time.
PLAIN_EXPRESSION = re.compile(
    r"\(?(?:\\[sSdDwWnrt]|\\p\{\w+\}|\[[^\[\]]*\]|[^\\()\[\]{}*+?|^$.])(?:[*+]|\{\d*,?\d*\})?\)?"
)
PARTS = ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model")

MarkPosition = Literal["inside", "begin", "end", "none"]  # tokens that have the mark


@dataclass(frozen=True)
class TokenizerJson(Vocabulary):
    """Tokens and steps of a file; `content` is its text without unused entries.

    The mark is on the tokens inside a word, or on those that begin or end a word.
    """

    kind: ClassVar[str] = "tokenizer.json"
    keeps_spaces: ClassVar[bool] = True
    content: str = field(repr=False)
    mark_position: MarkPosition = "none"
    file_mark: str = ""  # the mark as written in the file

    @property
    def mark(self) -> str:
        return MARK if self.file_mark == WRITTEN_SPACE else self.file_mark

    @property
    def max_word(self) -> int:
        return MAX_WORD_CHARACTERS

    def to_library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """Build the library's tokenizer. Raises ValueError if its ids differ from `ids`."""
        library = LibraryTokenizer.from_str(self.content)
        if any(ids.get(token) != number for token, number in library.get_vocab().items()):
            raise ValueError("the added tokens have other ids than the library gives them")
        return library

    def continues(self, token: str) -> bool:
        if token in self.unsplit or self.mark_position not in ("inside", "begin"):
            return False
        return token.startswith(self.file_mark) == (self.mark_position == "inside")

    def continuation_mask(self, ids: "NDArray[np.int64]") -> "NDArray[np.bool_]":
        """See Vocabulary; with end-of-word marks, the previous token decides."""
        if self.mark_position != "end":
            return super().continuation_mask(ids)
        import numpy as np

        flags = np.zeros(ids.shape, dtype=np.bool_)
        flags[..., 1:] = ~self._ends_word[ids[..., :-1]]
        return flags

    @cached_property
    def _ends_word(self) -> "NDArray[np.bool_]":
        """True for tokens that end a word, bool [V]."""
        import numpy as np

        last = [t.endswith(self.file_mark) or t in self.unsplit for t in self.tokens]
        return np.array(last, dtype=np.bool_)

    def display_form(self, token: str) -> str:
        if self.file_mark == WRITTEN_SPACE and token not in self.unsplit:
            return decode_token(token)
        return token

    def fingerprint_fields(self) -> list[Any]:
        return [self.kind, LibraryTokenizer.from_str(self.content).to_str(), *self.common_fields()]

    def files(self) -> dict[str, str]:
        """Empty, since the older files cannot express the steps."""
        return {}

    def class_config(self) -> dict[str, Any]:
        return {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "do_lower_case": self.lowercase,
            **self.special_by_key,
        }

    def for_words(self) -> "TokenizerJson":
        content = json.loads(self.content)
        for step in _steps(content["pre_tokenizer"], "pretokenizers"):
            if step["type"] == "ByteLevel":
                step["add_prefix_space"] = True
            if step["type"] == "Metaspace":
                step["prepend_scheme"] = "always"
        return replace(self, content=json.dumps(content))


def from_json(content: dict[str, Any], declared: Settings, path: Path) -> TokenizerJson:
    """Read a tokenizer.json. Raises BadCheckpoint if a step is unknown or not allowed."""
    model = content.get("model")
    if not isinstance(model, dict) or model.get("type", _guess_type(model)) not in MODELS:
        raise _unsupported(path, phrase("it has no model of a known kind"))
    _check_steps(content, path)
    _check_model(model, path)
    ids = (
        {token: index for index, (token, _) in enumerate(parse_scores(model, path))}
        if isinstance(model.get("vocab"), list)
        else parse_vocab(model, path)
    )
    tokens, added, _ = declared.merge(ids, path, content.get("added_tokens"))
    try:
        template = parse_template(content.get("post_processor"))
    except UnknownTemplate as error:
        why = phrase("it does not put a text between [CLS] and [SEP]")
        raise _unsupported(path, why) from error
    special = _choose_special(content, declared, tokens, template)
    template = template or Template(special[2], special[3])
    ids = {token: index for index, token in enumerate(tokens)}
    entries = [{"id": ids[token.content], **token.json_entry()} for token in added]
    cleaned = {name: content.get(name) for name in PARTS} | {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(entries, key=lambda row: row["id"]),
        "normalizer": _configure_normalizer(content.get("normalizer"), declared),
    }
    mark_position, file_mark = _find_mark(model, content)
    steps = _steps(cleaned["normalizer"], "normalizers")
    lowercase = any(step["type"] == "Lowercase" or step.get("lowercase") is True for step in steps)
    return TokenizerJson(
        tokens,
        json.dumps(cleaned, ensure_ascii=False),
        mark_position,
        file_mark,
        special=special,
        added=drop_default_special(added, special),
        lowercase=lowercase,
        marked=mark_position in ("inside", "begin"),
        separators=template.separators,
        second_segment=template.second_segment,
    )


def _guess_type(model: dict[str, Any]) -> str:
    """Guess the kind of a model in an old file that does not say it."""
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    return "BPE" if "merges" in model else "WordPiece"


def _choose_special(
    content: dict[str, Any], declared: Settings, tokens: tuple[str, ...], template: Template | None
) -> tuple[str, str, str, str, str]:
    """Choose the special tokens as configured, as used in the file, or by default names."""
    model, padding = content["model"], content.get("padding")
    has_scores, known = isinstance(model.get("vocab"), list), set(tokens)
    used = [
        token_name(padding.get("pad_token"), "") if isinstance(padding, dict) else None,
        tokens[model["unk_id"]] if has_scores else token_name(model.get("unk_token"), ""),
        template.cls if template else None,
        template.sep if template else None,
        None,
    ]
    names = []
    rows = zip(SPECIAL_KEYS, DEFAULT_NAMES, used, strict=True)
    for index, (key, defaults, token) in enumerate(rows):
        default = next((name for name in defaults if name in known), defaults[0])
        configured = token_name(declared.config.get(key), token or default)
        names.append(token if token and index in (1, 2, 3) else configured)
    pad, unknown, cls, sep, mask = names
    return pad, unknown, cls, sep, mask


def _configure_normalizer(steps: Any, declared: Settings) -> Any:
    """Apply the settings of a tokenizer_config.json to BERT's normaliser."""
    if declared.is_generic or not isinstance(steps, dict) or steps.get("type") != "BertNormalizer":
        return steps
    names = {"split_chinese": "handle_chinese_chars"}
    flags = flags_in(declared.config, SETTINGS)
    return {**steps, **{names.get(ours, ours): value for ours, value in flags.items()}}


def _steps(step: Any, key: str, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Flatten the steps of a normaliser or pre-tokenizer.

    Raises ValueError if they are nested too deeply or invalid.
    """
    if step is None:
        return
    if not isinstance(step, dict) or depth > MAX_DEPTH:
        raise ValueError(step)
    if step.get("type") == "Sequence":
        steps = step.get(key)
        for inner in steps if isinstance(steps, list) else [0]:
            yield from _steps(inner, key, depth + 1)
    else:
        yield step


def _check_steps(content: dict[str, Any], path: Path) -> None:
    for part, key, known in (
        ("normalizer", "normalizers", NORMALIZERS),
        ("pre_tokenizer", "pretokenizers", PRE_TOKENIZERS),
    ):
        try:
            steps = list(_steps(content.get(part), key))
        except ValueError as error:
            raise BadCheckpoint(
                "{path} has a damaged {part}.", ADVICE, path=path.name, part=part
            ) from error
        for step in steps:
            if step.get("type") not in known:
                raise _unsupported(
                    path, phrase("it has a step “{step}”", step=str(step.get("type"))[:40])
                )
            _check_texts(step, path)


def _check_texts(step: dict[str, Any], path: Path) -> None:
    """Refuse steps that could take unlimited time or memory."""
    pattern = step.get("pattern")
    if isinstance(pattern, dict) and "Regex" in pattern:
        expression = str(pattern["Regex"])
        if not PLAIN_EXPRESSION.fullmatch(expression):
            raise _unsupported(
                path, phrase("it splits text by the expression {text}", text=expression[:60])
            )
    for name in ("content", "prepend"):
        if len(str(step.get(name, ""))) > MAX_INSERTED_CHARACTERS:
            raise _unsupported(path, phrase("it inserts a text that is too long"))


def _check_model(model: dict[str, Any], path: Path) -> None:
    if model.get("dropout"):
        raise _unsupported(path, phrase("it splits words at random"))
    limit = model.get("max_input_chars_per_word", MAX_WORD)
    if type(limit) is not int or not 0 <= limit <= MAX_WORD_CHARACTERS:
        raise _unsupported(
            path,
            phrase(
                "it splits words of up to {longest} characters, and at most {most} are supported",
                longest=str(limit)[:20],
                most=MAX_WORD_CHARACTERS,
            ),
        )


def _find_mark(model: dict[str, Any], content: dict[str, Any]) -> tuple[MarkPosition, str]:
    """Return which tokens have a mark, and the mark."""
    if ends := model.get("end_of_word_suffix"):
        return "end", str(ends)
    normalizers = _steps(content.get("normalizer"), "normalizers")
    for step in (*normalizers, *_steps(content.get("pre_tokenizer"), "pretokenizers")):
        if step["type"] == "ByteLevel":
            return "begin", WRITTEN_SPACE
        if step["type"] == "Metaspace":
            return "begin", str(step.get("replacement", MARK))
    prefix = model.get("continuing_subword_prefix")
    return ("inside", str(prefix)) if prefix else ("none", "")


def _unsupported(path: Path, why: str) -> BadCheckpoint:
    return BadCheckpoint(
        "{path} is not a supported tokenizer: {why}.", ANOTHER_TOKENIZER, path=path.name, why=why
    )
