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
from engine.tokenizers.added import unusual
from engine.tokenizers.byte_bpe import WRITTEN_SPACE, decode_token
from engine.tokenizers.frame import Frame, UnknownFrame, parse_frame
from engine.tokenizers.stated import Stated
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
USUAL_NAMES = (  # default names of padding, unknown, [CLS], [SEP] and mask
    ("[PAD]", "<pad>"),
    ("[UNK]", "<unk>"),
    ("[CLS]", "<s>"),
    ("[SEP]", "</s>"),
    ("[MASK]", "<mask>"),
)
MAX_DEPTH = 4  # nesting of sequences
MAX_INSERTED = 100  # characters that a step inserts
MAX_CHARACTERS = 1_000  # of a word that is tokenized
# One character, or several of a kind: such an expression passes over a text once.
PLAIN_EXPRESSION = re.compile(
    r"\(?(?:\\[sSdDwWnrt]|\\p\{\w+\}|\[[^\[\]]*\]|[^\\()\[\]{}*+?|^$.])(?:[*+]|\{\d*,?\d*\})?\)?"
)
PARTS = ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model")

Bearing = Literal["inside", "begin", "end", "none"]  # which tokens have the mark


@dataclass(frozen=True)
class TokenizerJson(Vocabulary):
    """Tokens and steps of a file; `content` is its text without unused entries.

    The mark is on tokens inside a word, on those that begin one, or on those that end one.
    """

    kind: ClassVar[str] = "tokenizer.json"
    keeps_spaces: ClassVar[bool] = True
    content: str = field(repr=False)
    bears: Bearing = "none"
    written: str = ""  # the mark

    @property
    def mark(self) -> str:
        return MARK if self.written == WRITTEN_SPACE else self.written

    @property
    def max_word(self) -> int:
        return MAX_CHARACTERS

    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """The library's tokenizer. Raises ValueError if its ids differ from the file."""
        library = LibraryTokenizer.from_str(self.content)
        if any(ids.get(token) != number for token, number in library.get_vocab().items()):
            raise ValueError("the added tokens have other ids than the library gives them")
        return library

    def continues(self, token: str) -> bool:
        if token in self.unsplit or self.bears not in ("inside", "begin"):
            return False
        return token.startswith(self.written) == (self.bears == "inside")

    def continued(self, ids: "NDArray[np.int64]") -> "NDArray[np.bool_]":
        """As in every vocabulary; with end-of-word marks, the previous token decides."""
        if self.bears != "end":
            return super().continued(ids)
        import numpy as np

        flags = np.zeros(ids.shape, dtype=np.bool_)
        flags[..., 1:] = ~self._ends[ids[..., :-1]]
        return flags

    @cached_property
    def _ends(self) -> "NDArray[np.bool_]":
        """True for tokens that end a word, bool [V]."""
        import numpy as np

        last = [t.endswith(self.written) or t in self.unsplit for t in self.tokens]
        return np.array(last, dtype=np.bool_)

    def shown(self, token: str) -> str:
        if self.written == WRITTEN_SPACE and token not in self.unsplit:
            return decode_token(token)
        return token

    def essence(self) -> list[Any]:
        return [self.kind, LibraryTokenizer.from_str(self.content).to_str(), *self.common()]

    def files(self) -> dict[str, str]:
        """None: the older files cannot express the steps."""
        return {}

    def named(self) -> dict[str, Any]:
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


def from_published(content: dict[str, Any], stated: Stated, path: Path) -> TokenizerJson:
    """Read a tokenizer.json. Raises BadCheckpoint if a step is unknown or not allowed."""
    model = content.get("model")
    if not isinstance(model, dict) or model.get("type", _guess_type(model)) not in MODELS:
        raise _unsupported(path, phrase("it has no model of a kind that is known"))
    _check_steps(content, path)
    _check_model(model, path)
    own = (
        {token: index for index, (token, _) in enumerate(parse_scores(model, path))}
        if isinstance(model.get("vocab"), list)
        else parse_vocab(model, path)
    )
    tokens, added, _ = stated.merge(own, path, content.get("added_tokens"))
    try:
        frame = parse_frame(content.get("post_processor"))
    except UnknownFrame as error:
        why = phrase("it does not put a text between [CLS] and [SEP]")
        raise _unsupported(path, why) from error
    special = _special(content, stated, tokens, frame)
    frame = frame or Frame(special[2], special[3])
    numbers = {token: index for index, token in enumerate(tokens)}
    listed = [{"id": numbers[token.content], **token.flags()} for token in added]
    whole = {name: content.get(name) for name in PARTS} | {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(listed, key=lambda row: row["id"]),
        "normalizer": _normalizer(content.get("normalizer"), stated),
    }
    bears, written = _bearing(model, content)
    steps = _steps(whole["normalizer"], "normalizers")
    lowers = any(step["type"] == "Lowercase" or step.get("lowercase") is True for step in steps)
    return TokenizerJson(
        tokens,
        json.dumps(whole, ensure_ascii=False),
        bears,
        written,
        special=special,
        added=unusual(added, special),
        lowercase=lowers,
        marked=bears in ("inside", "begin"),
        separators=frame.separators,
        second_segment=frame.second_segment,
    )


