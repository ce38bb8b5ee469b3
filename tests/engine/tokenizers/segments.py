"""Segment ids as the published tokenizers give them."""


def segments_of(row: tuple[list[int], int]) -> list[int]:
    """Of the ids of an input, and where its second text begins."""
    ids, split = row
    return [0] * split + [1] * (len(ids) - split)
