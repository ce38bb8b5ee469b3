"""Known parts of foreign tokenizer files are read; other files are refused."""

import json
from pathlib import Path

import pytest
from transformers import BertTokenizer

from engine.errors import BadCheckpoint, StudioError
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import SPECIAL

PIECES = [*SPECIAL, "a", "##b", "<extra>"]


def content(**changes) -> dict:
    """A tokenizer.json as the published tools write it."""
    result = {
        "version": "1.0",
        "added_tokens": [{"id": n, "content": p, "special": True} for n, p in enumerate(SPECIAL)],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(PIECES)},
        },
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        section = result
        for name in parents:
            section = section[name]
        section[last] = value
    return result


def write(folder: Path, name: str, value: object) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    (folder / name).write_text(text, encoding="utf-8")


def test_the_known_parts_are_read(tmp_path):
    write(tmp_path, "tokenizer.json", content(normalizer__lowercase=False))
    tokenizer = Tokenizer.from_folder(tmp_path)
    assert tokenizer.tokens == PIECES and not tokenizer.lowercase


def test_the_config_overrides_tokenizer_json(tmp_path):
    write(tmp_path, "tokenizer.json", content())
    config = {"do_lower_case": False, "mask_token": {"content": "<extra>"}}
    write(tmp_path, "tokenizer_config.json", config)
    tokenizer = Tokenizer.from_folder(tmp_path)
    assert not tokenizer.lowercase and tokenizer.mask == PIECES.index("<extra>")


def test_added_pieces_are_never_split(tmp_path):
    extra = {"id": 8, "content": "<new one>", "special": False}
    write(tmp_path, "tokenizer.json", content(added_tokens=[extra]))
    tokenizer = Tokenizer.from_folder(tmp_path)
    tokens = [token.text for token in tokenizer.encode("ab<new one>a").tokens]
    assert tokens[1:-1] == ["a", "##b", "<new one>", "a"]


def test_ids_without_a_piece_get_a_name(tmp_path):
    vocabulary = {piece: number * 2 for number, piece in enumerate(PIECES)}
    write(tmp_path, "tokenizer.json", content(model__vocab=vocabulary, added_tokens=[]))
    tokenizer = Tokenizer.from_folder(tmp_path)
    assert tokenizer.size == 15 and tokenizer.sep == 6 and tokenizer.token(1) == "[hole1]"


SLOW = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Removed", "invert": False}
REFUSED = [
    ({"pre_tokenizer": SLOW}, "by the expression"),
    ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SLOW]}}, "by the expression"),
    ({"normalizer": SLOW | {"type": "Replace", "content": ""}}, "by the expression"),
    ({"pre_tokenizer": {"type": "Jieba"}}, "a step “Jieba”"),
    ({"model": {"type": "Words", "vocab": {}}}, "no model of a known kind"),
    ({"model__max_input_chars_per_word": 10**9}, "up to 1000000000 characters"),
]


@pytest.mark.parametrize("changes,message", REFUSED)
def test_unsupported_steps_are_refused_despite_a_vocabulary(tmp_path, changes, message):
    write(tmp_path, "tokenizer.json", content(**changes))
    write(tmp_path, "vocab.txt", "\n".join(PIECES))
    with pytest.raises(BadCheckpoint, match=f"not a supported tokenizer.*{message}"):
        Tokenizer.from_folder(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"model__vocab": {}, "added_tokens": []},
        {"model__vocab": []},
        {"model__vocab": {"[PAD]": -1}},
        {"model__vocab": {"[PAD]": 10**9}},
        {"model__vocab": {"[PAD]": "0"}},
        {"model__vocab": {"[PAD]": True}},
        {"model__vocab": {"a": 5, "b": 5}},
        {"added_tokens": [{"content": "x"}]},
        {"added_tokens": {"x": 1}},
        {"model__vocab": {"a": 5_000}, "added_tokens": []},
        {"model__vocab": {"a": 5}, "added_tokens": []},
    ],
)
def test_a_damaged_vocabulary_is_refused(tmp_path, changes):
    write(tmp_path, "tokenizer.json", content(**changes))
    with pytest.raises(BadCheckpoint) as caught:
        Tokenizer.from_folder(tmp_path)
    assert caught.value.advice.endswith(".")


@pytest.mark.parametrize(
    "name, text",
    [
        ("tokenizer.json", "{"),
        ("tokenizer.json", "[]"),
        ("tokenizer.json", "[" * 100_000),
        ("tokenizer.json", '{"model": ' + "9" * 5_000 + "}"),
        ("tokenizer_config.json", "<html>"),
        ("vocab.txt", ""),
        ("vocab.txt", "a\nb\n"),
    ],
)
def test_an_invalid_file_is_refused(tmp_path, name, text):
    if name == "tokenizer_config.json":
        write(tmp_path, "vocab.txt", "\n".join(PIECES))
    write(tmp_path, name, text)
    with pytest.raises(BadCheckpoint):
        Tokenizer.from_folder(tmp_path)


def test_a_binary_vocabulary_is_refused(tmp_path):
    (tmp_path / "vocab.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadCheckpoint, match="UTF-8"):
        Tokenizer.from_folder(tmp_path)


def test_missing_files_of_an_empty_folder_are_named(tmp_path):
    with pytest.raises(BadCheckpoint, match=r"vocab\.txt"):
        Tokenizer.from_folder(tmp_path)
    with pytest.raises(BadCheckpoint):
        Tokenizer.from_vocabulary(tmp_path / "gone.txt")


def test_lines_of_a_vocabulary_keep_their_numbers(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("\r\n".join([*PIECES, "a", "\u2028", ""]).encode())
    tokenizer = Tokenizer.from_vocabulary(tmp_path / "vocab.txt")
    assert tokenizer.size == len(PIECES) + 2
    assert (
        tokenizer.id("a") == len(PIECES)
        and tokenizer.token(5) == "a"
        and tokenizer.id("\u2028") == 9
    )


def test_capitals_indicate_a_cased_vocabulary(tmp_path):
    write(tmp_path, "vocab.txt", "\n".join([*PIECES, "Paris"]))
    assert not Tokenizer.from_folder(tmp_path).lowercase
    assert Tokenizer.from_vocabulary(tmp_path / "vocab.txt", lowercase=True).lowercase


def test_a_vocabulary_without_mask_is_read_and_written_as_in_transformers(tmp_path):
    pieces = [piece for piece in PIECES if piece != "[MASK]"]
    write(tmp_path, "vocab.txt", "\n".join(pieces) + "\n")
    tokenizer = Tokenizer.from_folder(tmp_path)
    expected = BertTokenizer.from_pretrained(tmp_path)("a ab c", "b")["input_ids"]
    assert tokenizer.encode("a ab c", "b").ids == expected
    with pytest.raises(StudioError, match=r"has no \[MASK\]"):
        _ = tokenizer.mask
    (tmp_path / "again").mkdir()
    tokenizer.save(tmp_path / "again")
    again = Tokenizer.from_folder(tmp_path / "again")
    assert again.tokens == pieces and again.mask_id is None
    assert BertTokenizer.from_pretrained(tmp_path / "again")("a ab c", "b")["input_ids"] == expected
