import os
from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.files.atomic_write import clear_leftovers
from engine.messages.events import Noted
from engine.progress import Cancelled
from engine.runs.copying import copy_run
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker


@pytest.fixture
def source(tmp_path: Path) -> RunFolder:
    (tmp_path / "runs").mkdir()
    folder = RunFolder.create(tmp_path / "elsewhere" / "run", fake_worker.job())
    assert fake_worker.main(folder) == 0
    return folder


def test_a_run_is_copied_without_temporary_files(source, tmp_path):
    source.request_stop()
    source.cache.mkdir()
    copy = copy_run(source.path, tmp_path / "runs")
    assert copy.job() == source.job() and copy.created() == source.created()
    assert copy.events_after(0) == source.events_after(0)
    assert len(copy.checkpoint_folders()) == len(source.checkpoint_folders()) == 3
    assert not copy.stop_requested() and not copy.cache.exists() and not copy.lock_file.exists()


def test_copies_neither_overwrite_nor_duplicate(source, tmp_path):
    runs = tmp_path / "runs"
    (runs / "run").mkdir()
    copy = copy_run(source.path, runs)
    assert copy.path.name == "run-2"
    for folder in (source.path, copy.path):
        with pytest.raises(StudioError, match=r"already in the list of runs, in the folder run-2"):
            copy_run(folder, runs)
    source.append(Noted(text="trained on"))
    assert copy_run(source.path, runs).path.name == "run-3"


def test_a_copy_reports_progress_and_can_be_cancelled(source, tmp_path):
    progress: list[tuple[int, int]] = []
    copy_run(source.path, tmp_path / "runs", lambda done, total: progress.append((done, total)))
    assert progress == sorted(progress) and progress[-1][0] == progress[-1][1] > 0
    (tmp_path / "others").mkdir()
    with pytest.raises(Cancelled):
        copy_run(source.path, tmp_path / "others", cancelled=lambda: True)
    assert not any((tmp_path / "others").iterdir())


def test_a_run_of_a_newer_program_is_refused(source, tmp_path):
    with open(source.events_file, "ab") as file:
        file.write(b'{"at":"2030-01-01T00:00:00Z","kind":"dreamed"}\n')
    with pytest.raises(
        StudioError, match=r"newer BERT Studio\. This version does not understand 1"
    ):
        copy_run(source.path, tmp_path / "runs")
    text = source.spec_file.read_text()
    source.spec_file.write_text(text.replace('"name"', '"dreams": 1, "name"', 1))
    with pytest.raises(StudioError, match=r"newer BERT Studio\. Its job has settings"):
        copy_run(source.path, tmp_path / "runs")
    assert not any((tmp_path / "runs").iterdir())


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of POSIX")
def test_links_and_pipes_are_left_out(source, tmp_path):
    (source.path / "secret").symlink_to(tmp_path)
    os.mkfifo(source.checkpoints / "pipe")
    copy = copy_run(source.path, tmp_path / "runs")
    assert not (copy.path / "secret").is_symlink()
    assert not (copy.checkpoints / "pipe").exists()


def test_a_run_in_training_is_not_copied(source, tmp_path):
    with source.lock(), pytest.raises(StudioError, match="is training"):
        copy_run(source.path, tmp_path / "runs")


def test_a_folder_without_a_run_leaves_nothing_behind(source, tmp_path):
    with pytest.raises(StudioError, match="not a run folder"):
        copy_run(tmp_path, tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_failed_copy_leaves_nothing_behind(source, tmp_path):
    source.log.write_text("x")
    source.log.chmod(0)
    with pytest.raises(StudioError, match="could not be copied"):
        copy_run(source.path, tmp_path / "runs")
    clear_leftovers(tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []
