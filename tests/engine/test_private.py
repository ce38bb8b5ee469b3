"""Files of the program are private under any umask; outputs get the user's permissions."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from engine.files.atomic_write import UMASK
from engine.runs.folder import RunFolder
from engine.runs.launch import CODE, environment
from tests.engine.training import small

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")

WITH_UMASK = "import os, sys; os.umask(int(sys.argv[1], 8)); os.execv(sys.argv[2], sys.argv[2:])"
OPEN_AND_CLOSE = """
from app.shell import opening

class Visited(opening.MainWindow):
    def begin(self):
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()

opening.MainWindow = Visited
raise SystemExit(opening.run_window())
"""


def run(umask: str, code: str) -> None:
    command = [sys.executable, "-c", WITH_UMASK, umask, sys.executable, "-c", code]
    own = {name: value for name, value in environment().items() if name != UMASK}
    done = subprocess.run(command, cwd=CODE, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run_here(umask: int, *words: object) -> None:
    """Run a command in this process, as if started with this umask."""
    os.environ.pop(UMASK, None)
    os.umask(umask)
    assert main([str(word) for word in words]) == 0


def readable_by_others(folder: Path) -> list[str]:
    return [
        str(f.relative_to(folder))
        for f in folder.rglob("*")
        if not stat.S_ISSOCK(f.lstat().st_mode) and f.stat().st_mode & 0o077
    ]


def test_only_the_user_can_read_a_home_and_runs(tmp_path, home, monkeypatch):
    home.root.chmod(0o755)
    job = tmp_path / "job.json"
    job.write_text(small.classifying(tmp_path, epochs=1).model_dump_json())
    train = f"assert main({['train', str(job), '--into', str(home.runs / 'one')]}) == 0"
    run("000", f"from app.__main__ import main\n{train}\n{OPEN_AND_CLOSE}")
    assert (home.runs / "one" / "events.jsonl").is_file() and home.settings.is_file()
    assert readable_by_others(home.root) == []
    assert home.root.stat().st_mode & 0o777 == 0o755
    model = RunFolder(home.runs / "one").checkpoint_folders()[-1]
    monkeypatch.setenv(UMASK, "")  # restored at the end
    run_here(0o022, "export", model, "--to", tmp_path / "out")
    out = tmp_path / "out.csv"
    run_here(0o027, "predict", tmp_path / "sentences.csv", "--model", model, "--out", out)
    assert {f.stat().st_mode & 0o777 for f in (tmp_path / "out").rglob("*") if f.is_file()} == {
        0o644
    }
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755
    assert out.stat().st_mode & 0o777 == 0o640
