"""The window accepts every format of `FORMATS`, and a third-party one."""

from pathlib import Path

from PySide6.QtWidgets import QWidget

from app import drops
from app.pages.data.importing.sections import FormatSection
from app.pages.data.importing.state import ImportState
from app.pages.data.view import file_patterns
from engine.data.formats import FORMATS
from engine.data.formats.sources import data_files
from tests.engine.data.formats.tagged_lines import added_format


def assert_accepted(folder: Path) -> None:
    """Every suffix is offered, may be dropped, and is found in a folder."""
    suffixes = [suffix for format_ in FORMATS.values() for suffix in format_.suffixes]
    for suffix in dict.fromkeys(suffixes):
        file = folder / f"reviews{suffix}"
        file.write_text("x")
        assert f"*{suffix}" in file_patterns().split()
        assert drops.page_for([file]) == "data"
        assert data_files([folder]) == [file]
        file.unlink()


def test_the_window_accepts_every_format(tmp_path):
    assert_accepted(tmp_path)


def test_the_window_accepts_a_third_party_format(qtbot, tmp_path, studio):
    with added_format() as form:
        assert_accepted(tmp_path)
        parent = QWidget()
        qtbot.addWidget(parent)
        controls = FormatSection(ImportState(studio, studio.datasets), parent)
        index = controls.format.findData(form.name)
        assert controls.format.itemText(index) == form.title
