"""Any tokenizer.json gives the tokens of the library."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models, pre_tokenizers, trainers
from transformers import AutoTokenizer, BertTokenizer

from engine.errors import BadCheckpoint, StudioError
from engine.tokenizers.byte_bpe import BYTES_BY_CHARACTER, ByteLevelBpe
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.tokenizer_json import TokenizerJson
from engine.tokenizers.vocabulary_files import SPECIAL_KEYS
from engine.tokenizers.wordpiece import WordPiece
from tests.engine.tokenizers.published_tokenizers import byte_fallback, byte_level, sentence_pieces
from tests.engine.tokenizers.test_kinds import TEXTS
from tests.engine.tokenizers.test_vocabulary import content, write

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = sorted(set("".join(TEXTS).lower()) - set(" \n\r\t"))
PIECES = (*SPECIAL, *LETTERS, *(f"##{c}" for c in LETTERS), "quick", "##ick", "the")
NAMES = dict(zip(SPECIAL_KEYS, SPECIAL, strict=True))


def added_token(number: int, name: str, **flags: bool) -> dict[str, Any]:
    defaults = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized", "special"), False)
    return {"id": number, "content": name, **defaults, **flags}


def bert(**flags: Any) -> dict[str, Any]:
    """BERT's normaliser."""
    defaults = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    return {"type": "BertNormalizer", **defaults, "lowercase": True, **flags}


def wordpiece(**parts: Any) -> dict[str, Any]:
    """The tokenizer.json of a BERT with some parts replaced."""
    ids = {piece: number for number, piece in enumerate(dict.fromkeys(PIECES))}
    truncation = {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}
    tokenizer = content(
        truncation=truncation,
        padding=None,
        added_tokens=[added_token(ids[name], name, special=True) for name in SPECIAL],
        post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        decoder=None,
        model__vocab=ids,
    )
    tokenizer["model"] |= parts.pop("model", {})
    return tokenizer | parts


def template(cls: str, sep: str, between: int, second: int) -> dict[str, Any]:
    """A template with `between` [SEP] tokens between two texts."""

    def special(name: str, segment: int = 0) -> dict[str, Any]:
        return {"SpecialToken": {"id": name, "type_id": segment}}

    a, b = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": second}}
    ids = {name: {"id": name, "ids": [PIECES.index(name)], "tokens": [name]} for name in (cls, sep)}
    return {
        "type": "TemplateProcessing",
        "single": [special(cls), a, special(sep)],
        "pair": [special(cls), a, *[special(sep)] * between, b, special(sep, second)],
        "special_tokens": ids,
    }


COUNT = len(dict.fromkeys(PIECES))
DIGITS = [{"type": "BertPreTokenizer"}, {"type": "Digits", "individual_digits": True}]
WHITESPACE = {"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Removed", "invert": False}
VARIANTS: dict[str, dict[str, Any]] = {
    "as BERT": {},
    "NFC, lowercase": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}
    },
    "no normaliser": {"normalizer": None},
    "no clean text": {"normalizer": bert(clean_text=False, strip_accents=True, lowercase=False)},
    "replaced": {"normalizer": {"type": "Replace", "pattern": {"String": "fox"}, "content": "the"}},
    "stripped": {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": True}},
    "white space": {"pre_tokenizer": {"type": "WhitespaceSplit"}},
    "no splitting": {"pre_tokenizer": None},
    "digits": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": DIGITS}},
    "plain expression": {"pre_tokenizer": WHITESPACE},
    "short words": {"model": {"max_input_chars_per_word": 4}},
    "another mark": {"model": {"continuing_subword_prefix": "@@"}},
    "two [SEP]": {"post_processor": template("[CLS]", "[SEP]", 2, 1)},
    "one segment": {"post_processor": template("[CLS]", "[SEP]", 1, 0)},
    "other ends": {"post_processor": template("[MASK]", "[PAD]", 1, 1)},
    "added": {
        "added_tokens": [
            *(added_token(number, name, special=True) for number, name in enumerate(SPECIAL)),
            added_token(COUNT, "brown fox"),
            added_token(COUNT + 1, "JUMPS", normalized=True),
            added_token(COUNT + 2, "la", single_word=True),
            added_token(COUNT + 3, "dog", lstrip=True, rstrip=True),
        ]
    },
    "mask takes the space": {
        "added_tokens": [
            added_token(number, name, special=True, lstrip=name == "[MASK]")
            for number, name in enumerate(SPECIAL)
        ]
    },
}
CASES = [*TEXTS, "The brown foxes, brown fox jumps JUMPS la lazy la dog dogs [MASK] brown", "LA la"]


def library(folder: Path) -> LibraryTokenizer:
    tokenizer = LibraryTokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    return tokenizer


