"""Stored data sets by the headless commands: checked and cured."""

import json
from pathlib import Path

import pytest

from engine.data.datasets.store import open_dataset
from engine.home import Home
from tests.engine.cli.test_commands import output, refusal
from tests.engine.data.checks.test_checks import CASES, plain_rows, stored

WRONG = ("leaked_rows", "label_spellings", "exact_duplicates")


@pytest.fixture
def films(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a data set “films” of the home, with one version."""
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    made = stored(tmp_path, plain_rows() + [row for name in WRONG for row in CASES[name]])
    datasets = Home().datasets
    datasets.mkdir(parents=True)
    made.folder.parent.rename(datasets / "films")
    return datasets / "films"


def test_a_stored_data_set_is_checked_by_name_or_folder(
    capsys: pytest.CaptureFixture[str], films: Path
) -> None:
    by_name = json.loads(output(capsys, "check", "films", "--json"))
    for words in ("films/1", str(films), str(films / "1")):
        assert json.loads(output(capsys, "check", words, "--json")) == by_name
    assert by_name["version"] == 1 and by_name["rows"]["test"] == 1
    found = {one["check"]: one for one in by_name["findings"]}
    assert set(WRONG) <= set(found)
    assert list(found["leaked_rows"]["cures"]) == ["drop", "move"]
    assert found["leaked_rows"]["lines"][:2] == [61, 62]
    printed = output(capsys, "check", "films")
    assert "cures: leaked_rows drop (Drop them from training)" in printed


@pytest.mark.parametrize("way", ["leaked_rows drop", "leaked_rows move", "label_spellings merge"])
def test_a_cure_makes_the_next_version(
    capsys: pytest.CaptureFixture[str], films: Path, way: str
) -> None:
    before = open_dataset(films / "1").spec
    made = json.loads(output(capsys, "cure", "films", *way.split(), "--json"))
    assert (made["version"], made["made_from"], made["folder"]) == (2, 1, str(films / "2"))
    assert len(made["changes"]) == 1
    left = json.loads(output(capsys, "check", "films", "--json"))
    assert left["version"] == 2 and left["changes"] == made["changes"]
    assert way.partition(" ")[0] not in {one["check"] for one in left["findings"]}
    assert open_dataset(films / "1").spec == before, "going back is naming the older version"
    printed = output(capsys, "cure", "films/1", "exact_duplicates", "drop")
    assert "version 3 of “x”, made from version 1" in printed


def test_a_cure_that_cannot_be_is_refused(
    capsys: pytest.CaptureFixture[str], films: Path, tmp_path: Path
) -> None:
    assert "no check “ducks”" in refusal(capsys, "cure", "films", "ducks", "drop")
    assert "finds nothing" in refusal(capsys, "cure", "films", "mixed_scripts", "drop-mixed")
    said = refusal(capsys, "cure", "films", "leaked_rows", "repair")
    assert "no cure “repair”" in said and "Choose one of drop, move." in said
    assert "no stored data set songs" in refusal(capsys, "cure", "songs", "leaked_rows", "drop")
    assert "how a file is read" in refusal(capsys, "check", "films", "--text=text")
    (films / "1").rename(tmp_path / "copy")
    said = refusal(capsys, "cure", str(tmp_path / "copy"), "leaked_rows", "drop")
    assert "not a version of a data set" in said
