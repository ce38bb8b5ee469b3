"""Write small.txt, small.bin and expected.json with gensim 4.4.0: python write_with_gensim.py.

gensim is no dependency of the tests, because it has no package for Python 3.14.
"""

import json
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors

HERE = Path(__file__).parent
WORDS = "the king queen man woman stick branch glue plan fire New York New_York Café it's – e-mail"
QUERIES = ([["stick"], []], [["king", "woman"], ["man"]], [["stick", "glue"], []])

if __name__ == "__main__":
    rng = np.random.default_rng(43)
    words = [*WORDS.split(), *(f"word{n}" for n in range(43))]
    vectors = rng.normal(size=(len(words), 8)).astype(np.float32) * 3
    keyed = KeyedVectors(8)
    keyed.add_vectors(words, vectors)
    for name, binary in (("small.txt", False), ("small.bin", True)):
        keyed.save_word2vec_format(HERE / name, binary=binary)
    read = KeyedVectors.load_word2vec_format(HERE / "small.txt")
    expected = {
        "cosines": [
            [a, b, float(read.similarity(a, b))] for a in words[:8] for b in words[:8] if a < b
        ],
        "nearest": [
            [plus, minus, [[w, float(c)] for w, c in read.most_similar(plus, minus, topn=10)]]
            for plus, minus in QUERIES
        ],
    }
    (HERE / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n", "utf-8")