def assert_equals_library(folder: Path, into: Path) -> Tokenizer:
    """Ids, segments and pairs, before and after saving, and in transformers."""
    ours, peer = Tokenizer.from_folder(folder), library(folder)
    into.mkdir()
    ours.save(into)
    restored = Tokenizer.from_folder(into)
    assert restored.fingerprint == ours.fingerprint
    published = AutoTokenizer.from_pretrained(into, local_files_only=True)
    for text in CASES:
        expected = peer.encode(text).ids
        assert ours.encode(text).ids == expected, text
        assert ours.encode_many([text])[0][0] == expected
        assert restored.encode(text).ids == expected
        assert published(text)["input_ids"] == expected
    pairs = list(zip(CASES, CASES[::-1], strict=True))
    for first, second in pairs:
        expected = peer.encode(first, second)
        result = ours.encode(first, second)
        assert result.ids == expected.ids
        if not second:  # transformers ignores an empty text
            continue
        encoded = published(first, second)
        assert encoded["input_ids"] == expected.ids
        if ours.vocabulary.second_segment:
            assert encoded["token_type_ids"] == expected.type_ids == result.segments
        else:
            assert "token_type_ids" not in encoded and not any(expected.type_ids)
    return ours


@pytest.mark.parametrize("name", VARIANTS)
def test_every_step_of_a_wordpiece_is_applied(tmp_path, name):
    write(tmp_path, "tokenizer.json", wordpiece(**VARIANTS[name]))
    write(tmp_path, "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"} | NAMES)
    write(tmp_path, "vocab.txt", "\n".join(dict.fromkeys(PIECES)))  # older, and ignored
    ours = assert_equals_library(tmp_path, tmp_path / "saved")
    simple = ("as BERT", "two [SEP]", "one segment", "other ends", "added", "mask takes the space")
    assert isinstance(ours.vocabulary, WordPiece if name in simple else TokenizerJson)


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": BYTES | {"use_regex": False}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"normalizer": {"type": "NFKC"}},
        {"post_processor": {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}},
    ],
    ids=str,
)
def test_every_step_of_a_byte_level_bpe_is_applied(tmp_path, change):
    folder = byte_level(tmp_path / "theirs", TEXTS * 5)
    original = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    write(folder, "tokenizer.json", original | change)
    ours = assert_equals_library(folder, tmp_path / "saved")
    assert isinstance(ours.vocabulary, TokenizerJson) == ("post_processor" not in change)
    assert isinstance(ours.vocabulary, TokenizerJson | ByteLevelBpe)


METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": None},
        {"pre_tokenizer": METASPACE},
        {"pre_tokenizer": METASPACE | {"prepend_scheme": "first"}},
        {"pre_tokenizer": METASPACE | {"split": False}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}]}},
    ],
    ids=str,
)
def test_every_step_of_a_unigram_is_applied(tmp_path, change):
    folder = sentence_pieces(tmp_path / "theirs", TEXTS * 5)
    original = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    write(folder, "tokenizer.json", original | change)
    ours = assert_equals_library(folder, tmp_path / "saved")
    assert isinstance(ours.vocabulary, TokenizerJson)


def train_herbert(folder: Path) -> Path:
    """The vocab.json and merges.txt of a HerBERT, trained by the library."""
    tokenizer = LibraryTokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=names, end_of_word_suffix="</w>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS * 5, trainer)
    folder.mkdir()
    tokenizer.model.save(str(folder))
    write(folder, "tokenizer_config.json", {"tokenizer_class": "HerbertTokenizerFast"})
    return folder


def test_the_older_files_of_herbert_agree_with_its_class(tmp_path):
    folder = train_herbert(tmp_path / "herbert")
    ours = Tokenizer.from_folder(folder)
    published = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert type(published).__name__ == "HerbertTokenizer"
    for text in TEXTS:
        assert ours.encode(text).ids == published(text)["input_ids"]
        assert ours.encode(text, "fox").ids == published(text, "fox")["input_ids"]
    ours.save(tmp_path)
    restored = Tokenizer.from_folder(tmp_path)
    assert restored.fingerprint == ours.fingerprint
    assert [restored.encode(t).ids for t in TEXTS] == [published(t)["input_ids"] for t in TEXTS]


def test_an_end_of_word_token_starts_a_new_word(tmp_path):
    ours = Tokenizer.from_folder(train_herbert(tmp_path / "herbert"))
    ids = ours.encode("The quick jumps").ids
    continued = ours.vocabulary.continuation_mask(np.array([ids]))[0]
    words = [token.word for token in ours.encode("The quick jumps").tokens]
    expected = [a is not None and a == b for a, b in zip(words[1:], words, strict=False)]
    assert continued[1:].tolist() == expected


