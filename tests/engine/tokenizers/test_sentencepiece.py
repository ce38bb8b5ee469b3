"""Vocabularies in SentencePiece's own file split text as SentencePiece does."""

import io
import json
import random
from pathlib import Path

import pytest
import sentencepiece
from transformers import AutoTokenizer

from engine.errors import BadCheckpoint
from engine.tokenizers.folder import read_folder
from engine.tokenizers.sentencepiece import FILES, LAYOUTS
from engine.tokenizers.tokenizer import Tokenizer
from tests.often import times

TEXTS = [
    "A quiet wonder of a film, isn't it?",
    "Nobody laughs; 12 of us — naïve — left.  Two  spaces, and a tab\there.",
    "Die Straße führt über Øresund; où est-ce? İstanbul ﬁ ½ ＡＢＣ",
    "Быстрая лиса — йод, Україна; ΒΕΡΤ μαθαίνει Ελληνικά.",
    "تعلّم الآلة في اللغة العربية، ١٢٣؟",
    "机器学习很有趣。東京へ行きます、ﾃｽﾄ。",
    "हिन्दी में पढ़ना, தமிழ் மொழி. 🙂",
]
NAMES = {  # in the file: padding, unknown, beginning, end
    "DebertaV2Tokenizer": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", (0, 3, 1, 2)),
    "XLMRobertaTokenizer": ("<pad>", "<unk>", "<s>", "</s>", (-1, 0, 1, 2)),
    "CamembertTokenizer": ("<pad>", "<unk>", "<s>", "</s>", (-1, 0, 1, 2)),
    "AlbertTokenizer": ("<pad>", "<unk>", "[CLS]", "[SEP]", (0, 1, 2, 3)),
}


def train(folder: Path, tokenizer: str, **options: object) -> sentencepiece.SentencePieceProcessor:
    """A folder with only the SentencePiece file of this class."""
    folder.mkdir(exist_ok=True)
    pad, unknown, begin, end, (pad_id, unk_id, bos_id, eos_id) = NAMES[tokenizer]
    result = io.BytesIO()
    settings = {
        "sentence_iterator": iter(TEXTS * 5),
        "model_writer": result,
        "minloglevel": 5,
        "vocab_size": 300,
        "hard_vocab_limit": False,
        "pad_id": pad_id,
        "unk_id": unk_id,
        "bos_id": bos_id,
        "eos_id": eos_id,
        "pad_piece": pad,
        "unk_piece": unknown,
        "bos_piece": begin,
        "eos_piece": end,
    }
    sentencepiece.SentencePieceTrainer.train(**{**settings, **options})
    (folder / "spm.model").write_bytes(result.getvalue())
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": tokenizer}))
    return sentencepiece.SentencePieceProcessor(model_proto=result.getvalue())


@pytest.mark.parametrize("tokenizer", LAYOUTS)
def test_texts_are_split_as_sentencepiece_splits_them(tokenizer, tmp_path):
    theirs = train(tmp_path, tokenizer)
    if tokenizer == "AlbertTokenizer":  # the file alone lacks ALBERT's steps
        config = {"tokenizer_class": tokenizer, "do_lower_case": False, "keep_accents": True}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    ours = Tokenizer.from_folder(tmp_path)
    unknown = theirs.piece_to_id(theirs.id_to_piece(theirs.unk_id()))
    for text in [*TEXTS, "unseen ዞ letters", "", "  "]:
        ids = ours.encode(text).ids
        assert (ids[0], ids[-1]) == (ours.cls, ours.sep)
        expected = theirs.encode(text)
        assert len(ids) == len(expected) + 2
        for actual, reference in zip(ids[1:-1], expected, strict=True):
            if reference == unknown:
                assert actual == ours.unknown
            else:
                assert ours.tokens[actual] == theirs.id_to_piece(reference)


def test_ids_are_numbered_as_transformers_numbers_them(tmp_path):
    """XLM-RoBERTa's are one higher, CamemBERT's four, and DeBERTa's and ALBERT's the same."""
    for tokenizer, shift in (
        ("XLMRobertaTokenizer", 1),
        ("CamembertTokenizer", 4),
        ("DebertaV2Tokenizer", 0),
        ("AlbertTokenizer", 0),
    ):
        theirs = train(tmp_path / tokenizer, tokenizer)
        ours = Tokenizer.from_folder(tmp_path / tokenizer)
        piece = theirs.id_to_piece(9)
        assert ours.id(piece) == theirs.piece_to_id(piece) + shift
        assert ours.mask == ours.size - 1
        assert [ours.token(n) for n in ours.encode("a", "a").ids].count(ours.token(ours.sep)) == (
            3 if shift else 2
        )


def test_a_saved_tokenizer_does_not_need_the_file(tmp_path):
    train(tmp_path / "theirs", "DebertaV2Tokenizer")
    ours = Tokenizer.from_folder(tmp_path / "theirs")
    (tmp_path / "ours").mkdir()
    ours.save(tmp_path / "ours")
    restored = Tokenizer.from_folder(tmp_path / "ours")
    assert restored.fingerprint == ours.fingerprint
    published = AutoTokenizer.from_pretrained(tmp_path / "ours", local_files_only=True)
    for text in TEXTS:
        assert published(text)["input_ids"] == ours.encode(text).ids


def test_the_network_identifies_an_ambiguous_file(tmp_path):
    train(tmp_path, "DebertaV2Tokenizer")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false, "vocab_type": "spm"}')
    (tmp_path / "config.json").write_text('{"model_type": "deberta-v2"}')
    assert read_folder(tmp_path).special == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(BadCheckpoint, match="nothing says how its tokens are numbered"):
        read_folder(tmp_path)


def test_another_kind_of_sentencepiece_is_refused(tmp_path):
    train(tmp_path, "DebertaV2Tokenizer", model_type="bpe")
    with pytest.raises(BadCheckpoint, match="not a Unigram"):
        read_folder(tmp_path)


@times(100, 3_000)
def test_a_damaged_file_is_read_or_refused(tmp_path, count):
    train(tmp_path, "DebertaV2Tokenizer")
    original, rng = (tmp_path / FILES[0]).read_bytes(), random.Random(4)
    problems = list[str]()
    for _ in range(count):
        mutant = bytearray(original)
        for _ in range(rng.randint(1, 4)):
            limit = len(mutant) if rng.random() < 0.5 else 400
            mutant[rng.randrange(limit)] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            del mutant[rng.randrange(len(mutant)) :]
        (tmp_path / FILES[0]).write_bytes(bytes(mutant))
        try:
            Tokenizer.from_folder(tmp_path).encode(TEXTS[0])
        except BadCheckpoint as error:
            problems.append(error.problem)
    assert problems and all(problem.endswith(".") for problem in problems)
