"""The commands for vectors, similarity and nearest rows."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from engine.cli import main
from engine.files.shipped import minilm
from engine.models import checkpoint
from engine.tasks.similarity import sentence_vectors

TEXTS = ["A dog runs in the park.", "Shares fell on Monday.", "The puppy plays outside."]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(["number,text", *(f"{n},{t}" for n, t in enumerate(TEXTS))]) + "\n")
    return path


def test_similarity_of_two_and_of_several_texts(output, json_output):
    cosine = float(output("similarity", TEXTS[0], TEXTS[2]))
    cosines = np.array(json_output("similarity", *TEXTS)["cosines"])
    assert cosines[0, 2] == pytest.approx(cosine, abs=1e-4) and cosines[0, 2] > cosines[0, 1]
    np.testing.assert_allclose(cosines.diagonal(), 1, atol=1e-6)
    np.testing.assert_allclose(cosines, cosines.T, atol=1e-6)


def test_vectors_are_written_to_a_file(output, file):
    """The mean of the last hidden states, the default for encoders."""
    expected = sentence_vectors(checkpoint.load(minilm()), TEXTS)
    for suffix in (".npy", ".parquet"):
        assert "3 vectors of 384 numbers" in output(
            "vectors", file, "--out", file.with_suffix(suffix)
        )
    np.testing.assert_allclose(np.load(file.with_suffix(".npy")), expected, atol=1e-6)
    table = pq.read_table(file.with_suffix(".parquet"))
    assert table["text"].to_pylist() == TEXTS and table["number"].to_pylist() == ["0", "1", "2"]
    np.testing.assert_allclose(np.stack(table["vector"].to_pylist()), expected, atol=1e-6)


def test_truncated_texts_are_counted(file, capsys):
    file.write_text(f"text\n{'a dog ' * 300}\n{'a cat ' * 300}\na fish\n")
    warning = "with 8 tokens or more, truncated to 8 tokens."
    assert main(["vectors", str(file), "--max-length=8", "--out", f"{file}.npy"]) == 0
    assert f"note: 2 inputs {warning}" in capsys.readouterr().err
    assert main(["nearest", "a dog", str(file), "--max-length=8"]) == 0
    assert capsys.readouterr().err.count("note: ") == 1
    assert main(["similarity", "a dog " * 300, "a fish"]) == 0
    assert "note: 1 input with 256 tokens or more" in capsys.readouterr().err
    assert main(["similarity", "a dog", "a fish"]) == 0
    assert "note: " not in capsys.readouterr().err


def test_the_nearest_rows_come_first(json_output, file):
    nearest = json_output("nearest", "a little dog", file, "--top", "2")["nearest"]
    assert [row["text"] for row in nearest] == [TEXTS[0], TEXTS[2]]
    assert [row["line"] for row in nearest] == [2, 4]
    assert nearest[0]["cosine"] > nearest[1]["cosine"]


@pytest.mark.parametrize(
    "command, message",
    [
        (["similarity", "one"], "Add a second text"),
        (["nearest", "a"], "It is not clear which rows to use."),
        (["vectors", "x.csv", "--out", "x.txt"], ".npy, .parquet, .jsonl"),
    ],
)
def test_missing_parts_are_reported(command, message, capsys):
    assert main(command) == 1
    assert message in capsys.readouterr().err


def test_a_list_of_words_has_the_vector_of_its_text(output, tmp_path):
    words = [text.split(" ") for text in TEXTS]
    (tmp_path / "lists.jsonl").write_text(
        "".join(f'{{"tokens": {json.dumps(w)}}}\n' for w in words)
    )
    tags = [{"tokens": w, "ner_tags": ["O"] * len(w)} for w in words]
    (tmp_path / "tagged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in tags))
    expected = sentence_vectors(checkpoint.load(minilm()), TEXTS)
    for name in ("lists", "tagged"):
        output("vectors", tmp_path / f"{name}.jsonl", "--out", tmp_path / f"{name}.npy")
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), expected, atol=1e-6)


def test_guesses_and_notes_on_a_file_are_printed(file, capsys):
    rows = "".join(f"{n},the café was {n % 7} times full,{'ab'[n % 2]}\n" for n in range(20))
    file.write_bytes(f"1st,2nd,3rd\n{rows}".encode("cp1252"))
    for command in (["vectors", str(file), "--out", f"{file}.npy"], ["nearest", "a", str(file)]):
        assert main(command) == 0
        printed = capsys.readouterr().err
        assert "read as cp1252" in printed and "We guessed the text column" in printed