def test_words_are_split_as_if_after_a_space(tmp_path):
    folder = byte_level(tmp_path / "theirs", TEXTS * 5)
    original = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    write(folder, "tokenizer.json", original | {"normalizer": {"type": "NFC"}})
    ours = Tokenizer.from_folder(folder)
    ((ids, owners),) = ours.encode_words([["The", "quick", "fox"]])
    assert ids == ours.contents([" The quick fox"])[0]
    assert sorted(set(owners)) == [0, 1, 2]


def test_long_texts_are_truncated_on_the_configured_side(tmp_path):
    folder = byte_level(tmp_path / "theirs", TEXTS * 5)
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    write(folder, "tokenizer_config.json", config | {"truncation_side": "left"})
    ours = Tokenizer.from_folder(folder)
    ours.save(tmp_path)
    published = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    long = " ".join(TEXTS * 6)
    for tokenizer in (ours, Tokenizer.from_folder(tmp_path)):
        for text, pair in ((long, None), (long, "a fox"), ("a fox", long), (TEXTS[0], TEXTS[1])):
            expected = published(text, pair, truncation=True, max_length=20)["input_ids"]
            assert tokenizer.encode(text, pair, 20).ids == expected
            assert tokenizer.encode_many([text], pair and [pair], 20)[0][0] == expected


# ── added tokens ─────────────────────────────────────────────────────────────────────────────


def vocab_folder(folder: Path) -> Path:
    write(folder, "vocab.txt", "\n".join(dict.fromkeys(PIECES)))
    return folder


def reference(folder: Path) -> Any:
    return BertTokenizer.from_pretrained(folder, local_files_only=True)


ADDED = "a brown foxes [NEW] the dog newt, NEWT new"


@pytest.mark.parametrize(
    "files",
    [
        {"added_tokens.json": {"[NEW]": COUNT, "newt": COUNT + 1}},
        {
            "added_tokens.json": {"[NEW]": COUNT, "newt": COUNT + 1},
            "special_tokens_map.json": {"additional_special_tokens": ["[NEW]"]},
        },
        {
            "tokenizer_config.json": {
                "added_tokens_decoder": {
                    str(COUNT): {"content": "[NEW]", "special": True, "normalized": False},
                    str(COUNT + 1): {"content": "new", "single_word": True, "normalized": True},
                }
            }
        },
        {"tokenizer_config.json": {"additional_special_tokens": ["quick", "[NEW]"]}},
        {"special_tokens_map.json": {"mask_token": {"content": "quick", "lstrip": True}}},
        {"tokenizer_config.json": {"extra_special_tokens": ["[NEW]"]}},
    ],
    ids=str,
)
def test_added_tokens_are_read_without_a_tokenizer_json(tmp_path, files):
    vocab_folder(tmp_path)
    for name, value in files.items():
        write(tmp_path, name, value)
    ours, published = Tokenizer.from_folder(tmp_path), reference(tmp_path)
    assert ours.size == len(published)
    for text in (ADDED, "The quick fox", *TEXTS):
        assert ours.encode(text).ids == published(text)["input_ids"], text
    into = tmp_path / "saved"
    into.mkdir()
    ours.save(into)
    restored, reread = Tokenizer.from_folder(into), reference(into)
    assert restored.fingerprint == ours.fingerprint
    for text in (ADDED, "The quick fox"):
        assert restored.encode(text).ids == ours.encode(text).ids == reread(text)["input_ids"]


def test_an_added_token_is_not_a_piece_of_other_words(tmp_path):
    entry = {"content": "qui", "special": True, "normalized": False}
    config = {"added_tokens_decoder": {str(COUNT): entry}}
    write(vocab_folder(tmp_path), "tokenizer_config.json", config)
    ours = Tokenizer.from_folder(tmp_path)
    assert [t.text for t in ours.encode("QUI qui").tokens][1:-1] == ["q", "##u", "##i", "qui"]
    assert ours.encode("QUI qui").ids == reference(tmp_path)("QUI qui")["input_ids"]


# ── tokenizers of other programs ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
@pytest.mark.parametrize("name", ["BertJapaneseTokenizer", "PhobertTokenizer", "RoFormerTokenizer"])
def test_a_class_with_custom_code_is_refused_by_name(tmp_path, file, name):
    write(vocab_folder(tmp_path), file, {"tokenizer_class": name})
    with pytest.raises(BadCheckpoint, match=f"is a {name}") as caught:
        Tokenizer.from_folder(tmp_path)
    assert "WordPiece, BPE or Unigram" in caught.value.advice


@pytest.mark.parametrize(
    "entry", [{"word_tokenizer_type": "mecab"}, {"split_special_tokens": True}], ids=str
)
def test_an_entry_that_splits_differently_is_refused(tmp_path, entry):
    write(vocab_folder(tmp_path), "tokenizer_config.json", entry)
    with pytest.raises(BadCheckpoint, match=f"sets {next(iter(entry))} to"):
        Tokenizer.from_folder(tmp_path)


