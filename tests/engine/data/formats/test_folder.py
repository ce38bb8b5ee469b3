"""A folder of texts is data: a document for each file, a label for each sub-folder."""

from pathlib import Path

import pytest

from engine.data.datasets.collecting import digest_of
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset, resolve
from engine.data.formats.reading import TableReader, preview, read, recognise
from engine.data.formats.sources import holds_texts, is_text_folder
from engine.errors import BadFile
from engine.spec.dataset import FileData, Mapping, Split


def made(folder: Path, **texts: str) -> Path:
    """Files by their names; “__” stands for a slash, and all end in .txt."""
    for name, text in texts.items():
        file = folder / f"{name.replace('__', '/')}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return folder


@pytest.fixture
def films(tmp_path: Path) -> Path:
    """The form of aclImdb."""
    part = {f"{label}__{n}": f"{label} film {n}\r\n" for label in ("neg", "pos") for n in range(4)}
    made(tmp_path / "films" / "train", **part, unsup__0="who knows", urls_pos="http")
    made(tmp_path / "films" / "test", **part)
    return tmp_path / "films"


def rows(folder: Path) -> tuple[TableReader, list[tuple[str, ...]]]:
    table = read(folder, recognise(folder).reading)
    return table, [row.cells for row in table]


def test_a_sub_folder_is_a_label(films):
    found = recognise(films / "train")
    assert found.reading.format == "folder"
    assert found.mapping == Mapping(text="text", label="label")
    table, cells = rows(films / "train")
    assert table.columns == ("text", "label", "file")
    assert cells[0] == ("neg film 0", "neg", "neg/0.txt")
    assert [label for _, label, _ in cells] == ["neg"] * 4 + ["pos"] * 4
    said = " ".join(table.notes)
    assert "“unsup” have no label" in said and "outside the sub-folders" in said
    assert preview(films / "train", found.reading, rows=3).rows[2].cells[0] == "neg film 2"


def test_parts_of_a_set_are_chosen_one_by_one(films, tmp_path):
    assert holds_texts(films) and not is_text_folder(films)
    with pytest.raises(BadFile, match="test, train are splits of a data set"):
        rows(films)
    found = recognise(films / "train")
    assert found.mapping is not None
    sources = {"train": films / "train", "test": films / "test"}
    spec = import_dataset(
        "films", sources, found.reading, found.mapping, Split(validation=0.25), tmp_path / "data"
    )
    assert spec.rows == {"train": 6, "validation": 2, "test": 8}
    assert spec.labels == {"neg": 8, "pos": 8}
    assert spec.source_sha256[str(films / "train")] == digest_of(films / "train")
    assert set(open_dataset(tmp_path / "data").rows("validation").labels) == {"neg", "pos"}


def test_a_job_takes_a_copy_of_the_folder(films, tmp_path):
    source = FileData(path=films / "train", split=Split(validation=0))
    assert len(resolve(source, tmp_path / "copy").rows("train")) == 8


def test_documents_without_labels_lie_anywhere_below(tmp_path):
    folder = made(tmp_path / "books", a="one\n\ntwo", b="  ", deep__down__c="three", README="no")
    (folder / ".hidden").mkdir()
    made(folder / ".hidden", d="four")
    table, cells = rows(folder)
    assert table.columns == ("text", "file")
    assert cells == [("one\n\ntwo", "a.txt"), ("three", "deep/down/c.txt")]
    assert "File without text skipped: once, in line 2" in table.notes[0]


def test_a_long_text_becomes_several_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.folder.MAX_TEXT_CHARACTERS", 20)
    table, cells = rows(made(tmp_path / "x", a="word\n" * 10))
    assert "".join(text for text, _ in cells).replace("\n", "") == "word" * 10
    assert len(cells) > 1 and all(len(text) <= 20 for text, _ in cells)
    assert "several rows" in table.notes[0]


def test_a_file_that_is_no_text_is_named(tmp_path):
    folder = made(tmp_path / "x", a="fine", b="also")
    (folder / "b.txt").write_bytes(b"caf\xe9 \xff\xfe")
    with pytest.raises(BadFile, match=r"b\.txt, line 1"):
        rows(folder)
    with pytest.raises(BadFile, match="no texts in it"):
        recognise(made(tmp_path / "empty", README="x"))
    reading = recognise(made(tmp_path / "y", a="fine")).reading
    with pytest.raises(BadFile, match="not a folder of texts"):
        read(folder / "a.txt", reading)


@pytest.mark.parametrize(
    "names, is_one",
    [
        (("neg__a", "pos__a"), True),
        (("only__a",), False),
        (("train__a", "validation__a"), False),
        (("train", "validation", "test"), False),
        (("a", "b", "c", "d"), True),
    ],
)
def test_documents_are_told_from_parts(tmp_path, names, is_one):
    folder = made(tmp_path / "x", **dict.fromkeys(names, "text"))
    assert is_text_folder(folder) == is_one


def test_a_change_anywhere_in_it_changes_its_digest(tmp_path):
    folder = made(tmp_path / "x", a="one", b__c="two")
    before = digest_of(folder)
    assert before == digest_of(folder)
    made(folder, b__c="twO")
    assert digest_of(folder) != before
    made(folder, b__c="two", d="")
    assert digest_of(folder) != before
