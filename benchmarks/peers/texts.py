"""What both sides of `answers.py` read: made-up text of known length, nothing to be fetched."""

import random
from pathlib import Path

WORDS_FILE, ROWS_FILE = "words.txt", "rows.tsv"
SST2 = (  # tokens of the sentences of SST-2's dev set, [CLS] and [SEP] included: each 20th part
    *(4, 10, 12, 14, 16, 17, 19, 20, 21, 23, 24),
    *(26, 27, 29, 30, 32, 34, 37, 40, 44, 55),
)
ROWS = 256


def write(folder: Path, words: list[str], count: int = ROWS) -> None:
    """`words`, each of them one token of the vocabulary, and so many rows made of them."""
    rng = random.Random(0)
    (folder / WORDS_FILE).write_text(" ".join(words[:512]), encoding="utf-8")
    rows = []
    for number in range(count):
        place = (number + 0.5) / count * (len(SST2) - 1)
        below, above = SST2[int(place)], SST2[int(place) + 1]
        length = round(below + (above - below) * (place % 1)) - 2
        rows.append(" ".join(rng.choice(words) for _ in range(length)))
    rng.shuffle(rows)
    (folder / ROWS_FILE).write_text("\n".join(("text", *rows)) + "\n", encoding="utf-8")


def text(folder: Path, tokens: int) -> str:
    """A text of so many tokens, [CLS] and [SEP] included."""
    words = (folder / WORDS_FILE).read_text(encoding="utf-8").split()
    return " ".join(words[: tokens - 2])


def masked_text(folder: Path, tokens: int) -> str:
    """The same with [MASK] in the place of its last word."""
    return text(folder, tokens).rpartition(" ")[0] + " [MASK]"


def rows(folder: Path) -> list[str]:
    return (folder / ROWS_FILE).read_text(encoding="utf-8").splitlines()[1:]
