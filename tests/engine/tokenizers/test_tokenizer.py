"""Texts have the tokens of the published tokenizers."""

import json
import random
from itertools import product
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertTokenizer

from engine.errors import StudioError
from engine.progress import Cancelled
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import SPECIAL, WordPiece
from tests.often import tries

LINES = [
    "The quick brown fox jumps over the lazy dog.",
    "Unbelievable! It's 3,000.5 km to São Paulo, isn’t it?",
    "Ǆ ß İstanbul Ωmega naïve coöperate 日本語 テスト \u200b\u00a0x",
    "a [MASK] in the text, and [SEP] too; [CLS][PAD] [unused1] [mask]",
    "tabs\tand\nnewlines\r\nand \x00 control \x7f\x1c characters \ufffd",
    "",
    "   ",
    "x" * 150,
    "🙂👩‍👩‍👧 e\u0301\u0301 ーー ½ ＡＢＣ",
]


@pytest.fixture(scope="module")
def corpus(assets: Path) -> list[str]:
    texts = (assets / "datasets" / "sst2" / "test.tsv").read_text(encoding="utf-8").splitlines()
    books = assets / "corpora" / "gutenberg-nltk"
    texts += (books / "carroll-alice.txt").read_text(encoding="utf-8").split("\n\n")
    texts += (books / "shakespeare-caesar.txt").read_text(encoding="latin-1").splitlines()[:500]
    texts += (
        (assets / "corpora" / "bert-sample-text" / "sample_text.txt").read_text("utf-8").split("\n")
    )
    return texts + LINES


@pytest.fixture(scope="module")
def trained(assets: Path) -> Tokenizer:
    text = (assets / "corpora" / "gutenberg-nltk" / "carroll-alice.txt").read_text(encoding="utf-8")
    return Tokenizer.train(text.split("\n") + LINES * 3, 2_000, lowercase=False)


def tiny(*pieces: str, **settings) -> Tokenizer:
    return Tokenizer(WordPiece(tokens=(*SPECIAL, *pieces), **settings))


SMALL = tiny("a", "b", "##b", "##c", "un", "##believ", "##able", ".", "hello", "world")


def reference(folder: Path):
    return BertTokenizer.from_pretrained(str(folder))


def assert_agree(ours: Tokenizer, published, texts: list[str]) -> None:
    encoded = published(texts, truncation=True, max_length=64)
    result = ours.encode_many(texts, max_length=64)
    assert [ids for ids, _ in result] == encoded["input_ids"]
    pairs = texts[1:] + texts[:1]
    encoded = published(texts, pairs, truncation=True, max_length=48)
    result = ours.encode_many(texts, pairs, max_length=48)
    assert [ids for ids, _ in result] == encoded["input_ids"]
    assert [segments for _, segments in result] == encoded["token_type_ids"]


def test_an_uncased_vocabulary_gives_the_published_ids(assets, corpus):
    folder = assets / "models" / "bert-tiny-splade-en"
    assert_agree(Tokenizer.from_folder(folder), reference(folder), corpus[::4] + LINES)


def test_every_setting_agrees_with_transformers(trained, corpus, tmp_path):
    trained.save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    names = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
    for settings in product((True, False), (None, True, False), (True, False)):
        config |= dict(zip(names, settings, strict=True))
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        assert_agree(Tokenizer.from_folder(tmp_path), reference(tmp_path), corpus[:60] + LINES)


def test_saved_tokenizers_are_read_by_transformers_and_the_engine(trained, corpus, tmp_path):
    trained.save(tmp_path)
    assert Tokenizer.from_folder(tmp_path).fingerprint == trained.fingerprint
    assert_agree(trained, reference(tmp_path), corpus[:100] + LINES)
    (tmp_path / "tokenizer.json").unlink()
    assert Tokenizer.from_folder(tmp_path).fingerprint == trained.fingerprint
    assert Tokenizer.from_vocabulary(tmp_path / "vocab.txt", False).tokens == trained.tokens


