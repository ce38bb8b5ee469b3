"""Tags of any scheme become BIO, and corrections are reported with their line."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.config.dataset import Mapping
from engine.data.columns.words import split_words
from engine.data.formats.reading import recognise
from engine.errors import BadFile
from tests.engine.data.importing import ONLY_TRAIN, import_files


def conll(path: Path, sentences: str) -> Path:
    """A file of sentences such as “a:O b:B-x | c:O”."""
    path.write_text(sentences.replace(" | ", "\n\n").replace(" ", "\n").replace(":", "\t") + "\n")
    return path


@pytest.mark.parametrize(
    "scheme, sentences",
    [
        ("BIO", "a:B-x b:I-x c:B-x d:O | e:O f:B-y"),
        ("IOB1", "a:I-x b:I-x c:B-x d:O | e:O f:I-y"),
        ("IOBES", "a:B-x b:E-x c:S-x d:O | e:O f:S-y"),
        ("BILOU", "a:B-x b:L-x c:U-x d:O | e:O f:U-y"),
    ],
)
def test_every_scheme_is_stored_as_bio(tmp_path, scheme, sentences):
    dataset = import_files(conll(tmp_path / "x.conll", sentences), tmp_path / "data", ONLY_TRAIN)
    rows = dataset.rows("train")
    assert rows.texts == ["a b c d", "e f"]
    assert rows.tags == ["B-x I-x B-x O", "O B-y"]
    assert dataset.spec.spans == {"x": 2, "y": 1} and dataset.spec.labels == {}
    notes = " ".join(dataset.spec.notes)
    assert (scheme in notes) == (scheme != "BIO") and "corrected" not in notes


def test_corrections_are_reported_with_their_line(tmp_path):
    path = conll(tmp_path / "x.conll", "a:B-x b:O | c:B-x d:O | e:O f:I-x g:I-y | h:B-y")
    dataset = import_files(path, tmp_path / "data", ONLY_TRAIN)
    assert dataset.rows("train").tags == ["B-x O", "B-x O", "O B-x B-y", "B-y"]
    (note,) = dataset.spec.notes
    assert "corrected" in note and "2 times, first in line 8" in note


def test_part_of_speech_tags_are_unchanged(tmp_path):
    path = conll(tmp_path / "x.conll", "the:DET cat:NOUN | it:PRON sat:VERB")
    dataset = import_files(path, tmp_path / "data", ONLY_TRAIN)
    assert dataset.rows("train").tags == ["DET NOUN", "PRON VERB"]
    assert dataset.spec.spans == {"DET": 1, "NOUN": 1, "PRON": 1, "VERB": 1}
    assert dataset.spec.notes == ()


def test_lists_of_words_and_tags_are_read(tmp_path):
    path = tmp_path / "x.jsonl"
    rows = [
        {"id": "0", "tokens": ["New York", "[", "1", "]"], "ner_tags": ["S-x", "O", "O", "O"]},
        {"id": "1", "tokens": ["a", "b"], "ner_tags": ["B-x", "E-x"]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    guess = recognise(path)
    assert guess.mapping == Mapping(text="tokens", tags="ner_tags")
    stored = import_files(path, tmp_path / "data", ONLY_TRAIN).rows("train")
    assert list(map(split_words, stored.texts)) == [row["tokens"] for row in rows]
    assert stored.tags == ["B-x O O O", "B-x I-x"]


@pytest.mark.parametrize(
    "content, line, message",
    [
        ("text,tags\na b,O O\nc d,O\n", 3, "there are 2 words and one tag"),
        ("text,tags\na b,I-x B-x\nc d,O oops\n", 3, "“oops” is not a valid span tag"),
    ],
)
def test_tags_without_matching_words_are_reported(tmp_path, content, line, message):
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(BadFile, match=message) as caught:
        import_files(path, tmp_path / "data", mapping=Mapping(text="text", tags="tags"))
    assert caught.value.line == line
    assert not (tmp_path / "data").exists()


def test_a_shortened_list_is_reported_with_its_line(tmp_path):
    words = " ".join(map(str, range(1001)))
    printed = str(np.array([f"w{n}" for n in range(1001)]))  # as `Dataset.to_csv` writes it
    path = tmp_path / "x.csv"
    path.write_text(f'words,tags\na b,O O\n"{printed}",{words}\n', encoding="utf-8")
    with pytest.raises(BadFile, match=r"line 3: the list was shortened with “\.\.\.”"):
        import_files(path, tmp_path / "data", ONLY_TRAIN, Mapping(text="words", tags="tags"))


def test_an_unknown_tag_in_conll_is_reported_with_its_line(tmp_path):
    path = conll(tmp_path / "x.conll", "a:B-x b:O | c:B-x d:O e:oops")
    with pytest.raises(BadFile, match="line 6: “oops” is not a valid span tag") as caught:
        import_files(path, tmp_path / "data", ONLY_TRAIN)
    assert caught.value.line == 6


def test_any_column_can_hold_the_tags(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a DT I-NP O\nb NN I-NP I-PER\n\nc NN I-NP O\n")
    guess = recognise(path)
    assert guess.columns == ("text", "column 2", "column 3", "tags")
    assert guess.mapping == Mapping(text="text", tags="tags")
    for column, tags in (
        ("tags", ["O B-PER", "O"]),
        ("column 2", ["DT NN", "NN"]),
        ("column 3", ["B-NP I-NP", "B-NP"]),
    ):
        mapping = Mapping(text="text", tags=column)
        dataset = import_files(path, tmp_path / column, ONLY_TRAIN, mapping)
        assert dataset.rows("train").tags == tags
