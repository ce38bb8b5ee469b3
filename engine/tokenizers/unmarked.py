"""Vocabularies whose tokens bear no mark: those of chemistry and of proteins, say.

Every token is a word of its own, and tokens follow one another with or without white space.
"""

import unicodedata
from dataclasses import dataclass, field


@dataclass
class Found:
    """What was found in a text; three lists of the same length, named as the library names them."""

    ids: list[int] = field(default_factory=list)
    offsets: list[tuple[int, int]] = field(default_factory=list)  # characters of the text
    word_ids: list[int | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


class LongestMatch:
    """Takes the longest token at each place; a character that begins none is unknown."""

    def __init__(self, ids: dict[str, int], unknown: int, lowercase: bool) -> None:
        self._ids, self._unknown, self._lowercase = ids, unknown, lowercase
        lengths: dict[str, set[int]] = {}
        for token in ids:
            lengths.setdefault(token[:1], set()).add(len(token))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def encode(self, text: str, enough: int | None = None) -> Found:
        """Find the tokens of a text, or its first ones: more than `enough`."""
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
        """The token at a place, None where nothing is meant to be read, and where it ends."""
        for looked_at in (text, lowered) if self._lowercase else (text,):
            for length in self._lengths.get(looked_at[place], ()):
                number = self._ids.get(looked_at[place : place + length])
                if number is not None:
                    return number, min(place + length, len(text))
        character = text[place]
        silent = character.isspace() or unicodedata.category(character).startswith("C")
        return None if silent else self._unknown, place + 1

    def _lowered(self, text: str) -> str:
        """The text in lower case, character by character, so that places stay the same."""
        return "".join(low if len(low := c.lower()) == 1 else c for c in text)
