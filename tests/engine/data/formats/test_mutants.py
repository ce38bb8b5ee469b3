"""Mutated files give rows or a `BadFile`, never another exception."""

import json
import random

import pytest

from engine.data.columns.answers import parse_answers
from engine.data.columns.words import split_words
from engine.data.formats.reading import preview, read, recognise
from engine.errors import BadCheckpoint, BadFile
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.data.formats.hostile import CASES
from tests.engine.data.formats.test_annotated import CASES as EXPORTS
from tests.engine.data.formats.test_conll import ENGLISH, UNIVERSAL
from tests.engine.data.formats.test_squad import document, qa
from tests.engine.tokenizers.test_vocabulary import content

MUTANTS = 250
PARTS = [b'"', b'""', b",", b"\n", b"\r", b"\x00", b"\xff", b"\t", b"{", b"}", b"[", b"\\ud800"]
PARTS += [b"NaN", b"\xef\xbb\xbf", b"\xff\xfe", b"text", b"1e999", b"\xe2\x80\xa8", b";", b"\\"]
VALUES = [None, True, -1, 10**9, 1.5, "", "x", [], {}, ["[PAD]"], {"type": "Split"}]


def mutate(source: bytes, rng: random.Random) -> bytes:
    """The bytes with one to six changes: bits, insertions, deletions, copies."""
    mutant = bytearray(source)
    for _ in range(rng.randint(1, 6)):
        index = rng.randint(0, len(mutant))
        match rng.randint(0, 3):
            case 0 if index < len(mutant):
                mutant[index] ^= 1 << rng.randint(0, 7)
            case 1:
                del mutant[index : index + rng.randint(1, 30)]
            case 2:
                mutant[index:index] = mutant[rng.randint(0, len(mutant)) :][:500]
            case _:
                mutant[index:index] = rng.choice(PARTS) * rng.choice([1, 1, 1, 3, 50])
    return bytes(mutant)


def test_mutated_data_gives_rows_or_bad_file(tmp_path):
    rng = random.Random(7)
    seeds = []
    for case in CASES:
        if case.rows and len(str(case.rows)) < 5_000:
            case.make(tmp_path / case.name)
            seeds.append((case.name, (tmp_path / case.name).read_bytes()))
    seeds += [("x.conll", ENGLISH.encode()), ("y.conll", UNIVERSAL.encode())] * 8
    seeds += [("squad.json", json.dumps(document(qa(), qa("q2", answers=[]))).encode())] * 8
    outcomes = {"read": 0, "refused": 0}
    for _ in range(MUTANTS):
        name, source = rng.choice(seeds)
        path = tmp_path / name
        path.write_bytes(mutate(source, rng))
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


def replace_value(value: object, rng: random.Random) -> object:
    """A copy in which one value, at any depth, is replaced or removed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {name: inner for name, inner in value.items() if name != key}
        return {**value, key: replace_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        index = rng.randrange(len(value))
        return [*value[:index], replace_value(value[index], rng), *value[index + 1 :]]
    return rng.choice(VALUES)


def test_a_mutated_export_of_a_tool_gives_rows_or_bad_file(tmp_path):
    rng = random.Random(7)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(MUTANTS):
        _, name, values = rng.choice(EXPORTS)
        (tmp_path / name).write_text(json.dumps(replace_value(values, rng)), "utf-8")
        try:
            reading = recognise(tmp_path / name).reading
            assert all(row.cells for row in read(tmp_path / name, reading))
            outcomes["read"] += 1
        except BadFile:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > MUTANTS // 10


@pytest.mark.parametrize("times", [1, 3])
def test_a_mutated_tokenizer_works_or_is_refused(tmp_path, times):
    rng = random.Random(times)
    outcomes = {"works": 0, "refused": 0}
    for _ in range(MUTANTS):
        mutant: object = content()
        for _ in range(times):
            mutant = replace_value(mutant, rng)
        (tmp_path / "tokenizer.json").write_text(json.dumps(mutant), encoding="utf-8")
        try:
            result = Tokenizer.from_folder(tmp_path)
            ids = result.encode_many(["ab [MASK] x"])[0][0]
            assert all(0 <= number < result.size for number in ids)
            outcomes["works"] += 1
        except BadCheckpoint:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > MUTANTS // 20
