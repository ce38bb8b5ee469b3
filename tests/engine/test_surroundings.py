"""Effects on the system: private files, no network, no port, no second open of the record."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from engine.export import exporting, reloading
from engine.files.atomic_write import UMASK
from engine.files.shipped import sample_data
from engine.runs.folder import RunFolder
from engine.runs.launch import CODE, environment
from tests.engine.training import small

TOKEN = "hf_CANARY0123456789"


OPEN_AND_CLOSE = """
from app.shell import opening

class ClosingWindow(opening.MainWindow):
    def begin(self):
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()

opening.MainWindow = ClosingWindow
raise SystemExit(opening.run_window())
"""


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in environment().items() if name != UMASK}
    return subprocess.run(
        command, cwd=CODE, env=inherited | variables, capture_output=True, text=True, timeout=200
    )


def strace_prefix(out: Path) -> tuple[str, ...]:
    """A command prefix that logs the network calls of the command and its children to `out`."""
    out.touch()
    if shutil.which("strace") is None:
        return ()
    # other calls are not slowed down
    traced = ("--seccomp-bpf", "-e", "trace=connect,bind,listen,sendto", "-o", str(out))
    command = ("strace", "-f", "-qq", *traced)
    return () if run(*command, "true").returncode else command


def readable_by_others(folder: Path) -> list[str]:
    return [
        str(f.relative_to(folder))
        for f in folder.rglob("*")
        if not stat.S_ISSOCK(f.lstat().st_mode) and f.stat().st_mode & 0o077
    ]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_a_home_is_private_and_nothing_leaves_it(tmp_path, home, monkeypatch):
    """A training and the window, under any umask."""
    home.root.chmod(0o755)
    job, calls = tmp_path / "job.json", tmp_path / "calls"
    job.write_text(small.classifying(tmp_path, epochs=1).model_dump_json())
    train = f"assert main({['train', str(job), '--into', str(home.runs / 'one')]}) == 0"
    code = f"import os\nos.umask(0)\nfrom app.__main__ import main\n{train}\n{OPEN_AND_CLOSE}"
    result = run(*strace_prefix(calls), sys.executable, "-c", code, HF_TOKEN=TOKEN)
    assert result.returncode == 0, result.stderr
    assert [line for line in calls.read_text().splitlines() if "AF_INET" in line] == []
    written = [file for file in home.root.rglob("*") if file.is_file()]
    assert {home.runs / "one" / "events.jsonl", home.settings} <= set(written)
    assert not [file for file in written if TOKEN.encode() in file.read_bytes()]
    assert readable_by_others(home.root) == []
    assert home.root.stat().st_mode & 0o777 == 0o755
    model = RunFolder(home.runs / "one").checkpoint_folders()[-1]
    monkeypatch.setenv(UMASK, "")  # restored at the end
    monkeypatch.setattr(exporting, "reload", lambda request, _: reloading.load_and_run(request))
    run_with_umask(0o022, "export", model, "--to", tmp_path / "out")
    out = tmp_path / "out.csv"
    run_with_umask(0o027, "predict", tmp_path / "sentences.csv", "--model", model, "--out", out)
    modes = {f.stat().st_mode & 0o777 for f in (tmp_path / "out").rglob("*") if f.is_file()}
    assert modes == {0o644}
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755
    assert out.stat().st_mode & 0o777 == 0o640


def run_with_umask(umask: int, *arguments: object) -> None:
    """Run a command in this process, as if started with this umask."""
    os.environ.pop(UMASK, None)
    os.umask(umask)
    assert main([str(argument) for argument in arguments]) == 0


FILL_MASK = """
import app.__main__
assert app.__main__.main(["fill", "a [MASK] film", "--json"]) == 0
"""


def test_neither_a_network_nor_a_decimal_point_is_needed(tmp_path, home, capsys):
    """A prediction and a job are printed the same without a network and with a decimal comma."""
    offline = ("unshare", "-rn") if shutil.which("unshare") else ()
    if offline and run(*offline, sys.executable, "-c", "pass").returncode:
        offline = ()  # the network may not be removed
    (numbers := tmp_path / "numbers").write_text('LC_NUMERIC\ncopy "de_DE"\nEND LC_NUMERIC\n')
    german = {"LOCPATH": str(tmp_path), "LC_ALL": "", "LC_NUMERIC": "de_DE.UTF-8"}
    if shutil.which("localedef"):  # all categories would take a second
        run("localedef", "-ci", str(numbers), "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8"))
    code = FILL_MASK + f"assert app.__main__.main({['job', '--data', str(sample_data())]}) == 0"
    result = run(*offline, sys.executable, "-c", code, **german)
    assert result.returncode == 0, result.stderr
    capsys.readouterr()
    exec(code)
    assert capsys.readouterr().out == result.stdout != "" and '"predictions"' in result.stdout


ONLY_BY_SQLITE = """
import sys
from engine.files.home import Home
from engine.record.backups import back_up
from engine.record.opening import open_record
from engine.record.rebuild import rebuild, refill
home = Home()
home.make()
record = open_record(home.record, home.backups)
opened = []
def record_open(event, arguments):
    if event == "open" and "studio.db" in str(arguments[0]):
        opened.append(arguments[0])
sys.addaudithook(record_open)
refill(record, home)
back_up(home.record, home.backups, "daily")
rebuild(home)
record.check_moved()
record.close()
assert opened == [], opened
"""


def test_nothing_but_sqlite_opens_the_record_while_it_is_in_use(home):
    """A plain open and close in this process would drop its locks."""
    result = run(sys.executable, "-c", ONLY_BY_SQLITE, BERT_STUDIO_HOME=str(home.root))
    assert result.returncode == 0, result.stderr


def test_no_process_is_forked():
    """A fork would share the record, torch's threads and Qt."""
    result = [
        str(file.relative_to(CODE))
        for package in ("app", "engine")
        for file in (CODE / package).rglob("*.py")
        for word in ("os.fork", "multiprocessing", "ProcessPoolExecutor", "forkpty")
        if word in file.read_text(encoding="utf-8")
    ]
    assert result == []
