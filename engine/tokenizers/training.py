"""Learn a WordPiece vocabulary (not in wordpiece.py, as the window starts without NumPy)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models, normalizers, pre_tokenizers, trainers

from engine.errors import StudioError
from engine.progress import ProgressCallback
from engine.tokenizers.batches import batches
from engine.tokenizers.vocabulary_files import MAX_WORD
from engine.tokenizers.wordpiece import PREFIX, SPECIAL, WordPiece

MAX_ALPHABET = 1_000  # distinct characters
MIN_TOKEN_FREQUENCY = 2
LONG_WORD = re.compile(rf"\S{{{MAX_WORD + 1},}}")
SURROGATE = re.compile("[\ud800-\udfff]")


def learn_vocabulary(
    texts: Iterable[str], size: int, lowercase: bool, progress: ProgressCallback | None = None
) -> WordPiece:
    """Learn at most `size` tokens, deterministically.

    The special tokens have the ids 0 to 4. `progress` counts texts. They are read twice, so an
    iterator is stored in a list. Words of more than 100 characters are ignored.

    The library breaks ties between equally frequent tokens by the order of a randomly seeded hash
    table. Therefore the characters are counted here and passed to it in a fixed order.
    """
    if size < 2 * len(SPECIAL):
        raise StudioError(
            "A vocabulary of {size} tokens is too small.", "Use at least a few hundred.", size=size
        )
    rows = texts if isinstance(texts, Sequence) else list(texts)
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    counts = _count_characters(rows, normalizer)
    if not counts:
        raise StudioError(
            "There is no text to train a vocabulary on.", "Choose files that contain text."
        )
    limit = min(MAX_ALPHABET, (size - len(SPECIAL)) // 3)
    alphabet = sorted(sorted(counts, key=lambda c: (-counts[c], c))[:limit])
    continuations = [PREFIX + c for c in alphabet if _stays_in_word(c, normalizer, pre_tokenizer)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=MIN_TOKEN_FREQUENCY,
        special_tokens=[*SPECIAL, *continuations],
        limit_alphabet=limit,
        initial_alphabet=alphabet,
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    library = LibraryTokenizer(models.WordPiece(unk_token=SPECIAL[1]))
    library.normalizer, library.pre_tokenizer = normalizer, pre_tokenizer
    library.train_from_iterator(_report_batches(rows, progress), trainer)
    vocabulary = library.get_vocab(with_added_tokens=True)
    base = [*SPECIAL, *alphabet, *continuations]
    learned = sorted(vocabulary.keys() - set(base), key=vocabulary.__getitem__)
    return WordPiece(tokens=tuple(base + learned)[:size], lowercase=lowercase)


def _stays_in_word(
    character: str, normalizer: normalizers.Normalizer, splitter: pre_tokenizers.PreTokenizer
) -> bool:
    """True if a character can continue a word, unlike punctuation and Chinese characters."""
    return len(splitter.pre_tokenize_str(normalizer.normalize_str("a" + character))) == 1


def _count_characters(texts: Sequence[str], normalizer: normalizers.Normalizer) -> Counter[str]:
    """Frequency of each character in the normalised texts, without white space."""
    raw = np.zeros(0x110000, dtype=np.int64)
    for batch in batches(texts):
        codes = np.frombuffer(_replace_unusable("\n".join(batch)).encode("utf-32-le"), dtype="<u4")
        raw += np.bincount(codes, minlength=len(raw))
    counts: Counter[str] = Counter()
    for code in np.flatnonzero(raw):
        for character in "".join(normalizer.normalize_str(chr(code)).split()):
            counts[character] += int(raw[code])
    return counts


def _replace_unusable(text: str) -> str:
    return LONG_WORD.sub(" ", SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text))


def _report_batches(texts: Sequence[str], progress: ProgressCallback | None) -> Iterator[list[str]]:
    done = 0
    for batch in batches(texts):
        yield [_replace_unusable(text) for text in batch]
        done += len(batch)
        if progress is not None:
            progress(done, len(texts))
