"""Texts in groups that fit well into memory."""

from collections.abc import Iterable, Iterator

MOST_TEXTS = 2_000
MOST_CHARACTERS = 4_000_000


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in their order, taken as they are asked for; a longer text stands alone."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text)
        if len(batch) == MOST_TEXTS or characters >= MOST_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
