"""Words in a cell, each of which may have a tag.

A cell has words separated by spaces, or a JSON list of them, as on the Hugging Face hub. The tags
of a row are in a cell of their own, in the same form.
"""

import json
import re
from collections.abc import Sequence

BETWEEN = re.compile(r"[ \t\r\n]+")  # a word may contain a no-break space
OPENING = "([{<\"'“‘«„‚¿¡"  # split off before a word
IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
CLOSING = ")]}>\"'”’»“‘.,;:!?…"  # split off after a word


def split_words(cell: str) -> list[str]:
    """The words or tags of a cell."""
    text = cell.strip(" \t\r\n")
    if text.startswith("[") and text.endswith("]"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list) and all(type(one) in (str, int) for one in found):
            return [str(one) for one in found]
    return BETWEEN.split(text) if text else []


def join_words(words: Sequence[str]) -> str:
    """The cell for these words: the simplest that `split_words` restores."""
    plain = " ".join(words)
    return (
        plain if split_words(plain) == list(words) else json.dumps(list(words), ensure_ascii=False)
    )


def word_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each word of natural text.

    Brackets and quotes before a word, and these and punctuation after it, are words of one
    character each; inner ones stay: U.S.A, don't, @name. So is each ideograph, as in BERT's
    tokenizers.
    """
    found = []
    for match in re.finditer(r"\S+", text):
        first, last = match.span()
        while first < last and text[first] in OPENING:
            found.append((first, first + 1))
            first += 1
        end = last
        while end > first and text[end - 1] in CLOSING:
            end -= 1
        if first < end:
            found += _without_ideographs(text, first, end)
        found += [(place, place + 1) for place in range(end, last)]
    return found


def _without_ideographs(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Split a word at its ideographs, each a part of its own."""
    found, start = [], first
    for match in IDEOGRAPH.finditer(text, first, last):
        found += [(start, match.start())] if start < match.start() else []
        found.append(match.span())
        start = match.end()
    return [*found, (start, last)] if start < last else found