def _guess_type(model: dict[str, Any]) -> str:
    """Kind of a model in an old file without a type."""
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    return "BPE" if "merges" in model else "WordPiece"


def _special(
    content: dict[str, Any], stated: Stated, tokens: tuple[str, ...], frame: Frame | None
) -> tuple[str, str, str, str, str]:
    """The special tokens: as configured, as used in the file, or by default names."""
    model, padding = content["model"], content.get("padding")
    is_scored, known = isinstance(model.get("vocab"), list), set(tokens)
    used = [
        token_name(padding.get("pad_token"), "") if isinstance(padding, dict) else None,
        tokens[model["unk_id"]] if is_scored else token_name(model.get("unk_token"), ""),
        frame.cls if frame else None,
        frame.sep if frame else None,
        None,
    ]
    names = []
    for index, (key, usual, token) in enumerate(zip(SPECIAL_KEYS, USUAL_NAMES, used, strict=True)):
        likely = next((name for name in usual if name in known), usual[0])
        named = token_name(stated.config.get(key), token or likely)
        names.append(token if token and index in (1, 2, 3) else named)
    pad, unknown, cls, sep, mask = names
    return pad, unknown, cls, sep, mask


def _normalizer(steps: Any, stated: Stated) -> Any:
    """BERT's normaliser as configured in tokenizer_config.json."""
    if stated.is_generic or not isinstance(steps, dict) or steps.get("type") != "BertNormalizer":
        return steps
    names = {"split_chinese": "handle_chinese_chars"}
    flags = flags_in(stated.config, SETTINGS)
    return {**steps, **{names.get(ours, ours): value for ours, value in flags.items()}}


def _steps(step: Any, inside: str, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Flatten the steps of a normaliser or pre-tokenizer.

    Raises ValueError if they are nested too deeply or invalid.
    """
    if step is None:
        return
    if not isinstance(step, dict) or depth > MAX_DEPTH:
        raise ValueError(step)
    if step.get("type") == "Sequence":
        listed = step.get(inside)
        for inner in listed if isinstance(listed, list) else [0]:
            yield from _steps(inner, inside, depth + 1)
    else:
        yield step


def _check_steps(content: dict[str, Any], path: Path) -> None:
    for part, inside, known in (
        ("normalizer", "normalizers", NORMALIZERS),
        ("pre_tokenizer", "pretokenizers", PRE_TOKENIZERS),
    ):
        try:
            steps = list(_steps(content.get(part), inside))
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
        if len(str(step.get(name, ""))) > MAX_INSERTED:
            raise _unsupported(path, phrase("it inserts a text that is too long"))


def _check_model(model: dict[str, Any], path: Path) -> None:
    if model.get("dropout"):
        raise _unsupported(path, phrase("it splits words at random"))
    limit = model.get("max_input_chars_per_word", MAX_WORD)
    if type(limit) is not int or not 0 <= limit <= MAX_CHARACTERS:
        raise _unsupported(
            path,
            phrase(
                "it splits words of up to {longest} characters, and {most} are possible here",
                longest=str(limit)[:20],
                most=MAX_CHARACTERS,
            ),
        )


def _bearing(model: dict[str, Any], content: dict[str, Any]) -> tuple[Bearing, str]:
    """Which tokens have a mark, and the mark."""
    if ends := model.get("end_of_word_suffix"):
        return "end", str(ends)
    before = _steps(content.get("normalizer"), "normalizers")
    for step in (*before, *_steps(content.get("pre_tokenizer"), "pretokenizers")):
        if step["type"] == "ByteLevel":
            return "begin", WRITTEN_SPACE
        if step["type"] == "Metaspace":
            return "begin", str(step.get("replacement", MARK))
    inside = model.get("continuing_subword_prefix")
    return ("inside", str(inside)) if inside else ("none", "")


def _unsupported(path: Path, why: str) -> BadCheckpoint:
    return BadCheckpoint(
        "{path} is not a supported tokenizer: {why}.", ANOTHER_TOKENIZER, path=path.name, why=why
    )
