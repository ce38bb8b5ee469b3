"""Vocabularies without marks, as for chemistry and proteins.

Every token is a word of its own, with or without white space in between.
"""

import unicodedata
from dataclasses import dataclass, field


@dataclass
class Found:
    """Tokens of a text, with the field names of the library."""

    ids: list[int] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)  # characters of the text
    word_ids: list[int | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


class LongestMatch:
    """Greedy longest match; a character that starts no token is unknown."""

    def __init__(self, ids: dict[str, int], unknown: int, lowercase: bool) -> None:
        self._ids, self._unknown, self._lowercase = ids, unknown, lowercase
        lengths: dict[str, set[int]] = {}
        for token in ids:
            lengths.setdefault(token[:1], set()).add(len(token))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def encode(self, text: str, enough: int | None = None) -> Found:
        """Tokenize a text, or its start if it has more than `enough` tokens."""
        looked_at = self._lowered(text) if self._lowercase else text
        found, place = Found(), 0
        while place < len(text) and (enough is None or len(found) <= enough):
            number, end = self._at(text, looked_at, place)
            if number is not None:
                found.ids.append(number)
                found.offsets.append((place, end))
                found.word_ids.append(len(found.word_ids))
            place = end
        return found

    def _at(self, text: str, lowered: str, place: int) -> tuple[int | None, int]:
        """The token at a position, None for skipped characters, and its end."""
        for looked_at in (text, lowered) if self._lowercase else (text,):
            for length in self._lengths.get(looked_at[place], ()):
                number = self._ids.get(looked_at[place : place + length])
                if number is not None:
                    return number, min(place + length, len(text))
        character = text[place]
        silent = character.isspace() or unicodedata.category(character).startswith("C")
        return None if silent else self._unknown, place + 1

    def _lowered(self, text: str) -> str:
        """Lowercase the text character by character, keeping positions."""
        return "".join(low if len(low := c.lower()) == 1 else c for c in text)
