"""A folder of texts is read as a document for each file and a label for each sub-folder."""

import json
from pathlib import Path

import pytest

from engine.cli import main
from engine.config.dataset import Mapping, Split
from engine.data.datasets.collecting import source_digest
from engine.data.formats.reading import TableReader, preview, read, recognise
from engine.data.formats.sources import holds_texts, is_text_folder
from engine.errors import BadFile
from tests.engine.data.importing import import_files


def write(folder: Path, **texts: str) -> Path:
    """Write .txt files; “__” in a name is a slash."""
    for name, text in texts.items():
        file = folder / f"{name.replace('__', '/')}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return folder


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """The layout of aclImdb."""
    texts = {f"{label}__{n}": f"{label} film {n}\r\n" for label in ("neg", "pos") for n in range(4)}
    write(tmp_path / "films" / "train", **texts, unsup__0="who knows", urls_pos="http")
    write(tmp_path / "films" / "test", **texts)
    return tmp_path / "films"


def rows(folder: Path) -> tuple[TableReader, list[tuple[str, ...]]]:
    table = read(folder, recognise(folder).reading)
    return table, [row.cells for row in table]


def test_sub_folders_become_labels(films):
    guess = recognise(films / "train")
    assert guess.reading.format == "folder"
    assert guess.mapping == Mapping(text="text", label="label")
    table, cells = rows(films / "train")
    assert table.columns == ("text", "label", "file")
    assert cells[0] == ("neg film 0", "neg", "neg/0.txt")
    assert [label for _, label, _ in cells] == ["neg"] * 4 + ["pos"] * 4
    notes = " ".join(table.notes)
    assert "“unsup” have no label" in notes and "outside the sub-folders" in notes
    assert preview(films / "train", guess.reading, rows=3).rows[2].cells[0] == "neg film 2"


def test_split_folders_are_selected_one_by_one(films, tmp_path):
    assert holds_texts(films) and not is_text_folder(films)
    with pytest.raises(BadFile, match="test, train are splits of a data set"):
        rows(films)
    sources = {"train": films / "train", "test": films / "test"}
    dataset = import_files(sources, tmp_path / "data", Split(validation=0.25))
    spec = dataset.spec
    assert spec.rows == {"train": 6, "validation": 2, "test": 8}
    assert spec.labels == {"neg": 8, "pos": 8}
    assert spec.source_sha256[str(films / "train")] == source_digest(films / "train")
    assert set(dataset.rows("validation").labels) == {"neg", "pos"}


def test_unlabelled_documents_are_found_at_any_depth(tmp_path):
    folder = write(tmp_path / "books", a="one\n\ntwo", b="  ", deep__down__c="three", README="no")
    (folder / ".hidden").mkdir()
    write(folder / ".hidden", d="four")
    table, cells = rows(folder)
    assert table.columns == ("text", "file")
    assert cells == [("one\n\ntwo", "a.txt"), ("three", "deep/down/c.txt")]
    assert "File without text skipped: once, in line 2" in table.notes[0]


def test_a_folder_with_many_other_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.folder.MAX_OTHERS", 20)
    folder = write(tmp_path / "disk", a="one", **{f"etc{n}__x__README": "no" for n in range(9)})
    with pytest.raises(BadFile, match="more than 20 files and folders that are not texts"):
        rows(folder)


def test_a_long_text_becomes_several_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.folder.MAX_TEXT_CHARACTERS", 20)
    table, cells = rows(write(tmp_path / "x", a="word\n" * 10))
    assert "".join(text for text, _ in cells).replace("\n", "") == "word" * 10
    assert len(cells) > 1 and all(len(text) <= 20 for text, _ in cells)
    assert "several rows" in table.notes[0]


