"""Words in a cell, each of which may have a tag.

A cell has words separated by spaces, or a list of them. The tags of a row are in a separate cell,
in the same form.
"""

import json
import re
from collections.abc import Sequence

from engine.data.columns.lists import parse_texts

LIST_STARTS = ('["', "['")
SEPARATOR = re.compile(r"[ \t\r\n]+")  # a word may contain a no-break space
OPENING = "([{<\"'“‘«„‚¿¡"  # characters split off before a word
IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
CLOSING = ")]}>\"'”’»“‘.,;:!?…"  # characters split off after a word


def split_words(cell: str) -> list[str]:
    """Split a cell into its words or tags."""
    text = cell.strip(" \t\r\n")
    words = parse_texts(text) if text.startswith("[") else None
    if words is not None:
        return list(words)
    return SEPARATOR.split(text) if text else []


def parse_words(text: str) -> list[str]:
    """Split an unlabelled text into words: a list of them, or natural text (see `word_spans`)."""
    words = parse_texts(text.strip()) if text.lstrip().startswith("[") else None
    return [text[a:b] for a, b in word_spans(text)] if words is None else list(words)


def join_list(cell: str) -> str:
    """The natural text of a list of words such as ["I", "fly"]; any other cell as it is."""
    is_list = cell.startswith(LIST_STARTS) or cell == "[]"
    words = parse_texts(cell) if is_list else None
    return cell if words is None else " ".join(words)


def join_words(words: Sequence[str]) -> str:
    """Join words in the simplest cell that `split_words` restores."""
    plain = " ".join(words)
    return (
        plain if split_words(plain) == list(words) else json.dumps(list(words), ensure_ascii=False)
    )


def word_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each word of natural text.

    Brackets and quotes before a word, and also punctuation after it, are separate words of one
    character; inside a word they stay: U.S.A, don't, @name. Each ideograph is a word, as in BERT's
    tokenizers.
    """
    spans = []
    for match in re.finditer(r"\S+", text):
        first, last = match.span()
        while first < last and text[first] in OPENING:
            spans.append((first, first + 1))
            first += 1
        end = last
        while end > first and text[end - 1] in CLOSING:
            end -= 1
        if first < end:
            spans += _split_ideographs(text, first, end)
        spans += [(position, position + 1) for position in range(end, last)]
    return spans


def _split_ideographs(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """Split a word at its ideographs, each a separate part."""
    parts, start = [], first
    for match in IDEOGRAPH.finditer(text, first, last):
        parts += [(start, match.start())] if start < match.start() else []
        parts.append(match.span())
        start = match.end()
    return [*parts, (start, last)] if start < last else parts
