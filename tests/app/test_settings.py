"""Preferences are saved, and a damaged file never prevents the start."""

import json
import random

import pytest
from pydantic import ValidationError
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSplitter

from app.settings import Preferences, Settings


def test_a_preference_is_saved_and_an_invalid_value_refused(qtbot, tmp_path):
    file = tmp_path / "settings.json"
    settings = Settings(file)
    with qtbot.waitSignal(settings.changed) as signal:
        settings.set("theme", "dark")
    assert signal.args == ["theme"]
    qtbot.waitUntil(file.exists)
    assert Settings(file).preferences.theme == "dark"
    settings = Settings(tmp_path / "settings.json")
    settings.set_state("page", "runs")
    settings.close()
    assert Settings(tmp_path / "settings.json").get_state("page") == "runs"
    settings = Settings(tmp_path / "settings.json")
    with pytest.raises(ValidationError):
        settings.set("threads", -1)
    assert settings.preferences.threads == 0


def test_the_sizes_of_a_splitter_are_restored(qtbot, tmp_path):
    file = tmp_path / "settings.json"

    def make_splitter(settings: Settings) -> QSplitter:
        splitter = QSplitter(Qt.Orientation.Horizontal)
        qtbot.addWidget(splitter)
        for text in ("left", "right"):
            splitter.addWidget(QLabel(text))
        splitter.resize(500, 100)
        settings.remember(splitter, "split")
        splitter.show()
        return splitter

    settings = Settings(file)
    first = make_splitter(settings)
    first.setSizes([100, 400])
    first.splitterMoved.emit(100, 1)
    sizes = first.sizes()
    settings.close()
    assert make_splitter(Settings(file)).sizes() == sizes


def test_a_damaged_file_does_not_prevent_the_start(qtbot, tmp_path):
    file = tmp_path / "settings.json"
    settings = Settings(file)
    settings.set("theme", "dark")
    settings.set_state("page", "runs")
    settings.close()
    content = file.read_bytes()
    rng = random.Random(1)
    for _ in range(100):
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 5)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        file.write_bytes(bytes(damaged[: rng.randrange(len(damaged) + 1)]))
        settings = Settings(file)
        assert isinstance(settings.preferences, Preferences)
        settings.get_state("page")


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"preferences": 3}', b'{"places": []}'],
    ids=["empty", "list", "null", "bytes", "deep", "number", "no places"],
)
def test_a_damaged_file_is_renamed(qtbot, tmp_path, content):
    file = tmp_path / "settings.json"
    file.write_bytes(content)
    settings = Settings(file)
    assert settings.was_damaged and settings.preferences == Preferences()
    assert file.with_name("settings.json.bad").read_bytes() == content


def test_fields_of_a_newer_version_are_ignored(qtbot, tmp_path):
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"preferences": {"theme": "dark", "colour": "red"}, "more": 1}))
    settings = Settings(file)
    assert settings.preferences.theme == "dark" and not settings.was_damaged
