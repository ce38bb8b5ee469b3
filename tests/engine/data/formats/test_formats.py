"""`FORMATS` is the only list of formats."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cli import main
from engine.config.dataset import Reading
from engine.data.formats import FORMATS
from engine.data.formats.reading import get_format, preview, read, recognise
from engine.data.formats.rows import Format
from engine.data.formats.sources import (
    data_suffixes,
    format_titles,
    holds_texts,
    is_data_file,
    is_text_folder,
)
from engine.errors import StudioError
from tests.engine.data.formats.tagged_lines import added_format
from tests.engine.data.importing import import_files

FILE_FORMATS = [name for name, form in FORMATS.items() if form.suffixes]


@pytest.fixture
def tagged() -> Iterator[Format]:
    with added_format() as form:
        yield form


def reviews(folder: Path) -> Path:
    file = folder / "reviews.tagged"
    file.write_text("[good] a lovely film\n[bad] a dull story\n" * 20, encoding="utf-8")
    return file


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_a_name_and_a_title(name):
    form = FORMATS[name]
    assert form.name == name and form.title and bool(form.suffixes) is (form.open_folder is None)
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in form.suffixes)
    assert get_format(Reading(format=name)) is form


@pytest.mark.parametrize("name", FILE_FORMATS)
def test_every_format_is_accepted_and_listed(name, capsys):
    form = FORMATS[name]
    for suffix in form.suffixes:
        assert suffix in data_suffixes()
        assert is_data_file(Path(f"reviews{suffix.upper()}"))
        assert not is_data_file(Path(f"README{suffix}"))
    assert form.title in format_titles()
    assert main(["job", "--help"]) == 0
    assert form.title in " ".join(capsys.readouterr().out.split())


def test_a_folder_with_other_formats_is_not_a_text_folder(tmp_path):
    for number in range(5):
        (tmp_path / f"{number}.txt").write_text("a text")
    assert is_text_folder(tmp_path) and holds_texts(tmp_path)
    for name in FILE_FORMATS:
        for suffix in set(FORMATS[name].suffixes) - set(FORMATS["text"].suffixes):
            other = tmp_path / f"data{suffix}"
            other.write_text("x")
            assert not is_text_folder(tmp_path), suffix
            other.unlink()


def test_an_unknown_format_is_reported(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a text")
    with pytest.raises(StudioError, match="no file format “punched cards”"):
        read(file, Reading(format="punched cards"))


def test_an_added_format_is_recognised_read_and_imported(tmp_path, tagged):
    file = reviews(tmp_path)
    guess = recognise(file)
    assert guess.reading.format == tagged.name and guess.mapping is not None
    table = preview(file, guess.reading)
    assert table.columns == ("text", "label") and table.rows[0].cells == ("a lovely film", "good")
    dataset = import_files(file, tmp_path / "v")
    assert dataset.spec.labels == {"bad": 20, "good": 20}
    rows = dataset.rows("train")
    assert set(rows.texts) == {"a lovely film", "a dull story"}
    assert len(rows.texts) == 40, "equal texts stay together, and train keeps a text of each label"
