"""Random text with the sentence lengths of SST-2, so that no data has to be downloaded.

Every word is one token of the vocabulary, so that all tokenizers agree.
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
    """Write vocab.txt, sentences.tsv (label, text; `count` rows) and documents.txt."""
    rng = random.Random(seed)
    words = _words(PIECES - len(SPECIAL))
    (folder / "vocab.txt").write_text("\n".join((*SPECIAL, *words)) + "\n", encoding="utf-8")
    rows = [f"{rng.randrange(2)}\t{_sentence(words, rng)}" for _ in range(count)]
    text = "\n".join(("label\ttext", *rows)) + "\n"
    (folder / "sentences.tsv").write_text(text, encoding="utf-8")
    texts = ["\n".join(_sentence(words, rng) for _ in range(SENTENCES)) for _ in range(documents)]
    (folder / "documents.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def _words(count: int) -> list[str]:
    """Distinct words of letters, which no tokenizer splits."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["q" + a + b + c + d for a in letters for b in letters for c in letters for d in "aeo"][
        :count
    ]


def _sentence(words: list[str], rng: random.Random) -> str:
    """Words by Zipf's law, with a length drawn from SST-2."""
    length = sst2_length(rng.random()) - 2
    return " ".join(words[int(len(words) ** rng.random()) - 1] for _ in range(length))


def sst2_length(fraction: float) -> int:
    """Tokens of an SST-2 sentence at this quantile, [CLS] and [SEP] included."""
    position = fraction * (len(SST2) - 1)
    below, above = SST2[int(position)], SST2[int(position) + 1]
    return round(below + (above - below) * (position % 1))
