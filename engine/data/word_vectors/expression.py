"""Words with signs, as typed: “king − man + woman”."""

import re
from typing import NamedTuple

from engine.errors import StudioError

MAX_WORDS = 6
SIGN = re.compile(r"(?:^|\s+)([+\-−–])(?:\s+|$)")


class Expression(NamedTuple):
    words: tuple[str, ...]
    signs: tuple[int, ...]  # 1 or -1 for each


def parse(text: str) -> Expression:
    """Split at signs with spaces around, since words have hyphens. Raises StudioError for none
    or more than MAX_WORDS."""
    words, signs = SIGN.split(text.strip())[::2], SIGN.findall(text.strip())
    if not all(words) or len(words) > MAX_WORDS:
        raise StudioError(
            "Type one word, or up to {most} with + or − and spaces between them.",
            "An example: king − man + woman.",
            most=MAX_WORDS,
        )
    return Expression(tuple(words), (1, *(1 if sign == "+" else -1 for sign in signs)))