def test_a_file_that_is_not_text_is_reported(tmp_path):
    folder = write(tmp_path / "x", a="fine", b="also")
    (folder / "b.txt").write_bytes(bytes(range(256)) * 40)
    with pytest.raises(BadFile, match=r"b\.txt: this is a binary file"):
        rows(folder)
    with pytest.raises(BadFile, match="no texts in it"):
        recognise(write(tmp_path / "empty", README="x"))
    reading = recognise(write(tmp_path / "y", a="fine")).reading
    with pytest.raises(BadFile, match="not a folder of texts"):
        read(folder / "a.txt", reading)


@pytest.mark.parametrize(
    "names, expected",
    [
        (("neg__a", "pos__a"), True),
        (("only__a",), False),
        (("train__a", "validation__a"), False),
        (("train", "validation", "test"), False),
        (("a", "b", "c", "d"), True),
    ],
)
def test_documents_are_distinguished_from_splits(tmp_path, names, expected):
    folder = write(tmp_path / "x", **dict.fromkeys(names, "text"))
    assert is_text_folder(folder) == expected


def test_changing_any_file_changes_the_digest(tmp_path):
    folder = write(tmp_path / "x", a="one", b__c="two")
    before = source_digest(folder)
    assert before == source_digest(folder)
    write(folder, b__c="twO")
    assert source_digest(folder) != before
    write(folder, b__c="two", d="")
    assert source_digest(folder) != before


def test_each_file_is_read_in_its_encoding_with_a_note(tmp_path):
    folder = write(tmp_path / "mails", **{f"{n:02}": f"a mail ☂ number {n}" for n in range(20)})
    (folder / "03.txt").write_bytes("Grüße aus Köln, für Zoë".encode("cp1252"))
    (folder / "04.txt").write_bytes("ein Gruß ☂".encode("utf-16"))
    (folder / "05.txt").write_bytes("plain letters without a mark".encode("utf-16-le"))
    (folder / "06.txt").write_bytes("fine ☂☂☂☂☂☂☂☂☂☂☂☂ but one \xff".encode()[:-2] + b"\xff")
    table, cells = rows(folder)
    texts = [text for text, _ in cells]
    assert len(texts) == 20
    assert texts[2] == "a mail ☂ number 2" and texts[3] == "Grüße aus Köln, für Zoë"
    assert texts[4] == "ein Gruß ☂" and texts[5] == "plain letters without a mark"
    assert texts[6].endswith("one �")
    notes = " ".join(table.notes)
    assert "File not in utf-8, read as cp1252: once, in line 4." in notes
    assert "read as utf-16" in notes and "“�”: once, in line 7" in notes


def test_the_first_file_does_not_set_the_encoding_of_the_others(tmp_path):
    folder = write(tmp_path / "mails", b="schöne Grüße ☂", c="noch mehr Grüße")
    (folder / "a.txt").write_bytes("schöne Grüße".encode("latin-1"))
    _, cells = rows(folder)
    assert [text for text, _ in cells] == ["schöne Grüße", "schöne Grüße ☂", "noch mehr Grüße"]


def test_the_encoding_can_be_set(tmp_path, capsys):
    table, folder = tmp_path / "table.csv", tmp_path / "mails"
    folder.mkdir()
    text = "καλημέρα κόσμε"
    table.write_bytes(f"text,label\n{text},a\n{text},b\n".encode("cp1253"))
    for name in "abcd":
        (folder / f"{name}.txt").write_bytes(text.encode("cp1253"))
    for source in (table, folder):
        guess = recognise(source, encoding="cp1253")
        assert next(iter(read(source, guess.reading))).cells[0] == text
        assert main(["check", str(source), "--encoding", "cp1253", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["encoding"] == "cp1253"
        assert main(["job", "--data", str(source), "--encoding", "cp1253"]) == 0
        assert json.loads(capsys.readouterr().out)["data"]["reading"]["encoding"] == "cp1253"
        assert main(["check", str(source), "--encoding", "klingon"]) == 1
        assert "klingon" in capsys.readouterr().err
