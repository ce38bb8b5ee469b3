"""SentencePiece's unigram model, as in ALBERT and XLM-RoBERTa (Kudo 2018).

Each word is prefixed with “▁” and split into the tokens with the highest total score (log
probability).
"""

import base64
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from engine.errors import BadCheckpoint
from engine.tokenizers.added import register_added
from engine.tokenizers.declared import Settings
from engine.tokenizers.vocabulary import Vocabulary, build_post_processor, with_template
from engine.tokenizers.vocabulary_files import ADVICE, MAX_TOKENS, Special, special_names

SPECIAL = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
MARK = "▁"  # before every word
QUOTES = ("``", "''")  # both become one double quotation mark
STEPS = (*QUOTES, "NFKD", "StripAccents", "Lowercase", "Precompiled", "spaces")  # in this order


@dataclass(frozen=True)
class Unigram(Vocabulary):
    """A unigram vocabulary; the first tokens have `scores`, the others were added."""

    kind: ClassVar[str] = "Unigram"
    mark: ClassVar[str] = MARK
    scores: tuple[float, ...]
    special: Special = field(default=SPECIAL, kw_only=True)
    lowercase: bool = field(default=True, kw_only=True)
    keep_accents: bool = False
    quotes: bool = True  # `` and '' become a double quotation mark
    characters: str = ""  # character map of SentencePiece, base64

    def to_library(self, ids: dict[str, int]) -> LibraryTokenizer:
        unknown = self.special[1]
        scored = list(zip(self.tokens, self.scores, strict=False))
        library = LibraryTokenizer(models.Unigram(scored, ids[unknown], byte_fallback=False))
        steps: list[normalizers.Normalizer] = []
        if self.quotes:
            steps += [normalizers.Replace(quote, '"') for quote in QUOTES]
        if not self.keep_accents:
            steps += [normalizers.NFKD(), normalizers.StripAccents()]
        if self.lowercase:
            steps.append(normalizers.Lowercase())
        if self.characters:
            table = base64.b64decode(self.characters, validate=True)
            steps.append(normalizers.Precompiled(table))
        steps.append(normalizers.Replace(Regex(" {2,}"), " "))
        library.normalizer = normalizers.Sequence(steps)
        library.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(MARK, "always")]
        )
        library.post_processor = build_post_processor(self.template, ids)
        library.decoder = decoders.Metaspace(MARK, "always")
        register_added(library, self.tokens[len(scored) :], self.special, self.added)
        return library

    def continues(self, token: str) -> bool:
        return token not in self.unsplit and not token.startswith(MARK)

    def fingerprint_fields(self) -> list[Any]:
        settings = [self.lowercase, self.keep_accents, self.quotes, self.characters]
        return [self.kind, self.scores, *settings, *self.common_fields()]

    def files(self) -> dict[str, str]:
        """Empty, since only SentencePiece writes `spiece.model`."""
        return {}

    def class_config(self) -> dict[str, Any]:
        _, _, cls, sep, _ = self.special
        is_albert = self.quotes and (cls, sep) == SPECIAL[2:4] and self.separators == 1
        return {
            "tokenizer_class": "AlbertTokenizer" if is_albert else "PreTrainedTokenizerFast",
            "do_lower_case": self.lowercase,
            "keep_accents": self.keep_accents,
            "remove_space": True,
            **self.special_by_key,
            "bos_token": cls,
            "eos_token": sep,
        }


