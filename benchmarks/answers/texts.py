"""Texts that both sides read, and the loop in which a side is asked."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import harness
from benchmarks.synthetic import sst2_length

WORDS_FILE, ROWS_FILE = "words.txt", "rows.tsv"
ROWS = 256


def write(folder: Path, words: list[str], count: int = ROWS) -> None:
    """Store `words`, each one token of the vocabulary, and `count` rows made of them."""
    rng = random.Random(0)
    (folder / WORDS_FILE).write_text(" ".join(words[:512]), encoding="utf-8")
    rows = []
    for number in range(count):
        length = sst2_length((number + 0.5) / count) - 2
        rows.append(" ".join(rng.choice(words) for _ in range(length)))
    rng.shuffle(rows)
    (folder / ROWS_FILE).write_text("\n".join(("text", *rows)) + "\n", encoding="utf-8")


def text(folder: Path, tokens: int) -> str:
    """A text of `tokens` tokens, [CLS] and [SEP] included."""
    words = (folder / WORDS_FILE).read_text(encoding="utf-8").split()
    return " ".join(words[: tokens - 2])


def masked_text(folder: Path, tokens: int) -> str:
    """The same with [MASK] as its last word."""
    return text(folder, tokens).rpartition(" ")[0] + " [MASK]"


def rows(folder: Path) -> list[str]:
    return (folder / ROWS_FILE).read_text(encoding="utf-8").splitlines()[1:]


def answer_in_turn(call: Callable[[], object], warm: int) -> None:
    """Print a ready line; then for each number read from stdin, time so many calls."""
    for _ in range(warm):
        call()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        wall, cpu = zip(*(harness.timed(call) for _ in range(int(line))), strict=True)
        print(json.dumps({"wall": wall, "cpu": cpu}), flush=True)
