"""Reduce the vocabulary of an uncased WordPiece encoder to its most used pieces.

    python packaging/encoder/cut.py MODEL OUT TEXT [TEXT ...] [--size 7000]

MODEL is the folder of `minilm-l6-v2-en`, OUT a folder to create, and a TEXT a text file, or a
folder of them. The frequency of a piece is its mean over the texts, so that a long one does not
dominate. Pieces are dropped in rounds, the least used half first, and words are tokenized again
without them, so that the pieces of their new tokenization stay. Special tokens and printable ASCII
characters always stay. Ids are renumbered in their old order.

The pooler is scaled up. Sentence embeddings are means over tokens, so it was never trained, and its
output is so close to zero (standard deviation 0.04) that a new classifier above it learns nothing
in its first steps. All other weights are unchanged, in half precision.
"""

import argparse
import json
import string
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import safetensors.torch
import torch
from tokenizers import Tokenizer, models

from engine.checkpoints.sentence_layout import write_sentence
from engine.config.sentence import SentenceSpec
from engine.models import checkpoint

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
EVERY = 4  # every n-th line of a text is read
WORDS = "embeddings.word_embeddings.weight"
POOLER = ("pooler.dense.weight", "pooler.dense.bias")
LOUDER = 8  # a power of two, so that no weight is rounded


def shares(tokenizer: Tokenizer, lines: Iterable[str]) -> dict[str, float]:
    """Relative frequency of each word."""
    counts: Counter[str] = Counter()
    for line in lines:
        plain = tokenizer.normalizer.normalize_str(line)
        counts.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(plain))
    total = counts.total()
    return {word: count / total for word, count in counts.items()}


def kept(pieces: list[str], texts: list[dict[str, float]], size: int) -> list[str]:
    """The `size` pieces to keep, in the order of `pieces`."""
    letters = string.ascii_lowercase + string.digits
    always = {*SPECIAL, *string.punctuation, *letters, *(f"##{letter}" for letter in letters)}
    weights: Counter[str] = Counter()
    for text in texts:
        weights.update(text)
    while len(pieces) > size:
        used = uses(pieces, weights)
        ranked = sorted(pieces, key=lambda piece: (piece not in always, -used[piece]))
        stay = set(ranked[: max(size, len(pieces) // 2)])
        pieces = [piece for piece in pieces if piece in stay]
    return pieces


def uses(pieces: list[str], words: Counter[str]) -> Counter[str]:
    """Frequency of each piece in the words."""
    numbered = {piece: number for number, piece in enumerate(pieces)}
    model = models.WordPiece(numbered, unk_token=UNKNOWN, max_input_chars_per_word=100)
    found: Counter[str] = Counter()
    for word, weight in words.items():
        for token in model.tokenize(word):
            found[token.value] += weight
    return found


def read(path: Path) -> Iterator[str]:
    """The lines of a file, or of all text files of a folder."""
    for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
        yield from file.read_text(encoding="utf-8", errors="replace").splitlines()[::EVERY]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--size", type=int, default=7000)
    asked = parser.parse_args()
    full = Tokenizer.from_file(str(asked.model / "tokenizer.json"))
    old = full.get_vocab()
    pieces = sorted((p for p in old if not p.startswith("[unused")), key=lambda piece: old[piece])
    texts = [shares(full, read(path)) for path in asked.texts]
    new = kept(pieces, texts, asked.size)
    write(asked.model, asked.out, new, [old[piece] for piece in new])
    whole = sum(text.get(piece, 0) for text in texts for piece in new) / len(texts)
    print(f"{len(new):,} pieces; {whole:.1%} of the words are one piece")


def write(model: Path, out: Path, pieces: list[str], rows: list[int]) -> None:
    """Write the model with these pieces, whose ids were `rows`, in the Hugging Face layout."""
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    tensors = safetensors.torch.load_file(model / "model.safetensors")
    tensors[WORDS] = tensors[WORDS][rows].contiguous()
    tensors |= {name: tensors[name] * LOUDER for name in POOLER}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        config |= {"vocab_size": len(pieces)}
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
        options = {"do_lower_case": True, "tokenizer_class": "BertTokenizer"}
        (folder / "tokenizer_config.json").write_text(json.dumps(options), encoding="utf-8")
        safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        cut = checkpoint.load(folder)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint.write(out, cut.network, cut.tokenizer, dtype=torch.float16)
    write_sentence(out, SentenceSpec(normalize=True, max_length=256), cut.spec.hidden_size)


if __name__ == "__main__":
    main()