def from_json(content: dict[str, Any], declared: Settings, path: Path) -> Unigram | None:
    """Read a tokenizer.json; None if its steps are not those of ALBERT."""
    model = content.get("model")
    if not isinstance(model, dict) or model.get("type", "Unigram") != "Unigram":
        return None
    steps = _steps(content.get("normalizer"))
    if steps is None or model.get("byte_fallback") or not _splits(content.get("pre_tokenizer")):
        return None
    scored = parse_scores(model, path)
    names = [token for token, _ in scored]
    ids = {token: index for index, token in enumerate(names)}
    tokens, added, count = declared.merge(ids, path, content.get("added_tokens"))
    special = special_names(declared.config, _default_special(tokens, names[model["unk_id"]]))
    if special[1] != names[model["unk_id"]] or count < len(names):
        return None
    lowercase = declared.flag("do_lower_case", "Lowercase" in steps)
    keep_accents = declared.flag("keep_accents", "StripAccents" not in steps)
    vocabulary = Unigram(
        tokens,
        tuple(score for _, score in scored),
        special=special,
        added=added,
        lowercase=lowercase,
        keep_accents=keep_accents,
        quotes=QUOTES[0] in steps,
        characters=steps.get("Precompiled", ""),
    )
    return with_template(vocabulary, content.get("post_processor"))


def _default_special(tokens: tuple[str, ...], unknown: str) -> Special:
    """Default special tokens: ALBERT's names, else XLM-RoBERTa's."""
    known = set(tokens)
    cls, sep, mask = (
        roberta if roberta in known and albert not in known else albert
        for albert, roberta in zip(SPECIAL[2:], ("<s>", "</s>", "<mask>"), strict=True)
    )
    return SPECIAL[0], unknown, cls, sep, mask


def _steps(normalizer: object) -> dict[str, str] | None:
    """Normalisation steps by name; None if one is unknown or out of order."""
    if not isinstance(normalizer, dict):
        return None
    entries = normalizer.get("normalizers", [normalizer])
    if not isinstance(entries, list) or not all(isinstance(step, dict) for step in entries):
        return None
    steps: dict[str, str] = {}
    for step in entries:
        name, value = str(step.get("type")), ""
        match step:
            case {"type": "Replace", "pattern": {"String": quote}, "content": '"'} if (
                quote in QUOTES
            ):
                name = quote
            case {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}:
                name = "spaces"
            case {"type": "Precompiled"}:
                value = str(step.get("precompiled_charsmap") or "")
        steps[name] = value
    order = [STEPS.index(name) if name in STEPS else -1 for name in steps]
    pairs = (QUOTES, ("NFKD", "StripAccents"))
    is_complete = all((first in steps) == (second in steps) for first, second in pairs)
    is_ordered = -1 not in order and order == sorted(order) and len(steps) == len(entries)
    return steps if is_complete and is_ordered else None


def _splits(pre_tokenizer: object) -> bool:
    """True if texts are split at white space and the mark is put before every word."""
    match pre_tokenizer:
        case {
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace"} as last],
        }:
            marks_all = last.get("prepend_scheme", "always") == "always"
            return marks_all and last.get("replacement") == MARK and last.get("split", True) is True
    return False


def parse_scores(model: dict[str, Any], path: Path) -> list[tuple[str, float]]:
    """Parse tokens and scores. Raises BadCheckpoint, also if no token is the unknown token."""
    pairs, unknown = model.get("vocab"), model.get("unk_id")
    if not isinstance(pairs, list) or not 0 < len(pairs) <= MAX_TOKENS:
        raise BadCheckpoint("{path} contains no vocabulary.", ADVICE, path=path.name)
    scored = []
    for pair in pairs:
        token, score = pair if isinstance(pair, list) and len(pair) == 2 else (None, None)
        is_number = isinstance(score, int | float) and math.isfinite(score)
        if not isinstance(token, str) or not token or score is None or not is_number:
            raise BadCheckpoint(
                "{path} contains a token without a text or a score.", ADVICE, path=path.name
            )
        scored.append((token, float(score)))
    if len({token for token, _ in scored}) < len(scored):
        raise BadCheckpoint("{path} contains a token twice.", ADVICE, path=path.name)
    if type(unknown) is not int or not 0 <= unknown < len(scored):
        raise BadCheckpoint(
            "{path} does not say which token is the unknown token.", ADVICE, path=path.name
        )
    return scored
