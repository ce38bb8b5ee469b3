"""Word vectors by command: import, words with signs, and a word in many texts."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

FILE = Path(__file__).parents[1] / "data" / "word_vectors" / "small.bin"


@pytest.fixture
def small(output, tmp_path, monkeypatch) -> Path:
    """Imported word vectors."""
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    return Path(output("import-model", FILE).strip())


def test_word_vectors_are_imported_and_asked_by_name(small, output, json_output, refusal, tmp_path):
    assert small == tmp_path / "home" / "vectors" / "small"
    printed = output("words", "king - MAN + woman", "--vectors", "Small", "--top", "2")
    lines = printed.splitlines()
    assert lines[1] == "word vectors" and lines[2].endswith("king – MAN") and len(lines) == 7
    answer = json_output("words", "king + xyz", "--vectors", small, "--model", "Tiny")
    file, rows = answer["spaces"]
    assert (file["name"], file["missing"], file["nearest"]) == ("file", ["xyz"], [])
    assert rows["name"] == "rows" and len(rows["cosines"]) == 1 and len(rows["nearest"]) == 10
    assert "Use --vectors or --model" in refusal("words", "king")
    assert "There are: small." in refusal("words", "king", "--vectors", "other")
    assert "in none of the vectors: xyz." in refusal("words", "xyz", "--vectors", "small")
    assert "is a file, not the folder" in refusal("import-model", __file__)
    damaged = tmp_path / "damaged.vec"
    damaged.write_bytes(FILE.read_bytes()[:-9])
    assert "announces 60 words, and it has 59." in refusal("import-model", damaged)
    assert not (tmp_path / "home" / "vectors" / "damaged").exists()
    output("import-model", FILE, "--name", "Mine")
    assert "Mine" in refusal("words", "king", "--vectors", "other")


def test_size_and_time_are_said_before_an_import(small, output, capsys):
    from engine.cli import main

    assert small.is_dir() and main(["import-model", str(FILE)]) == 0
    error = capsys.readouterr().err.splitlines()
    assert error[0].startswith("About 60 words of 8 numbers: the mapped copy takes 1 MB and about")
    assert error[-1].startswith("note: A word is looked up as it is written")


def test_vectors_of_a_word_are_written_by_command(output, refusal, tmp_path):
    texts = tmp_path / "texts.csv"
    texts.write_text("id,text\n7,poke it with a stick\n8,no\n9,Stick to a stick\n")
    out = tmp_path / "stick.parquet"
    arguments = ["vectors", texts, "--model", "Tiny", "--word", "stick", "--layer", "1"]
    assert "3 vectors of" in output(*arguments, "--out", out)
    table = pq.read_table(out)
    assert table["id"].to_pylist() == ["7", "9", "9"] and table["start"].to_pylist() == [15, 0, 11]
    mine = out.with_suffix(".csv")
    mine.write_text("a file of the user")
    output(*arguments, "--out", out.with_suffix(".npy"))
    assert np.load(out.with_suffix(".npy")).shape[0] == 3
    assert mine.read_text() == "a file of the user"
    assert out.with_suffix(".texts.csv").read_text().count("stick") > 3
    assert "Use --word" in refusal(*arguments[:4], "--layer", "1", "--out", out)
    for option in ("--max-length", "--batch-size"):  # one text is computed at a time
        assert f"{option} is a property" in refusal(*arguments, option, "9", "--out", out)
    assert "no layer 99" in refusal(*arguments[:-1], "99", "--out", out)
