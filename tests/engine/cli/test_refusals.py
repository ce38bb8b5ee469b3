"""System errors are not bugs: every command, every path, every fault.

Each refusal is one short sentence with advice, on one line, and the exit code is 1.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import app.__main__
from engine.cli import COMMANDS
from engine.errors import DiskFull
from engine.messages.events import Ended, Event, Measured
from engine.runs.folder import RunFolder
from engine.system.errors import explain_error
from engine.worker.train import main as train
from tests.engine.faults import small_disk, without_root_privileges
from tests.engine.training import small

MAX_LENGTH = 300  # characters of a refusal, without the name of the program
PREFIX = "bert-studio: "

# every command, with IN for an input and OUT for an output
READING = {
    "job": [["--data", "IN"], ["--data", "DATA", "--validation", "IN"]],
    "train": [["IN", "--into", "NEW"]],
    "resume": [["IN"]],
    "cluster": [["IN", "--into", "NEW"]],
    "branch": [["IN", "--step", "1", "--into", "NEW"]],
    "checkpoints": [["IN"]],
    "batch": [["IN"]],
    "reproducibility": [["IN"]],
    "lineage": [["IN"]],
    "compare": [["IN", "RUN"], ["RUN", "IN"]],
    "import": [["IN"], ["DATA", "--test", "IN"], ["DATA", "--validation", "IN"]],
    "import-model": [["IN"], ["MODEL", "--base", "IN"]],
    "check": [["IN"], ["IN", "--json"]],
    "fix": [["IN", "exact_duplicates", "drop"]],
    "label-errors": [["IN", "--out", "NEW.csv"], ["STORED", "--model", "IN", "--out", "NEW.csv"]],
    "relabel": [["IN", "DATA"], ["STORED", "IN"]],
    "label-gain": [["IN"], ["STORED", "--model", "IN"]],
    "codebook": [["IN"], ["STORED", "--from", "IN"]],
    "agreement": [["IN"]],
    "split": [["IN"]],
    "hand-out": [["IN", "--to", "NEW.packet", "--coders", "A,B"]],
    "handed-out": [["IN"], ["IN", "--call-back", "A"]],
    "hand-in": [["IN", "--to", "NEW.packet"]],
    "take-in": [["IN", "DATA"], ["STORED", "IN"]],
    "changes": [["IN"]],
    "predict": [
        ["IN", "--model", "MODEL", "--out", "NEW.csv"],
        ["DATA", "--model", "IN", "--out", "NEW.csv"],
    ],
    "evaluate": [["IN", "--model", "MODEL"], ["DATA", "--model", "IN"]],
    "estimate": [["IN", "--predicted", "label", "--hand", "text"]],
    "slices": [["IN"]],
    "calibrate": [["IN"]],
    "compare-results": [["IN", "IN"]],
    "fill": [["a [MASK]", "--model", "IN"]],
    "attention": [["a text", "--model", "IN", "--out", "NEW.npy"]],
    "heads": [["IN", "--texts", "DATA"], ["MODEL", "--texts", "IN"], ["MODEL", "--data", "IN"]],
    "shrink": [["IN", "--into", "NEW"]],
    "export": [["IN", "--to", "NEW"], ["MODEL", "--to", "NEW", "--texts", "IN"]],
    "push": [["IN", "me/model", "--dry-run"]],
    "get": [],
    "similarity": [["a text", "another", "--model", "IN"]],
    "vectors": [["IN", "--out", "NEW.npy"], ["DATA", "--model", "IN", "--out", "NEW.npy"]],
    "nearest": [["a text", "IN"], ["a text", "DATA", "--model", "IN"]],
    "words": [["king", "--vectors", "IN"], ["king", "--model", "IN"]],
    "queue": [["IN"]],
    "tour": [],
    "doctor": [],
    "rebuild": [],
    "export-curves": [["IN", "--to", "NEW"], ["IN", "--to", "NEW", "--format", "mlflow"]],
    "export-data": [["IN", "--to", "NEW.csv"]],
    "export-runs": [["IN", "--to", "NEW.zip"]],
    "import-runs": [["IN"]],
    "report": [["IN", "--out", "NEW.html"]],
}
WRITING = {
    "train": [["JOB", "--into", "OUT"]],
    "cluster": [["JOB", "--into", "OUT"]],
    "branch": [["RUN", "--step", "STEP", "--into", "OUT"]],
    "label-errors": [["STORED", "--model", "MODEL", "--out", "OUT.csv"]],
    "predict": [["DATA", "--model", "MODEL", "--out", "OUT.csv"]],
    "attention": [["a text", "--model", "MODEL", "--out", "OUT.npy"]],
    "heads": [["MODEL", "--texts", "DATA", "--out", "OUT.csv"]],
    "export": [["MODEL", "--to", "OUT"]],
    "export-data": [["STORED", "--to", "OUT.csv"]],
    "vectors": [["DATA", "--out", "OUT.npy"]],
    "report": [["RUN", "--out", "OUT.html"]],
    "export-curves": [["RUN", "--to", "OUT"], ["RUN", "--to", "OUT", "--format", "mlflow"]],
    "export-runs": [["RUN", "--to", "OUT.zip"]],
    "tour": [["--into", "OUT"]],
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a job, a run, a link to itself and a closed folder."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "closed").mkdir()
    small.sentences(folder / "closed" / "x")
    (folder / "closed").chmod(0)
    small.sentences(folder / "data.csv", rows=16)
    job = folder / "job.json"
    job.write_text(small.classifying(folder, epochs=1).model_dump_json())
    assert app.__main__.main(["train", str(job), "--into", str(folder / "run")]) == 0
    return folder


FAULTS = {  # paths in `workspace`
    "missing": "nowhere/x",
    "in a file": "data.csv/x",
    "too long": "n" * 300,
    "too deep": "/".join(["n" * 200] * 30),
    "circle": "circle/x",
    "strange": "no\nsuch \x1b[31mfile",
    "closed": "closed/x",
}


def find_faults(
    table: dict[str, list[list[str]]], fault: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Faults in how the commands of `table` refuse `fault`; empty if all is well."""
    run = RunFolder(folder / "run")
    last = run.checkpoint_folders()[-1]
    values = {
        "IN": fault,
        "OUT": fault,
        "NEW": folder / "new",
        "DATA": folder / "data.csv",
        "STORED": run.dataset,
        "JOB": folder / "job.json",
        "RUN": run.path,
        "MODEL": last,
        "STEP": Path(last.name.removeprefix("step-").lstrip("0")),
    }
    faults = []
    for command, lines in table.items():
        for line in lines:
            arguments = [command]
            for word in line:
                stem, dot, ending = word.partition(".")
                arguments.append(f"{values[stem]}{dot}{ending}" if stem in values else word)
            code = app.__main__.main(arguments)
            stderr = capsys.readouterr().err
            last_line = stderr.rstrip("\n").rpartition("\n")[2]
            problem = last_line.removeprefix(PREFIX)
            if (
                code != 1
                or "Traceback" in stderr
                or "unexpected" in stderr
                or not last_line.startswith(PREFIX)
                or not 10 < len(problem) <= MAX_LENGTH
                or not problem.isprintable()
                or (folder / "new").exists()
            ):
                faults.append(f"{' '.join([command, *line])} → {code}: {stderr[-1500:]}")
    return faults


def test_the_tables_name_every_command():
    assert {*COMMANDS, *app.__main__.COMMANDS} == set(READING)


@pytest.mark.parametrize("fault", FAULTS)
def test_unreadable_inputs_are_refused_with_a_sentence(fault, workspace, capsys):
    with without_root_privileges():
        assert find_faults(READING, workspace / FAULTS[fault], workspace, capsys) == []


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "strange"])
def test_unwritable_outputs_are_refused_with_a_sentence(fault, workspace, capsys):
    makes_parents = ("train", "cluster", "tour", "export", "export-curves", "branch")
    allowed = makes_parents if fault == "missing" else ()
    names = WRITING if fault in ("missing", "in a file") else ("train", "predict", "export")
    table = {command: WRITING[command] for command in names if command not in allowed}
    with without_root_privileges():
        assert find_faults(table, workspace / FAULTS[fault], workspace, capsys) == []


@pytest.mark.parametrize("out", ["", "/", ".", ".."])
def test_a_path_without_a_name_is_refused_with_a_message(out, workspace, capsys, monkeypatch):
    monkeypatch.chdir(workspace / "run")  # nothing may be created in a folder that is in use
    last = RunFolder(workspace / "run").checkpoint_folders()[-1]
    before = sorted(workspace.rglob("*"))
    lines = [
        ["train", str(workspace / "job.json"), "--into", out],
        ["cluster", str(workspace / "job.json"), "--into", out],
        ["predict", str(workspace / "data.csv"), "--model", str(last), "--out", out],
        ["attention", "a text", "--model", str(last), "--out", out],
        ["export", str(last), "--to", out],
        ["report", str(workspace / "run"), "--out", out],
        ["label-errors", str(workspace / "run" / "data"), "--out", out],
        ["tour", "--into", out],
    ]
    for arguments in lines:
        code = app.__main__.main(arguments)
        stderr = capsys.readouterr().err.rstrip().rpartition("\n")[2]
        assert code == 1 and stderr.startswith(PREFIX) and "unexpected" not in stderr, (
            arguments,
            stderr,
        )
    assert sorted(workspace.rglob("*")) == before


def test_a_read_only_disk_is_reported(tmp_path, workspace, capsys):
    with small_disk(tmp_path / "disk", 1024, "ro") as disk:
        assert find_faults(WRITING, disk / "x", workspace, capsys) == []
        assert app.__main__.main(["train", str(workspace / "job.json"), f"--into={disk}/x"]) == 1
    assert "read-only" in capsys.readouterr().err


@pytest.mark.parametrize(
    "home, message",
    [("data.csv", "not a folder"), ("n" * 300, "too long"), ("\n".join(["n" * 90] * 40), "n")],
)
def test_an_impossible_home_is_refused(home, message, workspace, capsys, monkeypatch):
    monkeypatch.setenv("BERT_STUDIO_HOME", str(workspace / home))
    for command in ("rebuild", "tour"):
        assert app.__main__.main([command]) == 1
        stderr = capsys.readouterr().err
        assert (
            message in stderr
            and "Traceback" not in stderr
            and len(stderr) <= MAX_LENGTH + len(PREFIX)
        )


def make_folder_read_only(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run.checkpoints.chmod(0o500)


def fail_fsync(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        monkeypatch.undo()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)


def raise_bug(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    raise ZeroDivisionError("a bug")


@pytest.mark.parametrize(
    "act, code, message",
    [
        (make_folder_read_only, 1, "permission"),
        (fail_fsync, 1, "input/output error"),
        (raise_bug, 3, "a bug"),
    ],
)
def test_environment_faults_during_training_are_distinguished_from_bugs(
    workspace, tmp_path, monkeypatch, act, code, message
):
    run = RunFolder.create(tmp_path / "run", small.classifying(workspace, epochs=1))

    def on_event(event: Event) -> None:
        if isinstance(event, Measured):
            act(run, monkeypatch)

    with without_root_privileges():
        assert train(run.path, on_event) == code
    last = run.last_events()[-1]
    assert isinstance(last, Ended)
    assert (last.outcome, last.bug) == ("failed", code == 3)
    assert message in last.problem + last.details


@pytest.mark.parametrize("bug, code", [(True, 3), (False, 1)])
def test_a_failed_tour_exits_like_a_failed_training(tmp_path, monkeypatch, capsys, bug, code):
    def work(folder: Path, on_event: Callable[[Event], None]) -> int:
        on_event(Ended(outcome="failed", problem="It broke.", advice="Try again.", bug=bug))
        return code

    monkeypatch.setattr("engine.worker.train.main", work)
    assert app.__main__.main(["tour", "--into", str(tmp_path / "run")]) == code
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count("It broke. Try again.") == 1


def test_the_reason_for_a_failed_training_is_printed_once(workspace, tmp_path, capsys):
    job = small.classifying(tmp_path, epochs=1)
    hardware = job.hardware.model_copy(update={"cores": "9999"})
    file = tmp_path / "job.json"
    file.write_text(job.model_copy(update={"hardware": hardware}).model_dump_json())
    assert app.__main__.main(["train", str(file), "--into", str(tmp_path / "run")]) == 1
    stderr = capsys.readouterr().err
    assert stderr.count("9999") == 1
    assert stderr.rstrip().rpartition("\n")[2].startswith(f"{PREFIX}This process may not use core")


ERRORS = {
    "There is no": ("ENOENT",),
    "permission": ("EACCES", "EPERM"),
    "read-only": ("EROFS",),
    "is a folder": ("EISDIR",),
    "already exists": ("EEXIST", "ENOTEMPTY"),
    "too long": ("ENAMETOOLONG",),
    "symbolic link": ("ELOOP",),
    "input/output error": ("EIO",),
    "full": ("ENOSPC", "EDQUOT"),
    "too many files": ("EMFILE",),
    "cannot be used": ("ENOTDIR", "EBUSY", "ESTALE", "ETIMEDOUT"),
}


def test_every_error_that_names_a_file_has_a_sentence():
    for message, names in ERRORS.items():
        for code in (getattr(errno, name) for name in names):
            file = f"/none/.model.tmp-0123abcd/{'x' * 4000}"
            error = explain_error(OSError(code, os.strerror(code), file))
            assert error is not None and message in error.problem and error.advice
            assert len(str(error)) <= MAX_LENGTH and ".tmp-" not in str(error)


def test_an_error_of_a_library_is_recognised_by_its_code():
    full = explain_error(RuntimeError("Error while serializing: No space left (os error 28)"))
    assert isinstance(full, DiskFull)
    arrow = explain_error(FileNotFoundError("[Errno 2] Failed to open local file '/none/rows'"))
    assert arrow is not None and "/none" in arrow.problem


def test_a_bug_has_no_explanation():
    for error in (ZeroDivisionError(), KeyError("x"), OSError("odd"), BrokenPipeError(32, "pipe")):
        assert explain_error(error) is None
