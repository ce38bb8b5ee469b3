"""Batches of texts of limited size."""

from collections.abc import Iterable, Iterator

MAX_TEXTS = 2_000
MAX_CHARACTERS = 4_000_000


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Batch texts lazily and in order; a text that reaches a limit ends its batch."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text)
        if len(batch) == MAX_TEXTS or characters >= MAX_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
