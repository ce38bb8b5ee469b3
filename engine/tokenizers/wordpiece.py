"""WordPiece, as BERT has it (Wu et al. 2016; Devlin et al. 2019, §3)."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from engine.tokenizers.vocabulary import Vocabulary, pair_template
from engine.tokenizers.vocabulary_files import Special, in_order, numbered, special_names

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"  # of a token inside a word
LONGEST_WORD = 100  # characters; longer words become one [UNK], as in the published code
LONGEST_WORD_WITHOUT_PREFIX = 1_000  # a whole reaction or sequence may stand without a space


@dataclass(frozen=True)
class WordPiece(Vocabulary):
    """WordPiece (Devlin et al. 2019, §3; Wu et al. 2016), cased or not, of any language."""

    kind: ClassVar[str] = "WordPiece"
    mark: ClassVar[str] = PREFIX
    tokens: tuple[str, ...]
    lowercase: bool = True
    strip_accents: bool | None = None  # None: as `lowercase`
    split_chinese: bool = True
    special: Special = SPECIAL
    added: tuple[str, ...] = ()
    marked: bool = True  # “##” begins the tokens inside a word; False: no token is marked

    def library(self, ids: dict[str, int]) -> LibraryTokenizer:
        """The library's tokenizer.

        Of a vocabulary without marks it is what other programs are given; it differs from ours in
        words with an unknown character, which it takes for unknown as a whole.
        """
        unknown, cls, sep = self.special[1:4]
        library = LibraryTokenizer(
            models.WordPiece(
                ids,
                unk_token=unknown,
                max_input_chars_per_word=LONGEST_WORD
                if self.marked
                else LONGEST_WORD_WITHOUT_PREFIX,
                continuing_subword_prefix=PREFIX if self.marked else "",
            )
        )
        library.normalizer = normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=self.split_chinese,
            strip_accents=self.strip_accents,
            lowercase=self.lowercase,
        )
        library.pre_tokenizer = (
            pre_tokenizers.BertPreTokenizer() if self.marked else pre_tokenizers.WhitespaceSplit()
        )
        library.post_processor = pair_template(cls, sep, ids)
        library.decoder = decoders.WordPiece(prefix=PREFIX)
        library.add_special_tokens([AddedToken(p, normalized=False) for p in self.special])
        library.add_tokens([AddedToken(p, normalized=False) for p in self.added])
        return library

    def continues(self, token: str) -> bool:
        return self.marked and token.startswith(PREFIX)

    def essence(self) -> list[Any]:
        return [
            self.tokens,
            self.lowercase,
            self.strip_accents,
            self.split_chinese,
            self.special,
            self.added,
            self.marked,
        ]

    def files(self) -> dict[str, str]:
        """`vocab.txt`, where its lines can hold the tokens."""
        if any("\n" in token or "\r" in token for token in self.tokens):
            return {}
        return {"vocab.txt": "".join(f"{token}\n" for token in self.tokens)}

    def config(self) -> dict[str, Any]:
        return {
            "tokenizer_class": "BertTokenizer" if self.marked else "PreTrainedTokenizerFast",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strip_accents,
            "tokenize_chinese_chars": self.split_chinese,
            **self.special_by_key,
        }


def of_tokens(
    tokens: list[str],
    settings: dict[str, Any],
    config: dict[str, Any],
    added: tuple[str, ...],
) -> WordPiece:
    if "lowercase" not in settings:
        settings = {**settings, "lowercase": not any(map(_has_capitals, tokens))}
    if "marked" not in settings:
        settings = {**settings, "marked": any(token.startswith(PREFIX) for token in tokens)}
    if not settings["marked"]:
        settings = {**settings, "split_chinese": False}
    special = special_names(config, SPECIAL)
    return WordPiece(tokens=tuple(tokens), special=special, added=added, **settings)


def _has_capitals(token: str) -> bool:
    return re.search("[A-Z]", token) is not None and not re.fullmatch(r"\[.*\]|<.*>", token)


def stated_settings(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that `tokenizer_config.json` states, in our names."""
    found: dict[str, Any] = {}
    if isinstance(config.get("do_lower_case"), bool):
        found["lowercase"] = config["do_lower_case"]
    if isinstance(config.get("strip_accents"), bool):
        found["strip_accents"] = config["strip_accents"]
    if isinstance(config.get("tokenize_chinese_chars"), bool):
        found["split_chinese"] = config["tokenize_chinese_chars"]
    return found


def from_published(content: dict[str, Any], config: dict[str, Any], path: Path) -> WordPiece | None:
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
    own = tuple(token for token in added if token not in SPECIAL)
    return of_tokens(in_order(ids, path), {**settings, **stated_settings(config)}, config, own)
