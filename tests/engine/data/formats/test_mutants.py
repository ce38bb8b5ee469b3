"""Mutated files end in rows or in a sentence, never in another exception."""

import json
import random

import pytest

from engine.data.columns.answers import parse_answers
from engine.data.columns.words import split_words
from engine.data.formats.reading import preview, read, recognise
from engine.errors import BadCheckpoint, BadFile
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.data.formats.hostile import CASES
from tests.engine.data.formats.test_conll import ENGLISH, UNIVERSAL
from tests.engine.data.formats.test_squad import asked, whole
from tests.engine.tokenizers.test_vocabulary import content

MUTANTS = 250
PARTS = [b'"', b'""', b",", b"\n", b"\r", b"\x00", b"\xff", b"\t", b"{", b"}", b"[", b"\\ud800"]
PARTS += [b"NaN", b"\xef\xbb\xbf", b"\xff\xfe", b"text", b"1e999", b"\xe2\x80\xa8", b";", b"\\"]
VALUES = [None, True, -1, 10**9, 1.5, "", "x", [], {}, ["[PAD]"], {"type": "Split"}]


def mutated(source: bytes, chance: random.Random) -> bytes:
    """The bytes with one to six changes: bits, insertions, deletions, copies."""
    mutant = bytearray(source)
    for _ in range(chance.randint(1, 6)):
        index = chance.randint(0, len(mutant))
        match chance.randint(0, 3):
            case 0 if index < len(mutant):
                mutant[index] ^= 1 << chance.randint(0, 7)
            case 1:
                del mutant[index : index + chance.randint(1, 30)]
            case 2:
                mutant[index:index] = mutant[chance.randint(0, len(mutant)) :][:500]
            case _:
                mutant[index:index] = chance.choice(PARTS) * chance.choice([1, 1, 1, 3, 50])
    return bytes(mutant)


def test_mutated_data_gives_rows_or_a_sentence(tmp_path):
    chance = random.Random(7)
    seeds = []
    for case in CASES:
        if case.rows and len(str(case.rows)) < 5_000:
            case.make(tmp_path / case.name)
            seeds.append((case.name, (tmp_path / case.name).read_bytes()))
    seeds += [("x.conll", ENGLISH.encode()), ("y.conll", UNIVERSAL.encode())] * 8
    seeds += [("squad.json", json.dumps(whole(asked(), asked("q2", answers=[]))).encode())] * 8
    outcomes = {"read": 0, "refused": 0}
    for _ in range(MUTANTS):
        name, source = chance.choice(seeds)
        path = tmp_path / name
        path.write_bytes(mutated(source, chance))
        try:
            reading = recognise(path).reading
            preview(path, reading)
            for row in read(path, reading):
                "".join(row.cells).encode("utf-8")
                if reading.format == "conll":
                    assert len({len(split_words(cell)) for cell in row.cells}) == 1
                if reading.format == "squad":
                    parse_answers(row.cells[4], row.cells[3])
            outcomes["read"] += 1
        except BadFile:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > MUTANTS // 10


def changed(value: object, chance: random.Random) -> object:
    """A copy in which one thing, somewhere, is another."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        if chance.random() < 0.1:
            return {name: inner for name, inner in value.items() if name != key}
        return {**value, key: changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        index = chance.randrange(len(value))
        return [*value[:index], changed(value[index], chance), *value[index + 1 :]]
    return chance.choice(VALUES)


@pytest.mark.parametrize("times", [1, 3])
def test_a_mutated_tokenizer_works_or_is_refused(tmp_path, times):
    chance = random.Random(times)
    outcomes = {"works": 0, "refused": 0}
    for _ in range(MUTANTS):
        mutant: object = content()
        for _ in range(times):
            mutant = changed(mutant, chance)
        (tmp_path / "tokenizer.json").write_text(json.dumps(mutant), encoding="utf-8")
        try:
            result = Tokenizer.from_folder(tmp_path)
            ids = result.encode_many(["ab [MASK] x"])[0][0]
            assert all(0 <= number < result.size for number in ids)
            outcomes["works"] += 1
        except BadCheckpoint:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > MUTANTS // 20
