"""Byte-level and SentencePiece tokenizers give the ids of transformers, piece by piece."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from engine.errors import BadCheckpoint
from engine.tokenizers.byte_bpe import CHARACTERS
from engine.tokenizers.folder import read_folder
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.tokenizers.published_tokenizers import (
    byte_level,
    sentence_pieces,
    sentencepiece_charsmap,
)
from tests.often import tries

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    " Unbelievable!  It's 3,000.5 km to São Paulo, isn’t it? ",
    "Ǆ ß İstanbul Ωmega naïve coöperate 日本語 テスト \u200b\u00a0x",
    "a <mask> in the text, and </s> too;<mask> <s><pad> [MASK] [SEP] [CLS] <unk>",
    "tabs\tand\nnewlines\r\nand \x00 control \x7f\x1c characters \ufffd",
    "``quoted'' and \"quoted\" ▁marks Ġ too ##x",
    "",
    "   ",
    "x" * 150,
    "🙂👩‍👩‍👧 e\u0301\u0301 ーー ½ ＡＢＣ",
    "we're they'll I'd can't; don't, a1b2 c__d",
]
WORDS = " ".join(TEXTS).split() * 5


@pytest.fixture(scope="module")
def roberta(tmp_path_factory) -> Path:
    return byte_level(tmp_path_factory.mktemp("kinds") / "roberta", TEXTS * 5)


@pytest.fixture(scope="module")
def albert(tmp_path_factory) -> Path:
    return sentence_pieces(tmp_path_factory.mktemp("kinds") / "albert", TEXTS * 5)


def reference(folder: Path):
    return AutoTokenizer.from_pretrained(str(folder), local_files_only=True)


def assert_agree(ours: Tokenizer, published, texts: list[str] = TEXTS) -> None:
    encoded = published(texts, truncation=True, max_length=64)["input_ids"]
    assert [ids for ids, _ in ours.encode_many(texts, max_length=64)] == encoded
    assert [ours.encode(text, max_length=64).ids for text in texts] == encoded
    pairs = texts[1:] + texts[:1]
    for length in (9, 48):
        result = ours.encode_many(texts, pairs, max_length=length)
        assert [ids for ids, _ in result] == published(
            texts, pairs, truncation=True, max_length=length
        )["input_ids"]
        for first, second, (ids, segments) in zip(texts, pairs, result, strict=True):
            item = ours.encode(first, second, length)
            assert (item.ids, item.segments) == (ids, segments)


def test_byte_level_pieces_equal_those_of_roberta(roberta):
    published = reference(roberta)
    assert type(published).__name__.startswith("Roberta")
    tokenizer = Tokenizer.from_folder(roberta)
    assert_agree(tokenizer, published)
    assert [tokenizer.pad, tokenizer.unknown, tokenizer.cls, tokenizer.sep, tokenizer.mask] == [
        *(1, 3, 0, 2, 4)
    ]
    pair = [tokenizer.token(i) for i in tokenizer.encode("a", "b").ids]
    assert pair == ["<s>", "a", "</s>", "</s>", "b", "</s>"]


@pytest.mark.parametrize("spaced", [True, False])
def test_a_prefix_space_may_be_added(tmp_path, spaced):
    folder = byte_level(tmp_path / "roberta", TEXTS * 5, spaced=spaced)
    assert_agree(Tokenizer.from_folder(folder), reference(folder))


def test_sentence_pieces_equal_those_of_albert(albert):
    published = reference(albert)
    assert type(published).__name__.startswith("Albert")
    tokenizer = Tokenizer.from_folder(albert)
    assert_agree(tokenizer, published)
    encoded = published(TEXTS, TEXTS[::-1], return_token_type_ids=True)
    result = tokenizer.encode_many(TEXTS, TEXTS[::-1])
    assert [segments for _, segments in result] == encoded["token_type_ids"]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("keep_accents", [True, False])
def test_every_albert_setting_agrees_with_transformers(tmp_path, lowercase, keep_accents):
    folder = sentence_pieces(
        tmp_path / "albert", TEXTS * 5, lowercase=lowercase, keep_accents=keep_accents
    )
    tokenizer = Tokenizer.from_folder(folder)
    assert tokenizer.lowercase == lowercase
    assert_agree(tokenizer, reference(folder))
    (folder / "tokenizer_config.json").unlink()  # the steps in tokenizer.json remain
    assert Tokenizer.from_folder(folder).fingerprint == tokenizer.fingerprint


def test_the_charsmap_of_sentencepiece_is_kept(tmp_path):
    table = sentencepiece_charsmap({"#": "number", "~": ""})
    folder = sentence_pieces(tmp_path / "albert", [*TEXTS, "number"] * 5, characters=table)
    tokenizer = Tokenizer.from_folder(folder)
    assert tokenizer.normalise("a # b~c") == "a number bc"
    assert_agree(tokenizer, reference(folder), ["a # b~c", *TEXTS])
    tokenizer.save(tmp_path)
    assert_agree(Tokenizer.from_folder(tmp_path), reference(tmp_path), ["a # b~c", *TEXTS])


@pytest.mark.parametrize("kind", ["roberta", "albert"])
def test_saved_tokenizers_are_read_by_transformers_and_the_engine(request, tmp_path, kind):
    folder = request.getfixturevalue(kind)
    tokenizer = Tokenizer.from_folder(folder)
    tokenizer.save(tmp_path)
    assert Tokenizer.from_folder(tmp_path).fingerprint == tokenizer.fingerprint
    published, saved = reference(folder), reference(tmp_path)
    assert type(saved) is type(published)
    assert saved.special_tokens_map == published.special_tokens_map
    assert_agree(tokenizer, saved)


def test_the_older_files_of_roberta_are_enough(roberta, tmp_path):
    tokenizer = Tokenizer.from_folder(roberta)
    tokenizer.save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    assert Tokenizer.from_folder(tmp_path).fingerprint == tokenizer.fingerprint
    assert_agree(tokenizer, reference(tmp_path))
    (tmp_path / "tokenizer_config.json").unlink()
    assert Tokenizer.from_folder(tmp_path).fingerprint == tokenizer.fingerprint


def test_merges_may_be_single_strings(roberta, tmp_path):
    content = json.loads((roberta / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    tokenizer = Tokenizer.from_folder(tmp_path)
    assert tokenizer.fingerprint == Tokenizer.from_folder(roberta).fingerprint


def test_byte_level_offsets_equal_those_of_transformers(roberta):
    tokenizer, published = Tokenizer.from_folder(roberta), reference(roberta)
    for text in TEXTS:
        encoded = published(text, return_offsets_mapping=True)
        actual = [(t.start, t.end) for t in tokenizer.encode(text).tokens]
        assert actual[1:-1] == [tuple(pair) for pair in encoded["offset_mapping"]][1:-1]


def test_byte_pieces_are_shown_as_readable_text(roberta):
    tokenizer = Tokenizer.from_folder(roberta)
    shown = "".join(token.text for token in tokenizer.encode("S 本 <mask> 日").tokens)
    assert shown.startswith("<s>S▁")
    assert shown.endswith("</s>")
    assert "<mask>▁" in shown
    assert bytes(shown, "utf-8").decode("unicode_escape")  # bytes of a part of a character
    display = tokenizer.vocabulary.display_form
    assert [display(piece) for piece in ("ĠThe", "Ã©", "ðŁ", "Ġ", "<mask>", "Ċ")] == [
        *("▁The", "é", "\\xf0\\x9f", "▁", "<mask>", "\n")
    ]
    assert len(set(CHARACTERS.values())) == 256


def test_words_continue_without_a_space(roberta, albert):
    for folder in (roberta, albert):
        tokenizer = Tokenizer.from_folder(folder)
        ids = tokenizer.contents(["unbelievable jumps over"])[0]
        starts = [tokenizer.token(i) for i in ids if not tokenizer.continues[i]]
        assert 2 <= len(starts) <= 3
        assert all(piece.startswith("▁") for piece in starts)
        assert not tokenizer.continues[[tokenizer.cls, tokenizer.sep, tokenizer.mask]].any()


def test_long_texts_are_encoded_like_their_prefixes(roberta, albert):
    long = " ".join(WORDS * 40)
    for folder in (roberta, albert):
        tokenizer = Tokenizer.from_folder(folder)
        ids = tokenizer.contents([long])[0]
        assert tokenizer.encode(long, max_length=30).ids[1:-1] == ids[:28]
        assert tokenizer.encode_many([long], max_length=30)[0][0][1:-1] == ids[:28]


@given(st.text(max_size=60), st.none() | st.text(max_size=60), st.integers(0, 40))
@tries(60)
def test_one_text_and_many_texts_are_encoded_alike(roberta, albert, text, pair, max_length):
    for folder in (roberta, albert):
        tokenizer = TOKENIZERS.setdefault(folder, Tokenizer.from_folder(folder))
        item = tokenizer.encode(text, pair, max_length)
        many = tokenizer.encode_many([text], None if pair is None else [pair], max_length)
        assert (item.ids, item.segments) == many[0]
        assert len(item.ids) <= max(max_length, tokenizer.count_special(1 if pair is None else 2))
        for token in item.tokens:
            assert 0 <= token.start <= token.end <= len(text if token.segment == 0 else pair or "")


TOKENIZERS: dict[Path, Tokenizer] = {}


def change_json(folder: Path, into: Path, change) -> Path:
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    change(content)
    (into / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return into


def _charsmap(characters: str) -> list[dict[str, str]]:
    return [{"type": "Precompiled", "precompiled_charsmap": characters}]


def _set(*path: str, value: object):
    def change(content: dict) -> None:
        for name in path[:-1]:
            content = content[name]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change,message",
    [
        (_set("pre_tokenizer", value={"type": "Python"}), "has a step “Python”"),
        (_set("pre_tokenizer", value={"type": "Sequence", "pretokenizers": 5}), "damaged pre"),
        (_set("normalizer", value={"type": "Prepend", "prepend": "x" * 101}), "is too long"),
        (_set("post_processor", value={"type": "ByteLevel"}), "not a supported tokenizer"),
        (_set("model", "dropout", value=0.1), "at random"),
        (_set("model", "merges", value=7), "no list of merges"),
        (_set("model", "merges", value=[["a", "nowhere"]]), "Merge 1"),
        (_set("model", "merges", value=[["a", "b", "c"]]), "Merge 1"),
        (_set("model", "merges", value=["a"]), "Merge 1"),
        (_set("model", "merges", value=[None]), "Merge 1"),
        (_set("model", "vocab", value={}), "Merge 1|invalid"),
        (_set("model", "vocab", value=[1]), "no vocabulary"),
        (_set("model", "vocab", "a", value=10**9), "invalid token ids"),
        (_set("added_tokens", value=[{"content": "<s>", "id": 77}]), "two ids"),
        (_set("added_tokens", value=5), "no list of added tokens"),
    ],
)
def test_a_damaged_byte_level_tokenizer_is_refused(roberta, tmp_path, change, message):
    with pytest.raises(BadCheckpoint, match=message):
        Tokenizer.from_folder(change_json(roberta, tmp_path, change))


@pytest.mark.parametrize(
    "change,message",
    [
        (_set("normalizer", "normalizers", value=_charsmap("AAA=")), "do not belong together"),
        (_set("normalizer", "normalizers", value=_charsmap("!")), "do not belong together"),
        (_set("normalizer", "normalizers", value=5), "has a damaged normalizer"),
        (_set("model", "unk_id", value=None), "which token is the unknown"),
        (_set("model", "unk_id", value=10**6), "which token is the unknown"),
        (_set("model", "vocab", value=[]), "no vocabulary"),
        (_set("model", "vocab", value=[["a", "b"]]), "without a text or a score"),
        (_set("model", "vocab", value=[["a", 1.0], ["a", 2.0]]), "twice"),
        (_set("added_tokens", value=[{"content": "[CLS]", "id": 77}]), "two ids"),
        (_set("added_tokens", value=[3]), "no list of added"),
    ],
)
def test_a_damaged_sentencepiece_tokenizer_is_refused(albert, tmp_path, change, message):
    with pytest.raises(BadCheckpoint, match=message):
        Tokenizer.from_folder(change_json(albert, tmp_path, change))


def test_a_missing_special_piece_is_named(roberta, tmp_path):
    folder = change_json(roberta, tmp_path, lambda content: None)
    (folder / "tokenizer_config.json").write_text('{"pad_token": "<m>"}', encoding="utf-8")
    with pytest.raises(BadCheckpoint, match="has no <m>"):
        Tokenizer.from_folder(folder)


def test_missing_companion_files_are_named(tmp_path):
    (tmp_path / "vocab.json").write_text('{"a": 0, "ab": 1}', encoding="utf-8")
    with pytest.raises(BadCheckpoint, match=r"no merges\.txt"):
        read_folder(tmp_path)
    (tmp_path / "vocab.json").unlink()
    (tmp_path / "spiece.model").write_bytes(b"x")
    with pytest.raises(BadCheckpoint, match=r"only in spiece\.model"):
        read_folder(tmp_path)


@pytest.mark.parametrize("kind", ["roberta", "albert"])
def test_sentence_transformers_lowers_the_case_of_every_kind(kind, request, tmp_path):
    folder = shutil.copytree(request.getfixturevalue(kind), tmp_path / kind)
    plain = Tokenizer.from_folder(folder)
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    lowered = Tokenizer.from_folder(folder)
    for text in ("Zażółć GĘŚLĄ Jaźń", "A Dog, and Mr. Keller"):
        assert lowered.encode(text).ids == plain.encode(text.lower()).ids
