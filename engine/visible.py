"""Untrusted text made safe for a terminal, a label and a sentence.

Names of files, columns, labels and tokens are untrusted. Control characters, direction marks and
invisible characters are escaped, and the length of sentences is limited.
"""

import re
from collections.abc import Sequence

from engine.phrases import Phrase

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # direction, and further line ends
    "\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a"  # no width
    "\U000e0000-\U000e007f"  # tags
    "\ud800-\udfff]"  # surrogates, for bytes of a path that are not text
)
LINE_ENDS = re.compile("[\t\n]")
SENTENCE_CHARACTERS = 300  # at most in a sentence
# limits for each argument of a sentence that is too long, tried in turn
ARGUMENT_CHARACTERS = (80, 40, 20)


def visible(text: str) -> str:
    r"""Escape control and direction characters as \x1b or \u202e; keep tabs and line feeds."""
    return UNSEEN.sub(_escape, text)


def one_line(text: str) -> str:
    r"""Like `visible`, and escape tabs and line feeds too."""
    return LINE_ENDS.sub(lambda match: repr(match[0])[1:-1], visible(text))


def is_valid_text(name: str) -> bool:
    """True if a file name is valid text; on POSIX it may be any bytes."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def shorten(text: str, characters: int) -> str:
    if len(text) <= characters:
        return text
    end = characters // 3
    return f"{text[: characters - end - 1]}…{text[-end:]}"


def concise(*sentences: str) -> tuple[str, ...]:
    """Sentences on one line each, together of at most 300 characters.

    First the names in them are shortened, so that a `Phrase` can still be translated; what is still
    too long is truncated.
    """
    shortened = tuple(_shorten_arguments(sentence, None) for sentence in sentences)
    for limit in ARGUMENT_CHARACTERS:
        if _length(shortened) <= SENTENCE_CHARACTERS:
            return shortened
        shortened = tuple(_shorten_arguments(sentence, limit) for sentence in sentences)
    first, *others = shortened
    available = max(SENTENCE_CHARACTERS // 2, SENTENCE_CHARACTERS - _length(others) - 1)
    parts = [_truncate(first, available)]
    for sentence in others:
        parts.append(_truncate(sentence, SENTENCE_CHARACTERS - _length(parts) - 1))
    return tuple(parts)


def _length(sentences: Sequence[str]) -> int:
    return len(" ".join(filter(None, sentences)))


def _truncate(sentence: str, characters: int) -> str:
    return sentence if len(sentence) <= characters else f"{sentence[: characters - 1]}…"


def _shorten_arguments(text: str, limit: int | None) -> str:
    """Shorten the arguments of a phrase; a plain `str` is untrusted as a whole."""
    if not isinstance(text, Phrase):
        return one_line(text)
    args = {
        name: _shorten_argument(value, limit) if isinstance(value, str) else value
        for name, value in text.args.items()
    }
    return text if args == text.args else Phrase(text.key, args)


def _shorten_argument(value: str, limit: int | None) -> str:
    if isinstance(value, Phrase):
        return _shorten_arguments(value, limit)
    shown = one_line(value)
    return shown if limit is None else shorten(shown, limit)