def test_all_sources_of_a_vocabulary_give_the_same_tokenizer(assets):
    folder = assets / "models" / "bert-tiny-splade-en"
    tokenizers = [
        Tokenizer.from_folder(folder),
        Tokenizer.from_vocabulary(folder),
        Tokenizer.from_vocabulary(folder / "vocab.txt"),
        Tokenizer.from_vocabulary(folder / "vocab.txt", lowercase=True),
    ]
    assert len({item.fingerprint for item in tokenizers}) == 1
    assert tokenizers[0].size == 30_522 and tokenizers[0].lowercase
    item = tokenizers[0]
    assert [item.pad, item.unknown, item.cls, item.sep, item.mask] == [0, 100, 101, 102, 103]


def test_unmarked_pieces_give_the_published_ids(assets, tmp_path):
    tokenizer = Tokenizer.from_folder(assets / "models" / "rxnfp-bert-pretrained")
    text = "CCO.CC(=O)O>>CC(=O)O[MASK]C"
    encoding = tokenizer.encode(text)
    pieces = ["[CLS]", *"CCO.CC(=O)O", ">>", *"CC(=O)O", "[MASK]", "C", "[SEP]"]
    assert [token.text for token in encoding.tokens] == pieces
    assert not tokenizer.lowercase and tokenizer.size == 591
    assert tokenizer.encode_many(["BrCl c1"])[0][0] == [
        tokenizer.id(piece) for piece in ("[CLS]", "Br", "Cl", "c", "1", "[SEP]")
    ]
    tokenizer.save(tmp_path)
    assert Tokenizer.from_folder(tmp_path).fingerprint == tokenizer.fingerprint
    published = AutoTokenizer.from_pretrained(str(tmp_path))
    assert published(text)["input_ids"] == encoding.ids


def test_tokens_map_to_characters_of_the_text(assets):
    tokenizer = Tokenizer.from_folder(assets / "models" / "bert-tiny-splade-en")
    text = "🙂 Héllo\ud800 un-believable [MASK]!"
    encoding = tokenizer.encode(text, "second")
    actual = [(t.text, text[t.start : t.end], t.word) for t in encoding.tokens if t.segment == 0]
    assert actual == [
        ("[CLS]", "", None),
        ("[UNK]", "🙂", 0),
        ("hello", "Héllo", 1),
        ("un", "un", 2),
        ("-", "-", 3),
        ("bel", "bel", 4),
        ("##ie", "ie", 4),
        ("##vable", "vable", 4),
        ("[MASK]", "[MASK]", 5),
        ("!", "!", 6),
        ("[SEP]", "", None),
    ]
    assert [t.special for t in encoding.tokens] == [t.word is None for t in encoding.tokens]
    second = [(t.text, t.start, t.end, t.word) for t in encoding.tokens if t.segment == 1]
    assert second == [("second", 0, 6, 0), ("[SEP]", 6, 6, None)]
    assert encoding.segments == [t.segment for t in encoding.tokens]


@given(st.text(max_size=60), st.none() | st.text(max_size=60), st.integers(0, 40))
@tries(200)
def test_one_text_and_many_texts_are_encoded_alike(text, pair, max_length):
    item = SMALL.encode(text, pair, max_length)
    many = SMALL.encode_many([text], None if pair is None else [pair], max_length)
    assert (item.ids, item.segments) == many[0]
    assert len(item.ids) <= max(max_length, 2 if pair is None else 3)
    for token in item.tokens:
        assert 0 <= token.start <= token.end <= len(text if token.segment == 0 else pair or "")


@given(
    st.lists(
        st.sampled_from(["a", "b ", "hello", " ", "[MASK]", "é", "!", "x" * 120]), max_size=400
    )
)
@tries(60)
def test_a_truncated_text_has_the_first_ids_of_the_text(parts):
    text = "".join(parts) * 12
    assert len(text) < 4 * 1_064 or SMALL.encode(text, max_length=4).truncated == (
        len(SMALL.contents([text])[0]) > 2
    )
    for length in (4, 20):
        expected = SMALL.contents([text])[0][: length - 2]
        assert SMALL.encode(text, max_length=length).ids[1:-1] == expected
        assert SMALL.encode_many([text], max_length=length)[0][0][1:-1] == expected


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("a" * 200_000, 3),
        ("a b. " * 40_000, 128),
        ("\u0301" * 200_000, 2),
        ("中" * 200_000, 128),
        ("!" * 200_000, 128),
        ("[MASK]" * 40_000, 128),
        ("\ud800" * 200_000, 2),
    ],
    ids=["letter", "words", "accents", "chinese", "signs", "masks", "surrogates"],
)
@pytest.mark.timeout(30)
def test_a_very_long_text_is_encoded_quickly(text, tokens):
    assert len(SMALL.encode(text, max_length=128).ids) == tokens
    assert len(SMALL.encode_many([text, "a"], max_length=128)[0][0]) == tokens


