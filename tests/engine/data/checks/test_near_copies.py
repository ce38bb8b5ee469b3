"""Nearly equal texts, held against a comparison of all pairs and against datasketch."""

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


def similar(one: str, other: str) -> float:
    both = shingles(one), shingles(other)
    return len(both[0] & both[1]) / len(both[0] | both[1])


def texts_with_copies(count: int) -> list[str]:
    chance = random.Random(3)
    texts = [" ".join(f"w{chance.randrange(500)}" for _ in range(30)) for _ in range(count)]
    for n in range(0, count, 2):
        words = texts[n].split()
        for _ in range(n % 5):  # the more words are others, the less similar it is
            words[chance.randrange(30)] = "other"
        texts[n + 1] = " ".join(words)
    return texts


def found(texts: list[str]) -> set[tuple[int, int]]:
    known: dict[str, int] = {}
    groups = group_near_copies([encode_words(texts, known)], len(known), CancellableProgress(0), 0)
    return {(int(first), n) for n, first in enumerate(groups) if first != n}


def test_the_pairs_are_those_of_a_comparison_of_all():
    texts = texts_with_copies(160)
    every = [(a, b) for a in range(160) for b in range(a + 1, 160)]
    assert found(texts) == {(a, b) for a, b in every if similar(texts[a], texts[b]) >= SIMILARITY}


def test_datasketch_finds_no_others():
    texts = texts_with_copies(100)
    index = MinHashLSH(num_perm=36, params=(12, 3))
    pairs = set()
    for number, text in enumerate(texts):
        one = MinHash(num_perm=36)
        one.update_batch([shingle.encode() for shingle in shingles(text)])
        pairs |= {(other, number) for other in index.query(one)}
        index.insert(number, one)
    close = {(a, b) for a, b in pairs if similar(texts[a], texts[b]) >= SIMILARITY}
    assert close and close <= found(texts)


def test_punctuation_and_short_texts():
    assert found(["so it is", "so, it is!", "so it was", "", ""]) == {(0, 1)}
    assert found(["今天天气很好我们出去玩吧朋友们", "今天天气很好我们出去玩吧朋友"]) == {(0, 1)}


@given(st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60))
def test_groups_are_the_components_of_the_pairs(pairs):
    groups = list(range(30))
    for _ in range(30):
        for one, other in pairs:
            groups[one] = groups[other] = min(groups[one], groups[other])
    assert components(30, np.array(pairs, dtype=np.int64).reshape(-1, 2)).tolist() == groups
