"""Folder names from any input."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import StudioError
from engine.files.home import Home, folder_name, free_folder, next_version
from tests.often import tries

HOSTILE = [
    *("../x", "/abs", "C:\\x", "CON", "con.txt", "a/b", "x" * 300, "a\nb", "", ".", "..", " "),
    *("é" * 200, ".hidden", "a\0b", "-", "~", "$(rm -rf)", "日本語", "nul", "a:b", "\u202egnp.exe"),
]


@given(st.one_of(st.text(), st.sampled_from(HOSTILE)))
@tries(100)
def test_every_name_becomes_one_safe_folder(name):
    safe = folder_name(name)
    assert Path(safe).name == safe and safe not in ("", ".", "..")
    assert len(safe.encode("utf-8")) <= 130 and "\0" not in safe
    assert not any(c in safe for c in '/\\:*?"<>|\n\r\t')
    assert safe.split(".")[0].lower() not in ("con", "nul", "prn", "aux")


def test_two_hundred_hostile_names_give_two_hundred_folders(tmp_path):
    for number in range(200):
        path = free_folder(tmp_path, HOSTILE[number % len(HOSTILE)])
        assert path.parent == tmp_path
        path.mkdir()
    assert len(list(tmp_path.iterdir())) == 200
    for expected in ("mine", "mine-2", "mine-3"):
        path = free_folder(tmp_path, "mine")
        assert path.name == expected
        path.mkdir()


def test_a_home_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "mine"))
    home = Home()
    home.make()
    assert home.root == tmp_path / "mine"
    assert home.root.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_an_existing_folder_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o1777)
    home = Home(tmp_path)
    home.make()
    assert tmp_path.stat().st_mode & 0o7777 == 0o1777
    assert all(f.stat().st_mode & 0o077 == 0 for f in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 500, "b\udcff"])
def test_a_path_unusable_for_the_record_is_refused(tmp_path, name):
    with pytest.raises(StudioError, match="home folder"):
        Home(tmp_path / name).make()
    assert list(tmp_path.iterdir()) == []


def test_the_next_version_comes_after_the_newest(tmp_path):
    assert next_version(tmp_path / "films") == 1
    for name in ("1", "10", ".11.tmp", "notes"):
        (tmp_path / "films" / name).mkdir(parents=True)
    assert next_version(tmp_path / "films") == 11