@pytest.mark.timeout(30)
def test_a_very_long_text_of_unmarked_pieces_is_encoded_quickly():
    tokenizer = tiny("a", "aa", "b", marked=False)
    assert len(tokenizer.encode("a" * 200_000).ids) == 512
    assert len(tokenizer.contents(["a" * 200_000])[0]) == 100_000


def test_unmarked_pieces_are_words_and_only_unknowns_are_lost():
    tokenizer = tiny("Cl", "C", "[nH]", "c", marked=False, lowercase=False)
    encoding = tokenizer.encode("CCl?[nH][MASK]\x00 c")
    actual = [(t.text, t.start, t.end, t.word) for t in encoding.tokens[1:-1]]
    assert actual == [
        ("C", 0, 1, 0),
        ("Cl", 1, 3, 1),
        ("[UNK]", 3, 4, 2),
        ("[nH]", 4, 8, 3),
        ("[MASK]", 8, 14, 4),
        ("c", 16, 17, 5),
    ]
    lower = tiny("cl", "c", marked=False)
    assert lower.encode("CLc[MASK]").ids[1:-1] == [lower.id("cl"), lower.id("c"), lower.mask]


def test_the_longer_text_is_cut_first():
    def lengths(first: int, second: int, max_length: int) -> tuple[int, int]:
        ids, segments = SMALL.encode_many(["a " * first], ["b " * second], max_length)[0]
        return len(ids) - sum(segments) - 2, sum(segments) - 1

    assert lengths(3, 20, 13) == (3, 7)
    assert lengths(20, 3, 13) == (7, 3)
    assert lengths(20, 20, 14) == (5, 6)
    assert SMALL.encode("a", "b", 13).truncated is False
    assert SMALL.encode("a " * 9, "b", 8).truncated is True


def test_the_longer_of_two_long_texts_keeps_the_odd_token(tmp_path):
    """Also if only their beginnings are tokenized."""
    SMALL.save(tmp_path)
    rng = random.Random(5)
    texts = [
        " ".join(rng.choices(["a", "hello", "unbelievable"], k=rng.randint(150, 200)))
        for _ in range(8)  # of more, transformers takes seconds
    ]
    pairs = texts[1:] + texts[:1]
    expected = reference(tmp_path)(texts, pairs, truncation=True, max_length=12)["input_ids"]
    assert [ids for ids, _ in SMALL.encode_many(texts, pairs, 12)] == expected
    assert [SMALL.encode(*both, 12).ids for both in zip(texts, pairs, strict=True)] == expected
    unmarked = tiny("a", "aa", "b", marked=False)
    ids, segments = unmarked.encode_many(["a" * 80], ["a" * 60], 12)[0]
    assert (len(ids), sum(segments)) == (12, 5), "the longer text is the first"


def test_training_a_vocabulary_is_deterministic(assets, trained):
    assert trained.unknown not in trained.encode("zyxwvutsrqponmlkjihgfedcba, AHIST!").ids
    text = (assets / "corpora" / "gutenberg-nltk" / "carroll-alice.txt").read_text(encoding="utf-8")
    lines = text.split("\n") + ["中文 и кириллица"] * 3
    result = [Tokenizer.train(lines, 1_500) for _ in range(3)]
    assert len({item.fingerprint for item in result}) == 1
    assert result[0].tokens[:5] == list(SPECIAL)
    assert [result[0].pad, result[0].unknown, result[0].cls, result[0].sep, result[0].mask] == [
        0,
        1,
        2,
        3,
        4,
    ]
    assert result[0].size == 1_500
    assert "alice" in result[0].tokens and "##ing" in result[0].tokens
    assert "中" in result[0].tokens and "##中" not in result[0].tokens
    assert not any(piece != piece.lower() for piece in result[0].tokens[5:])


def test_training_reports_progress_and_accepts_any_iterable():
    updates: list[tuple[int, int]] = []
    lines = (f"word{n} and another word\ud800 {'y' * 300}" for n in range(2_500))
    tokenizer = Tokenizer.train(
        lines, 100, progress=lambda done, total: updates.append((done, total))
    )
    assert updates == [(2_000, 2_500), (2_500, 2_500)]
    assert tokenizer.size <= 100
    assert not any("yyy" in piece for piece in tokenizer.tokens)


def test_training_can_be_stopped_from_its_progress():
    def stop(done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        Tokenizer.train(["some words"] * 3_000, 100, progress=stop)


@pytest.mark.parametrize("texts, size", [([], 100), (["  "], 100), (["a word"], 5)])
def test_training_without_text_is_refused(texts, size):
    with pytest.raises(StudioError):
        Tokenizer.train(texts, size)


CHINESE = [
    "今天天气很好，我们去公园吧。",
    "BERT是2018年发布的；它有12层 and 768维！",
    "龘 𠀀 ㄅㄆㄇ 日本語のテスト 한국어 문장입니다.",
    "全角ＡＢＣ１２３，半角abc。“引号”《书名》",
    "[MASK]天天气[MASK]好",
]
LANGUAGES = [
    "Die Straße führt über Zürich nach Köln, größer als Łódź.",
    "Çok güzel bir gün, İstanbul'da ışık var.",
    "Это — простая проверка, ёлка и Йод.",
    "नमस्ते दुनिया, العربية هنا، ไทยไม่มีช่องว่าง",
    "Tiếng Việt có nhiều dấu: ắ ằ ẳ ẵ ặ",
]


def characters(texts: list[str]) -> list[str]:
    """Every character as a separate piece, at the start of a word and inside one."""
    forms = {c for text in texts for form in ("NFC", "NFD") for c in normalize(form, text)}
    lower = {c.lower() for c in forms if len(c.lower()) == 1}
    actual = sorted(c for c in forms | lower if not c.isspace())
    return [*actual, *(f"##{c}" for c in actual)]


@pytest.mark.parametrize("lowercase", [True, False], ids=["uncased", "cased"])
def test_chinese_is_split_character_by_character_as_published(tmp_path, lowercase):
    vocabulary = tiny(*characters(CHINESE), "天气", "很好", "bert", "BERT", lowercase=lowercase)
    vocabulary.save(tmp_path)
    assert_agree(vocabulary, reference(tmp_path), CHINESE)
    pieces = [token.text for token in vocabulary.encode("今天天气很好").tokens]
    assert pieces == ["[CLS]", "今", "天", "天", "气", "很", "好", "[SEP]"]
    text = CHINESE[1]
    for token in vocabulary.encode(text).tokens[1:-1]:
        source = text[token.start : token.end]
        assert token.text in ("[UNK]", source, f"##{source}", source.lower(), f"##{source.lower()}")


@pytest.mark.parametrize(
    "settings",
    [
        {"lowercase": False},  # multilingual cased: case and accents are kept
        {"lowercase": True},  # multilingual uncased: neither is kept
        {"lowercase": True, "strip_accents": False},  # only accents are kept
        {"lowercase": False, "split_chinese": False},
    ],
    ids=str,
)
def test_texts_of_many_languages_are_split_as_published(tmp_path, settings):
    texts = LANGUAGES + CHINESE
    vocabulary = tiny(*characters(texts), "über", "##ßer", **settings)
    vocabulary.save(tmp_path)
    assert_agree(vocabulary, reference(tmp_path), texts)
    (tmp_path / "tokenizer.json").unlink()  # vocab.txt and its settings alone
    assert_agree(Tokenizer.from_folder(tmp_path), reference(tmp_path), texts)
    stored = "".join(token.text for token in vocabulary.encode("Łódź").tokens)
    assert ("Ł" in stored) == (not settings["lowercase"])
    assert ("ó" in stored) == (not settings["lowercase"] or settings.get("strip_accents") is False)
