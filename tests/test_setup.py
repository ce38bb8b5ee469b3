"""dev.py in a fresh checkout: missing packages, messages, environment."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def load_dev(monkeypatch: pytest.MonkeyPatch, venv: Path) -> ModuleType:
    """dev.py as a module that uses `venv`."""
    monkeypatch.setenv("BERT_STUDIO_VENV", str(venv))
    spec = importlib.util.spec_from_file_location("dev", REPOSITORY / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def dev(monkeypatch, tmp_path):
    return load_dev(monkeypatch, tmp_path / "venv")


def run_dev(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    return subprocess.run(
        [sys.executable, str(REPOSITORY / "dev.py"), *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=settings | environment,
        stdin=subprocess.DEVNULL,
    )


def fake_environment(dev: ModuleType) -> None:
    """Create a fake environment, so that only the stamp decides."""
    dev.PYTHON.parent.mkdir(parents=True)
    dev.PYTHON.touch()


def test_the_stamp_shows_if_the_environment_is_current(dev, monkeypatch, tmp_path):
    fake_environment(dev)
    assert not dev.is_ready("")
    dev.STAMP.write_text(dev.fingerprint("test"))
    assert dev.is_ready(""), "an environment for tests also runs the program"
    dev.STAMP.write_text(dev.fingerprint("") + "\n")
    assert dev.is_ready("") and not dev.is_ready("test")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    assert not dev.is_ready(""), "pyproject.toml has changed"


def test_missing_libraries_are_listed_in_order(dev):
    def load(name: str) -> None:
        if name != "libpresent.so.1":
            raise OSError(name)

    expected = ["libgone.so.1", "libpresent.so.1", "libaway.so.2"]
    assert dev.missing_libraries(expected, load) == ["libgone.so.1", "libaway.so.2"]


def test_other_users_than_root_get_one_exact_command(dev, monkeypatch):
    monkeypatch.setattr(dev, "can_install", lambda: False)
    monkeypatch.setattr(dev, "venv_package", lambda: "python3.11-venv")
    monkeypatch.setattr(dev.shutil, "which", lambda name: name if name == "apt-get" else None)
    with pytest.raises(dev.SetupError) as caught:
        dev.need(["libEGL.so.1", "libGL.so.1"], "--gui-tests")
    commands = [line for line in str(caught.value).splitlines() if line.startswith("    ")]
    script = REPOSITORY / "packaging" / "install-system-libs.sh"
    assert "libEGL.so.1, libGL.so.1, python3.11-venv" in str(caught.value)
    assert commands == [f"    sudo sh {script} --gui-tests --with python3.11-venv"]
    assert script.exists()


def test_a_system_with_dnf_gets_a_dnf_command(dev, monkeypatch):
    monkeypatch.setattr(dev.shutil, "which", lambda name: name if name == "dnf" else None)
    advice = dev.advice(["libEGL.so.1", "Xvfb"], [])
    assert "sudo dnf install 'libEGL.so.1()(64bit)' Xvfb" in advice


def test_no_command_is_given_if_nothing_is_missing(dev, monkeypatch):
    monkeypatch.setattr(dev, "can_install", lambda: False)
    monkeypatch.setattr(dev, "venv_package", lambda: None)
    dev.need([])
    monkeypatch.setattr(dev, "venv_package", lambda: "python3.11-venv")
    fake_environment(dev)  # no new environment is needed
    dev.need([])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Debian splits off ensurepip")
def test_a_python_without_ensurepip_needs_its_venv_package(dev):
    assert dev.venv_package(lambda name: name != "ensurepip", (3, 13)) == "python3.13-venv"
    assert dev.venv_package(lambda name: True, (3, 13)) is None


def test_an_old_python_is_refused_with_the_supported_versions(dev, monkeypatch):
    monkeypatch.setattr(dev.shutil, "which", lambda name: None)
    with pytest.raises(dev.SetupError, match=r"Python 3\.11 to 3\.14; this is 3\.10\.2"):
        dev.check_python((3, 10, 2))
    dev.check_python((3, 14, 0))


def test_supported_pythons_are_those_of_the_project(dev):
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    upper = dev.NEWEST[1] + 1
    assert (
        project["requires-python"] == f">={dev.OLDEST[0]}.{dev.OLDEST[1]},<{dev.NEWEST[0]}.{upper}"
    )


def test_only_linux_can_lack_a_display(dev):
    assert not dev.has_display({}, "linux")
    assert not dev.has_display({"DISPLAY": ""}, "linux")
    assert dev.has_display({"DISPLAY": ":0"}, "linux")
    assert dev.has_display({"WAYLAND_DISPLAY": "wayland-0"}, "linux")
    assert dev.has_display({}, "win32")
    assert dev.has_display({}, "darwin")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have a display")
def test_without_a_display_the_tour_runs_and_commands_are_suggested(dev, monkeypatch, tmp_path):
    venv = tmp_path / "venv"
    fake_environment(dev)
    dev.STAMP.write_text(dev.fingerprint(""))
    program = venv / "bin" / "bert-studio"
    program.write_text('#!/bin/sh\necho "asked for: $*"\n')
    program.chmod(0o755)
    tour = run_dev("run", BERT_STUDIO_VENV=str(venv))
    assert tour.returncode == 0, tour.stderr
    assert tour.stdout == "asked for: tour\n"
    assert "There is no display here" in tour.stderr
    assert f"{program} --help" in tour.stderr
    with_command = run_dev("run", "fill", "a [MASK]", BERT_STUDIO_VENV=str(venv))
    assert with_command.stdout == "asked for: fill a [MASK]\n"
    assert with_command.stderr == ""


def test_a_folder_with_other_files_is_no_environment(dev):
    dev.VENV.mkdir()
    (dev.VENV / "letters.txt").write_text("keep me")
    with pytest.raises(dev.SetupError, match="is not an environment"):
        dev.make_venv()
    assert dev.clean() == 0
    assert (dev.VENV / "letters.txt").exists()


def test_only_files_with_a_marker_are_selected(dev, monkeypatch, tmp_path):
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    marked, other = tmp_path / "tests" / "deep" / "test_a.py", tmp_path / "tests" / "test_b.py"
    marked.write_text("pytestmark = pytest.mark.other\n")
    other.write_text("def test_other(): ...\n")
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    assert dev.marked("other") == [marked]


def test_files_that_import_their_marks_name_gui_literally(dev):
    """`dev.py` finds them by that word, and they would never run without it."""
    imported = re.compile(r"^from tests\S+ import pytestmark", re.MULTILINE)
    files = [
        file
        for file in (REPOSITORY / "tests").rglob("test_*.py")
        if imported.search(file.read_text("utf-8"))
    ]
    assert files and set(files) <= set(dev.marked("gui"))


def test_every_check_reports_its_output_and_result(dev, capfd):
    def python(code: str) -> list[str]:
        return [sys.executable, "-S", "-c", code]

    checks = {
        "good": python("print('all is well')"),
        "bad": python("raise SystemExit('line 3 is wrong')"),
    }
    assert dev.run_all(python("raise SystemExit(5)"), checks) == {"good": 0, "bad": 1, "tests": 5}
    printed, captured = capfd.readouterr()
    assert printed == "all is well\nline 3 is wrong\n"
    assert "good: passed" in captured and "bad: did not pass" in captured


def test_all_checks_run_and_failures_are_named(dev, monkeypatch, capsys):
    codes = {"types": 1, "structure": 0, dev.WINDOWS: dev.NO_TESTS, "tests": 0}
    arguments = {}
    for name in ("need", "set_up"):
        monkeypatch.setattr(dev, name, lambda *arguments: None)
    for name in ("missing_libraries", "missing_tools"):
        monkeypatch.setattr(dev, name, lambda *arguments: [])
    monkeypatch.setattr(dev, "run_all", lambda tests, checks: arguments.update(checks) or codes)
    assert dev.test([]) == 1
    assert arguments.keys() - {dev.WINDOWS} == dev.CHECKS.keys()
    assert (dev.WINDOWS in arguments) == sys.platform.startswith("linux")
    assert capsys.readouterr().err == "[dev] did not pass: types\n"
    codes["types"] = 0
    assert dev.test([]) == 0


def test_dev_py_has_no_syntax_newer_than_python_3_8(dev):
    """An old Python must get to the message that it is too old."""
    import ast

    ast.parse((REPOSITORY / "dev.py").read_text("utf-8"), feature_version=(3, 8))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a script for Debian and Ubuntu")
def test_the_script_for_system_packages_parses_and_refuses_options():
    script = REPOSITORY / "packaging" / "install-system-libs.sh"
    assert subprocess.run(["sh", "-n", str(script)]).returncode == 0
    refused = subprocess.run(["sh", str(script), "--bogus"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--gui-tests" in refused.stdout
