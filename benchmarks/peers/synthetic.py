"""Text that nobody wrote, with the lengths of real text: nothing has to be fetched for a benchmark.

Every word is a token of the vocabulary by itself, so that all tokenizers agree on what there is.
"""

import random
from pathlib import Path

PIECES = 30_522  # as many as BERT's English vocabulary has
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SST2 = (  # tokens of the 872 sentences of SST-2's dev set, [CLS] and [SEP] included: each 20th part
    *(4, 10, 12, 14, 16, 17, 19, 20, 21, 23, 24),
    *(26, 27, 29, 30, 32, 34, 37, 40, 44, 55),
)
ROWS = 3200
DOCUMENTS, SENTENCES = 400, 40


def write(folder: Path, seed: int = 0, count: int = ROWS, documents: int = DOCUMENTS) -> None:
    """Make vocab.txt, sentences.tsv (label and text) and documents.txt in `folder`, of so many
    sentences and documents."""
    rng = random.Random(seed)
    words = _words(PIECES - len(SPECIAL))
    (folder / "vocab.txt").write_text("\n".join((*SPECIAL, *words)) + "\n", encoding="utf-8")
    rows = [f"{rng.randrange(2)}\t{_sentence(words, rng)}" for _ in range(count)]
    text = "\n".join(("label\ttext", *rows)) + "\n"
    (folder / "sentences.tsv").write_text(text, encoding="utf-8")
    texts = ["\n".join(_sentence(words, rng) for _ in range(SENTENCES)) for _ in range(documents)]
    (folder / "documents.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def _words(count: int) -> list[str]:
    """Different words of letters alone, so that no tokenizer cuts them."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["q" + a + b + c + d for a in letters for b in letters for c in letters for d in "aeo"][
        :count
    ]


def _sentence(words: list[str], rng: random.Random) -> str:
    """Words by Zipf's law, as many as a sentence of SST-2 may have."""
    place = rng.random() * (len(SST2) - 1)
    below, above = SST2[int(place)], SST2[int(place) + 1]
    length = round(below + (above - below) * (place % 1)) - 2
    return " ".join(words[int(len(words) ** rng.random()) - 1] for _ in range(length))