def test_an_unknown_class_needs_a_tokenizer_json(tmp_path):
    write(vocab_folder(tmp_path), "tokenizer_config.json", {"tokenizer_class": "WonderTokenizer"})
    with pytest.raises(BadCheckpoint, match="is a WonderTokenizer") as caught:
        Tokenizer.from_folder(tmp_path)
    assert "tokenizer.json" in caught.value.advice
    write(tmp_path, "tokenizer.json", wordpiece())
    assert Tokenizer.from_folder(tmp_path).size == COUNT


def test_single_bytes_need_no_merges(tmp_path):
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *BYTES_BY_CHARACTER]
    write(tmp_path, "vocab.json", {name: number for number, name in enumerate(names)})
    ours = Tokenizer.from_folder(tmp_path)
    assert [t.text for t in ours.encode("é a").tokens][1:-1] == ["\\xc3", "\\xa9", "▁", "a"]
    ours.save(tmp_path)
    assert Tokenizer.from_folder(tmp_path).fingerprint == ours.fingerprint


# ── damaged files ────────────────────────────────────────────────────────────────────────────

ODD = (None, True, -1, 10**12, 0.5, "", "x" * 200, [], {}, [[]], {"type": "NFC"}, "\ud800", "[CLS]")


def paths(value: Any, path: tuple = ()) -> list[tuple]:
    """The path to every value in a JSON document."""
    if not isinstance(value, dict | list):
        return [path]
    few = list(value.items() if isinstance(value, dict) else enumerate(value))[:6]
    return [path, *(entry for key, item in few for entry in paths(item, (*path, key)))]


def damage(document: Any, rng: random.Random) -> Any:
    document = json.loads(json.dumps(document))
    *parents, last = rng.choice([item for item in paths(document) if item])
    parent = document
    for key in parents:
        parent = parent[key]
    if rng.random() < 0.2 and isinstance(parent, dict):
        del parent[last]
    else:
        parent[last] = rng.choice(ODD)
    return document


FILES = {
    "added_tokens.json": {"[NEW]": COUNT},
    "special_tokens_map.json": {"mask_token": {"content": "[MASK]"}, "cls_token": "[CLS]"},
    "tokenizer_config.json": {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "added_tokens_decoder": {str(COUNT): {"content": "[NEW]", "lstrip": True}},
        "additional_special_tokens": ["quick"],
        "model_input_names": ["input_ids"],
    },
}


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_folder_is_read_or_refused(tmp_path, seed):
    rng = random.Random(seed)
    folders = [
        byte_level(tmp_path / "bytes", TEXTS, 300),
        sentence_pieces(tmp_path / "pieces", TEXTS, 100),
    ]
    kinds = [wordpiece(**parts) for parts in VARIANTS.values()]
    kinds += [json.loads((item / "tokenizer.json").read_text("utf-8")) for item in folders]
    kinds += [kind | {"normalizer": {"type": "NFKC"}} for kind in kinds[-2:]]
    for number in range(60):
        folder = tmp_path / str(number)
        folder.mkdir()
        if rng.random() < 0.7:
            write(folder, "tokenizer.json", damage(rng.choice(kinds), rng))
        else:
            vocab_folder(folder)
            for name, value in FILES.items():
                write(folder, name, damage(value, rng) if rng.random() < 0.6 else value)
        try:
            tokenizer = Tokenizer.from_folder(folder)
            for text in ("", TEXTS[1], "a [MASK] b"):
                assert all(0 <= i < tokenizer.size for i in tokenizer.encode(text, text).ids)
            tokenizer.encode_words([["a", "b"]])
        except StudioError:
            pass


def test_a_null_setting_is_not_reported(tmp_path):
    folder = sentence_pieces(tmp_path / "pieces", TEXTS, 100)
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    write(folder, "tokenizer_config.json", config | {"do_lower_case": None, "keep_accents": None})
    assert Tokenizer.from_folder(folder).lowercase


def test_unknown_japanese_characters_become_bytes(tmp_path):
    """Without spaces a whole text is one word of any length."""
    texts = ["今日の天気は晴れです。", "明日は雨でした。"] * 3
    folder = byte_fallback(tmp_path / "ja", texts)
    ours = Tokenizer.from_folder(folder)
    library = LibraryTokenizer.from_file(str(folder / "tokenizer.json"))
    assert ours.vocabulary.special == ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
    for text in (*texts[:2], "猫は今日<mask>です", "a 雨 b", "今日の天気。" * 60):
        assert [token.id for token in ours.encode(text).tokens] == library.encode(text).ids
    tokens = ours.encode("今日猫").tokens
    assert [token.text for token in tokens][-4:-1] == ["<0xE7>", "<0x8C>", "<0xAB>"]
    assert len(ours.encode("今日の天気。" * 4_000, max_length=64).tokens) == 64
