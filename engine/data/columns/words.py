"""Words in a cell of a table, each of which may have a tag.

A cell holds words with spaces between them, or a JSON list of them, as the data sets of Hugging
Face do. The tags of a row stand in a cell of their own, in the same way.
"""

import json
import re
from collections.abc import Sequence

BETWEEN = re.compile(r"[ \t\r\n]+")  # no other white space: a word may hold a no-break space
OPENING = "([{<\"'“‘«„‚¿¡"  # what is no part of the typed word behind it
IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
CLOSING = ")]}>\"'”’»“‘.,;:!?…"  # what is no part of the typed word before it


def split_words(cell: str) -> list[str]:
    """The words of a cell, or the tags."""
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
    """A cell with these words: as plain as it can be so that `split_words` gives them again."""
    plain = " ".join(words)
    return (
        plain if split_words(plain) == list(words) else json.dumps(list(words), ensure_ascii=False)
    )


def word_spans(text: str) -> list[tuple[int, int]]:
    """First and last character, the last one excluded, of each word of a text that somebody wrote.

    Brackets and quotes before a word, and these and the signs of a sentence behind it, are words of
    their own, one for each character; what stands inside a word stays there: U.S.A, don't, @name.
    So is each ideograph, which the tokenizers of BERT part as well.
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
    """The parts of a word: each ideograph, and what stands between them."""
    found, start = [], first
    for match in IDEOGRAPH.finditer(text, first, last):
        found += [(start, match.start())] if start < match.start() else []
        found.append(match.span())
        start = match.end()
    return [*found, (start, last)] if start < last else found
