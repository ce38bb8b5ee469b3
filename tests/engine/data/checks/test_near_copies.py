"""Near copies equal those of a comparison of all pairs and of datasketch."""

import random

import numpy as np
from datasketch import MinHash, MinHashLSH
from hypothesis import given
from hypothesis import strategies as st

from engine.data.checks.near_copies import SIMILARITY, components, group_near_copies
from engine.data.checks.words import encode_words
from engine.progress import CancellableProgress


def shingles(text: str) -> set[str]:
    words = text.split()
    return {" ".join(words[n : n + 5]) for n in range(max(1, len(words) - 4))}


def jaccard(text: str, other: str) -> float:
    first, second = shingles(text), shingles(other)
    return len(first & second) / len(first | second)


def texts_with_copies(count: int) -> list[str]:
    rng = random.Random(3)
    texts = [" ".join(f"w{rng.randrange(500)}" for _ in range(30)) for _ in range(count)]
    for n in range(0, count, 2):
        words = texts[n].split()
        for _ in range(n % 5):  # more replaced words make it less similar
            words[rng.randrange(30)] = "other"
        texts[n + 1] = " ".join(words)
    return texts


def copies(texts: list[str]) -> set[tuple[int, int]]:
    ids: dict[str, int] = {}
    groups = group_near_copies([encode_words(texts, ids)], len(ids), CancellableProgress(0), 0)
    return {(int(first), n) for n, first in enumerate(groups) if first != n}


def test_near_copies_equal_a_comparison_of_all_pairs():
    texts = texts_with_copies(160)
    pairs = [(a, b) for a in range(160) for b in range(a + 1, 160)]
    assert copies(texts) == {(a, b) for a, b in pairs if jaccard(texts[a], texts[b]) >= SIMILARITY}


def test_datasketch_finds_no_other_pairs():
    texts = texts_with_copies(100)
    index = MinHashLSH(num_perm=36, params=(12, 3))
    pairs = set()
    for number, text in enumerate(texts):
        minhash = MinHash(num_perm=36)
        minhash.update_batch([shingle.encode() for shingle in shingles(text)])
        pairs |= {(other, number) for other in index.query(minhash)}
        index.insert(number, minhash)
    close = {(a, b) for a, b in pairs if jaccard(texts[a], texts[b]) >= SIMILARITY}
    assert close and close <= copies(texts)


def test_near_copies_ignore_punctuation():
    assert copies(["so it is", "so, it is!", "so it was", "", ""]) == {(0, 1)}
    assert copies(["今天天气很好我们出去玩吧朋友们", "今天天气很好我们出去玩吧朋友"]) == {(0, 1)}


@given(st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60))
def test_groups_are_the_components_of_the_pairs(pairs):
    groups = list(range(30))
    for _ in range(30):
        for first, second in pairs:
            groups[first] = groups[second] = min(groups[first], groups[second])
    assert components(30, np.array(pairs, dtype=np.int64).reshape(-1, 2)).tolist() == groups
