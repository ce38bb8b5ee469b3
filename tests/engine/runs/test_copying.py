import os
from pathlib import Path

import pytest

from engine.durable import clear_leftovers
from engine.errors import StudioError
from engine.runs.copying import copy_run
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker


@pytest.fixture
def source(tmp_path: Path) -> RunFolder:
    (tmp_path / "runs").mkdir()
    folder = RunFolder.create(tmp_path / "elsewhere" / "run", fake_worker.job())
    assert fake_worker.main(folder) == 0
    return folder


def test_a_run_is_copied_with_all_that_counts(source: RunFolder, tmp_path: Path) -> None:
    source.ask_stop()
    source.cache.mkdir()
    copy = copy_run(source.path, tmp_path / "runs")
    assert copy.job() == source.job() and copy.created() == source.created()
    assert copy.events_after(0) == source.events_after(0)
    assert len(copy.checkpoint_folders()) == len(source.checkpoint_folders()) == 3
    assert not copy.stop_wanted() and not copy.cache.exists() and not copy.lock_file.exists()
    again = copy_run(source.path, tmp_path / "runs")
    assert again.path != copy.path


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of POSIX")
def test_links_and_pipes_are_left_out(source: RunFolder, tmp_path: Path) -> None:
    (source.path / "secret").symlink_to(tmp_path)
    os.mkfifo(source.checkpoints / "pipe")
    copy = copy_run(source.path, tmp_path / "runs")
    assert not (copy.path / "secret").is_symlink()
    assert not (copy.checkpoints / "pipe").exists()


def test_a_run_in_training_is_not_copied(source: RunFolder, tmp_path: Path) -> None:
    with source.lock(), pytest.raises(StudioError, match="being trained"):
        copy_run(source.path, tmp_path / "runs")


def test_what_is_no_run_leaves_nothing_behind(source: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="not the folder of a run"):
        copy_run(tmp_path, tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_copy_that_fails_leaves_nothing_behind(source: RunFolder, tmp_path: Path) -> None:
    source.log.write_text("x")
    source.log.chmod(0)
    with pytest.raises(StudioError, match="could not be copied"):
        copy_run(source.path, tmp_path / "runs")
    clear_leftovers(tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []
