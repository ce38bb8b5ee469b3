"""Effects on the system: no network, no port, no foreign open of the record."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.files.shipped import sample_data
from engine.runs.launch import CODE, environment
from tests.engine.test_private import OPEN_AND_CLOSE
from tests.engine.training import small

TOKEN = "hf_CANARY0123456789"


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=CODE, env=environment() | more, capture_output=True, text=True, timeout=200
    )


def traced(out: Path, *arguments: str) -> list[str]:
    """The network calls of a command and all its children."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    # other calls are not slowed down
    calls = ("--seccomp-bpf", "-e", "trace=connect,bind,listen,sendto")
    done = run("strace", "-f", "-qq", *calls, "-o", str(out), sys.executable, *arguments)
    if "ptrace" in done.stderr:
        pytest.skip("processes may not be traced here")
    assert done.returncode == 0, done.stderr
    return [line for line in out.read_text().splitlines() if "AF_INET" in line]


def test_neither_a_training_nor_the_window_opens_a_socket_to_the_network(
    tmp_path, home, monkeypatch
):
    job = tmp_path / "job.json"
    job.write_text(small.classifying(tmp_path, epochs=1).model_dump_json())
    train = ("-m", "app", "train", str(job), "--into", str(home.runs / "one"))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert traced(tmp_path / "train", *train) == []
    assert traced(tmp_path / "window", "-c", OPEN_AND_CLOSE) == []
    written = [file for file in home.root.rglob("*") if file.is_file()]
    assert len(written) > 10
    assert not [file for file in written if TOKEN.encode() in file.read_bytes()]


ASK = """
import app.__main__
assert app.__main__.main(["fill", "a [MASK] film", "--json"]) == 0
"""


def test_a_prediction_works_without_a_network(tmp_path, home):
    alone = ("unshare", "-rn", sys.executable)
    if shutil.which("unshare") is None or run(*alone, "-c", "pass").returncode:
        pytest.skip("no network may be taken away here")
    told = run(*alone, "-c", ASK)
    assert told.returncode == 0 and '"predictions"' in told.stdout, told.stderr


def test_a_locale_with_a_decimal_comma_changes_no_number(tmp_path, home, capsys):
    make = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")]
    if shutil.which("localedef") is None or subprocess.run(make, capture_output=True).returncode:
        pytest.skip("the sources of this locale are not installed")
    code = ASK + f"assert app.__main__.main({['job', '--data', str(sample_data())]}) == 0"
    german = run(sys.executable, "-c", code, LOCPATH=str(tmp_path), LC_ALL="de_DE.UTF-8")
    assert german.returncode == 0, german.stderr
    capsys.readouterr()
    exec(code)
    assert capsys.readouterr().out == german.stdout != ""


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
def hear(event, arguments):
    if event == "open" and "studio.db" in str(arguments[0]):
        opened.append(arguments[0])
sys.addaudithook(hear)
refill(record, home)
back_up(home.record, home.backups, "daily")
rebuild(home)
record.check_place()
record.close()
assert opened == [], opened
"""


def test_nothing_but_sqlite_opens_the_record_while_it_is_in_use(home):
    """A plain open and close in this process would drop its locks."""
    done = run(sys.executable, "-c", ONLY_BY_SQLITE, BERT_STUDIO_HOME=str(home.root))
    assert done.returncode == 0, done.stderr


def test_no_process_is_forked():
    """A fork would share the record, torch's threads and Qt."""
    found = [
        str(file.relative_to(CODE))
        for package in ("app", "engine")
        for file in (CODE / package).rglob("*.py")
        for word in ("os.fork", "multiprocessing", "ProcessPoolExecutor", "forkpty")
        if word in file.read_text(encoding="utf-8")
    ]
    assert found == []
