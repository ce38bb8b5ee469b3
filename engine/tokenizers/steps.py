"""Trace a text through the steps of a tokenizer: normalise, split, find tokens."""

from dataclasses import dataclass
from itertools import groupby

from engine.messages.explore.text import Token
from engine.tokenizers.tokenizer import Tokenizer

MAX_TRACED_CHARACTERS = 2_000
MAX_TOKENS = 2_000


@dataclass(frozen=True)
class Steps:
    """A text after each step; `tokens` includes [CLS] and [SEP]."""

    normalised: str
    words: tuple[str, ...]
    tokens: tuple[Token, ...]
    truncated: bool


def steps(tokenizer: Tokenizer, text: str) -> Steps:
    """Trace `text`, truncated if it is very long."""
    shown = text[:MAX_TRACED_CHARACTERS]
    encoding = tokenizer.encode(shown, max_length=MAX_TOKENS)
    in_words = [token for token in encoding.tokens if token.word is not None]
    unsplit = tokenizer.vocabulary.unsplit
    normalised, end = "", 0
    words = []
    for _, group in groupby(in_words, key=lambda token: token.word):
        tokens = list(group)
        first, last = tokens[0].start, tokens[-1].end
        if tokens[0].text in unsplit and shown[first:last] == tokens[0].text:
            normalised += tokenizer.normalise(shown[end:first]) + tokens[0].text
            words.append(tokens[0].text)
            end = last
        else:
            words.append(tokenizer.normalise(shown[first:last]).strip())
    return Steps(
        normalised=normalised + tokenizer.normalise(shown[end:]),
        words=tuple(words),
        tokens=encoding.tokens,
        truncated=encoding.truncated or len(text) > MAX_TRACED_CHARACTERS,
    )
