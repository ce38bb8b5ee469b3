"""Coverage of texts by a vocabulary: unknown tokens, and the scripts of the letters."""

import unicodedata
from collections import Counter
from collections.abc import Iterable

from engine.phrases import join, phrase

MAX_UNKNOWN = 0.02  # of the tokens; in English texts and tweets English models know over 99 %
MAX_SCRIPTS = 4
MIN_SCRIPT = 0.01  # of the letters
IDEOGRAPHS = "CJK"  # first word of the names of Chinese characters


def scripts(characters: Counter[str]) -> dict[str, float]:
    """The most frequent scripts and their fractions of all letters, by Unicode names: “Latin”."""
    counts = Counter[str]()
    for letter, count in characters.items():
        if not letter.isalpha():
            continue
        name = unicodedata.name(letter, "").partition(" ")[0]
        counts["Chinese" if name == IDEOGRAPHS else name.capitalize()] += count
    total = max(counts.total(), 1)
    shares = ((name, count / total) for name, count in counts.most_common(MAX_SCRIPTS) if name)
    return {name: share for name, share in shares if share >= MIN_SCRIPT}


def scripts_note(texts: Iterable[str] | Counter[str]) -> str:
    """“Scripts: Cyrillic 96 %, Latin 4 %” of texts or counted characters; “” without letters."""
    characters = texts if isinstance(texts, Counter) else Counter("".join(texts))
    fractions = scripts(characters).items()
    names = [phrase("{name} {share:.0%}", name=name, share=n) for name, n in fractions]
    return phrase("Scripts: {names}", names=join(", ", names)) if names else ""


def unknown_note(fraction: float) -> str:
    """Say that too many tokens are unknown; “” if the vocabulary suits the texts."""
    if fraction <= MAX_UNKNOWN:
        return ""
    return phrase(
        "{fraction:.0%} of the tokens are unknown to the model, which may not know the language. "
        "Choose a model of this language, or a multilingual one.",
        fraction=fraction,
    )
