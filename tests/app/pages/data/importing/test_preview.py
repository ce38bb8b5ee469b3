"""The cost of a preview does not depend on the length of cells."""

from typing import Any

import pytest

from app.pages.data.importing.preview import EXAMPLE_CHARACTERS, examples_of, preview_file
from engine.config.dataset import Mapping
from engine.data.formats import FORMATS
from engine.data.formats.reading import LONG_LINE, recognise
from engine.tokenizers.tokenizer import Tokenizer
from tests.app.pages.train.conftest import write_model

LETTERS = 2_000_000


def test_a_tokenizer_gets_no_more_of_a_cell_than_the_examples_need(tmp_path, monkeypatch) -> None:
    lengths: list[int] = []
    encode = Tokenizer.encode

    def noted(self: Tokenizer, text: str, pair: str | None = None, *rest: int) -> Any:
        lengths.extend(map(len, (text, pair or "")))
        return encode(self, text, pair, *rest)

    monkeypatch.setattr(Tokenizer, "encode", noted)
    file = tmp_path / "long.csv"
    words = "word and other things " * (LETTERS // 22)
    file.write_text(f"text,pair,label\n{'x' * LETTERS},{words},a\na b,{words},b\n")
    shown = preview_file(file, recognise(file).reading)
    tokenizer = Tokenizer.from_folder(write_model(tmp_path / "model"))
    first, second = examples_of(shown, Mapping(text="text", pair="pair", label="label"), tokenizer)
    assert max(lengths) == EXAMPLE_CHARACTERS
    assert first.truncated and second.truncated and first.label == "a"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl", "a.conll"])
def test_a_form_is_guessed_without_the_inside_of_a_long_line(tmp_path, monkeypatch, name) -> None:
    longest: list[int] = []
    lines = {
        "a.csv": ["text,label", "{},a", '"b, {}",c'],
        "a.tsv": ["text\tlabel", "{}\ta", "b {}\tc"],
        "a.txt": ["{}", "a b"],
        "a.jsonl": ['{{"text": "{}", "label": "a"}}'],
        "a.conll": ["Ada\tB-x", "{}\tO", "", "Paris\tB-x"],
    }[name]
    short, long = tmp_path / "short" / name, tmp_path / name
    short.parent.mkdir()
    short.write_text("\n".join(line.format("a word " * 100) for line in lines) + "\n")
    long.write_text("\n".join(line.format("a word " * (LETTERS // 7)) for line in lines) + "\n")
    expected = recognise(short).reading
    for one in FORMATS.values():

        def noted(given: list[str], *rest: Any, guess: Any = one.guess) -> Any:
            longest.extend(map(len, given))
            return guess(given, *rest)

        monkeypatch.setitem(FORMATS, one.name, one._replace(guess=noted))
    assert recognise(long).reading == expected
    assert 0 < max(longest) < LONG_LINE
