#!/usr/bin/env python3
"""BERT Studio from a fresh checkout, with nothing but Python:

    python3 dev.py run         start BERT Studio
    python3 dev.py run ARGS    the same program with a command: run fill "Paris is in [MASK]."
    python3 dev.py test        all checks and tests: style, types, structure, tests, real windows
    python3 dev.py test ARGS   only pytest, with ARGS: test tests/engine -k mask
    python3 dev.py test --long only the tests that repeat a fault hundreds of times
    python3 dev.py doctor      what this machine has: Python, torch, GPU, Qt, system packages
    python3 dev.py pictures    make the pictures of docs/pictures anew
    python3 dev.py texts       count the texts of the program; texts de makes or renews the file
                               of a language, resources/translations/de.ts
    python3 dev.py setup       only make or renew the environment; --fresh makes it anew,
                               --torch BACKEND takes another build of the pinned torch, for example
                               auto, cpu or cu130. Without it pip decides: CUDA on Linux, CPU on
                               Windows, Metal on a Mac
    python3 dev.py clean       remove the environment and what tools left behind

The first call makes an environment in .venv and installs BERT Studio into it with its pinned
libraries; where nothing has changed since, a later one goes straight to the command. On Debian and
Ubuntu missing system packages are installed for root, and named in one command for anybody else.
BERT_STUDIO_VENV may name another place for the environment.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = Path(os.environ.get("BERT_STUDIO_VENV") or ROOT / ".venv").absolute()
SCRIPTS = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = SCRIPTS / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / ".dev-stamp"
FIRST, LAST = (3, 11), (3, 14)  # supported versions of Python
SYSTEM = "packaging/install-system-libs.sh"
LINUX = sys.platform.startswith("linux")
LEFT_BEHIND = (
    *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".import_linter_cache", ".hypothesis"),
    *("build", "dist", "bert_studio.egg-info", "test-artifacts"),
)

QT = (
    *("libglib-2.0.so.0", "libEGL.so.1", "libGL.so.1", "libdbus-1.so.3", "libfontconfig.so.1"),
    *("libfreetype.so.6", "libxkbcommon.so.0", "libX11.so.6"),
)
SCREEN = (
    *("libxcb-cursor.so.0", "libxcb-icccm.so.4", "libxcb-image.so.0", "libxcb-keysyms.so.1"),
    *("libxcb-randr.so.0", "libxcb-render-util.so.0", "libxcb-shape.so.0", "libxcb-sync.so.1"),
    *("libxcb-util.so.1", "libxcb-xfixes.so.0", "libxcb-xkb.so.1", "libX11-xcb.so.1"),
    "libxkbcommon-x11.so.0",
)
GUI_TOOLS = ("Xvfb", "xvfb-run", "xauth", "openbox", "xdotool")

NO_DISPLAY = """\
There is no display here (DISPLAY and WAYLAND_DISPLAY are empty), so the window cannot open.
BERT Studio takes the same road without it: it fine-tunes MiniLM on the sample,
predicts, fills a mask and draws what it saw. That takes about two minutes."""

NO_GPU = """\
This machine has no NVIDIA driver. Where several GB of CUDA libraries are too much, break off
(Ctrl+C) and call first:  python3 dev.py setup --torch cpu"""

HEADLESS = """\
Commands that need no window: tour, job, train, resume, predict, evaluate, fill, attention, check.
For example:  python3 dev.py run fill "The capital of France is [MASK]."
All of them:  {program} --help"""


class Trouble(Exception):
    """Something that whoever called this can mend; the text says how."""


def say(*words: object) -> None:
    for line in " ".join(map(str, words)).splitlines():
        print("[dev]", line, file=sys.stderr, flush=True)


# ── what the system lacks ────────────────────────────────────────────────────────────────────


def missing_libraries(
    names: Sequence[str], load: Callable[[str], object] = ctypes.CDLL
) -> list[str]:
    """Those of the shared libraries `names` that the system's loader does not find."""
    missing = []
    for name in names:
        try:
            load(name)
        except OSError:
            missing.append(name)
    return missing


def missing_tools(find: Callable[[str], str | None] = shutil.which) -> list[str]:
    return [tool for tool in GUI_TOOLS if not find(tool)]


def can_install() -> bool:
    """Whether packages can be installed without asking anybody."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and bool(shutil.which("apt-get"))


def advice(missing: Sequence[str], options: Sequence[str]) -> str:
    """One exact command where there is one, for somebody who may become root."""
    named = f"This system lacks {', '.join(missing)}."
    if shutil.which("apt-get"):
        command = shlex.join(["sudo", "sh", str(ROOT / SYSTEM), *options])
    elif tool := next((t for t in ("dnf", "zypper") if shutil.which(t)), None):
        wanted = [f"{name}()(64bit)" if ".so." in name else name for name in missing]
        command = shlex.join(["sudo", tool, "install", *wanted])
    else:
        return f"{named} Install them with the system's package manager and run this again."
    return f"{named} Install them with this command and run this again:\n\n    {command}\n"


def need(missing: Sequence[str], *options: str) -> None:
    """Install what is missing, or raise Trouble with the one command that does.

    What Python lacks for an environment belongs to it, so that nobody is asked twice.
    """
    package = None if PYTHON.exists() else venv_package()
    if package:
        options = (*options, "--with", package) if missing else ("--only", package)
        missing = [*missing, package]
    if not missing:
        return
    if not can_install():
        raise Trouble(advice(missing, options))
    say("missing on this system, to be installed:", ", ".join(missing))
    if subprocess.run(["sh", str(ROOT / SYSTEM), *options], stdin=subprocess.DEVNULL).returncode:
        raise Trouble(advice(missing, options))


def has_display(environment: Mapping[str, str], system: str = sys.platform) -> bool:
    """Whether a window can be shown; only on Linux may there be no display at all."""
    display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    return bool(display) or not system.startswith("linux")


# ── the environment ──────────────────────────────────────────────────────────────────────────


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> None:
    """Go on with a supported Python, where this one is not and another is there."""
    if FIRST <= version[:2] <= LAST:
        return
    for minor in range(LAST[1], FIRST[1] - 1, -1):
        other = shutil.which(f"python3.{minor}")
        if other and os.name != "nt":
            say(f"this is Python {version[0]}.{version[1]}; going on with {other}")
            os.execv(other, [other, str(Path(__file__).resolve()), *sys.argv[1:]])
    raise Trouble(
        f"BERT Studio needs Python {FIRST[0]}.{FIRST[1]} to {LAST[0]}.{LAST[1]}; "
        f"this is {'.'.join(map(str, version))}."
    )


def venv_package(
    find: Callable[[str], object] = importlib.util.find_spec,
    version: tuple[int, ...] = sys.version_info[:2],
) -> str | None:
    """The Debian package without which this Python can make no environment, if it is missing."""
    if LINUX and not (find("venv") and find("ensurepip")):
        return f"python{version[0]}.{version[1]}-venv"
    return None


def fingerprint(extra: str) -> str:
    """What an environment was made from: this Python, this place, and pyproject.toml."""
    made_from = hashlib.sha256(repr((sys.version_info[:2], str(ROOT))).encode())
    made_from.update((ROOT / "pyproject.toml").read_bytes())
    return f"{made_from.hexdigest()} {extra}".strip()


def is_ready(extra: str, stamp: Path = STAMP) -> bool:
    """Whether nothing has changed; an environment for tests is also one to run in."""
    if not PYTHON.exists() or not stamp.exists():
        return False
    return stamp.read_text(encoding="utf-8").strip() in {fingerprint(extra), fingerprint("test")}


def is_ours() -> bool:
    """Whether the environment works and is of this version of Python."""
    settings = VENV / "pyvenv.cfg"
    if not (settings.exists() and PYTHON.exists()):
        return False
    version = re.search(r"(?m)^version\s*=\s*(\d+)\.(\d+)", settings.read_text("utf-8"))
    same = version is not None and (int(version[1]), int(version[2])) == sys.version_info[:2]
    pip = [str(PYTHON), "-m", "pip", "--version"]
    return same and subprocess.run(pip, capture_output=True).returncode == 0


def make_venv() -> None:
    if VENV.exists() and any(VENV.iterdir()) and not (VENV / "pyvenv.cfg").exists():
        raise Trouble(f"{VENV} holds something else; set BERT_STUDIO_VENV to another place.")
    say("making", VENV)
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    if made.returncode:
        raise Trouble(f"{sys.executable} could not make an environment in {VENV}.")


def install(extra: str, torch: str | None) -> None:
    """pip installs the project in editable form; uv chooses another build of torch."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", *quiet]
    steps = [[*pip, "-e", f"{ROOT}[{extra}]" if extra else str(ROOT)]]
    if torch:
        pinned = re.search(r'"(torch==[^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
        assert pinned is not None
        uv = [str(PYTHON), "-m", "uv", "pip", "install", "--python", str(PYTHON)]
        steps.insert(0, [*uv, f"--torch-backend={torch}", "--reinstall-package=torch", pinned[1]])
        steps.insert(0, [*pip, "uv"])
    elif LINUX and not shutil.which("nvidia-smi") and not (VENV / ".torch-told").exists():
        say(NO_GPU)
        (VENV / ".torch-told").touch()
    for step in steps:
        if subprocess.run(step, cwd=ROOT).returncode:
            raise Trouble(
                "The libraries could not be installed; the lines above say why. "
                "With a connection to the package registry, run this again."
            )


def set_up(extra: str = "", torch: str | None = None, fresh: bool = False) -> None:
    """Make or renew the environment where it is not as it should be."""
    if is_ready(extra) and torch is None and not fresh:
        return
    start = time.monotonic()
    STAMP.unlink(missing_ok=True)
    if fresh or not is_ours():
        need([])
        make_venv()
    say("installing BERT Studio; the first time takes a minute or more")
    install(extra, torch)
    STAMP.write_text(fingerprint(extra) + "\n", encoding="utf-8")
    say(f"ready after {time.monotonic() - start:.0f} s")


# ── the commands ─────────────────────────────────────────────────────────────────────────────


def call(command: Sequence[str | Path], **environment: str) -> int:
    """Run a program of the environment in the repository."""
    settings = dict(os.environ, PYTHONUTF8="1", **environment)
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=settings).returncode


def run(arguments: list[str]) -> int:
    """Open the window, or take its road without one."""
    program = SCRIPTS / ("bert-studio.exe" if os.name == "nt" else "bert-studio")
    windowless = not arguments and not has_display(os.environ)
    if LINUX and not arguments and not windowless:
        need(missing_libraries(QT + SCREEN))
    if windowless:
        say(NO_DISPLAY)
    set_up()
    ended = subprocess.run([str(program), *(["tour"] if windowless else arguments)]).returncode
    if windowless:
        say(HEADLESS.format(program=program))
    elif ended < 0 and not arguments:
        say(f"the program was ended by signal {-ended}; can the display be reached from here?")
    return ended if ended >= 0 else 128 - ended


VIRTUAL = "-screen 0 1920x1200x24"
MANAGED = 'openbox & manager=$!; sleep 1; "$@"; ended=$?; kill $manager; exit $ended'
NO_TESTS = 5  # pytest's exit code where nothing was chosen
CHECKS: dict[str, list[str | Path]] = {
    "style": [PYTHON, "-m", "ruff", "check"],
    "format": [PYTHON, "-m", "ruff", "format", "--check"],
    "types": [PYTHON, "-m", "mypy"],
    "structure": [SCRIPTS / "lint-imports", "--no-logo"],
}


WINDOWS = "tests in real windows"


def test(arguments: list[str]) -> int:
    """All checks and tests; or only pytest, where it is given arguments.

    The checks and the real windows go one after another beside the tests: these wait more than they
    compute, and each of those keeps one core busy at most.
    """
    lacking, tools = (missing_libraries(QT), missing_tools()) if LINUX else ([], [])
    if LINUX and can_install():
        need([*missing_libraries(QT + SCREEN), *tools], "--gui-tests")
        tools = []
    else:
        need(lacking)
    set_up("test")
    if arguments:
        return call([PYTHON, "-m", "pytest", *arguments])
    beside = dict(CHECKS)
    if LINUX and not tools:
        beside[WINDOWS] = [*IN_WINDOWS, "gui", "-n", "2", *marked("gui")]  # each has its own screen
    else:
        say(f"{WINDOWS} are left out: they need {', '.join(tools) or 'Xvfb'}")
    processes = str(max(3, min(8, (os.cpu_count() or 2) // 2)))  # each waits a fifth of its time
    tests = [*PYTEST, "not gui", "-n", processes, "--dist", "worksteal"]
    failed = [name for name, code in together(tests, beside).items() if code not in (0, NO_TESTS)]
    if failed:
        say("did not pass:", ", ".join(failed))
    return 1 if failed else 0


PYTEST: list[str | Path] = [PYTHON, "-m", "pytest", "-m"]
IN_WINDOWS = [
    *("env", "QT_QPA_PLATFORM=xcb", "xvfb-run", "-a", "-s", VIRTUAL, "sh", "-c", MANAGED, "sh"),
    *PYTEST,
]


def marked(marker: str) -> list[Path]:
    """The files with tests of this marker: to load all others only to leave them out takes long."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file for file in files if f"mark.{marker}" in file.read_text("utf-8")]


def together(
    tests: Sequence[str | Path], beside: Mapping[str, Sequence[str | Path]]
) -> dict[str, int]:
    """The exit code of each part, by name; what stands beside the tests goes one after another."""
    with ThreadPoolExecutor(1) as others:
        codes = {name: others.submit(call_quietly, name, part) for name, part in beside.items()}
        say("tests; beside them:", ", ".join(beside))
        try:
            code = call(tests)
        except KeyboardInterrupt:
            others.shutdown(cancel_futures=True)
            raise
    return {name: part.result() for name, part in codes.items()} | {"tests": code}


def call_quietly(name: str, command: Sequence[str | Path]) -> int:
    """Like `call`; what is printed comes in one piece when the program has ended."""
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=dict(os.environ, PYTHONUTF8="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    say(f"{name}: {'passed' if ended.returncode in (0, NO_TESTS) else 'did not pass'}")
    print(ended.stdout.decode("utf-8", "replace"), end="", flush=True)
    return ended.returncode


REPORT = """
import PySide6, platform, shutil, torch
from engine.files.home import Home
print("Python     ", platform.python_version(), "on", platform.platform())
print("torch      ", torch.__version__, "with", torch.get_num_threads(), "threads")
print("GPU        ", torch.cuda.get_device_name() if torch.cuda.is_available() else
      "Metal" if torch.backends.mps.is_available() else "none that torch can use")
if shutil.which("nvidia-smi") and not torch.cuda.is_available():
    print("            There is an NVIDIA driver, but this torch cannot use it:")
    print("            python3 dev.py setup --torch auto")
print("PySide6    ", PySide6.__version__)
print("Home folder", Home().root)
"""


def doctor() -> int:
    """Print what there is; 1 where something is missing."""
    lacking = missing_libraries(QT + SCREEN) if LINUX else []
    ready = is_ready("")
    print("Environment", VENV, "is ready" if ready else "is not made yet, or out of date")
    print("Display    ", "yes" if has_display(os.environ) else "none: the headless commands work")
    print("For Qt     ", f"missing: {', '.join(lacking)}" if lacking else "all libraries there")
    if LINUX:
        tools = missing_tools()
        print("For tests  ", f"missing: {', '.join(tools)}" if tools else "all tools there")
    sys.stdout.flush()
    return 1 if lacking or not ready else call([PYTHON, "-c", REPORT])


def pictures(arguments: list[str]) -> int:
    if LINUX:
        need(missing_libraries(QT))
    set_up()
    return call([PYTHON, "-m", "tools.pictures", *arguments], QT_QPA_PLATFORM="offscreen")


def texts(arguments: list[str]) -> int:
    set_up()
    return call([PYTHON, "-m", "tools.texts", *arguments])


def setup(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="dev.py setup")
    parser.add_argument("--torch", metavar="BACKEND", help="auto, cpu, cu130, …")
    parser.add_argument("--fresh", action="store_true", help="make the environment anew")
    asked = parser.parse_args(arguments)
    set_up("", asked.torch, asked.fresh)
    return 0


def clean() -> int:
    """Remove the environment, if it is one, and what tools left behind."""
    if (VENV / "pyvenv.cfg").exists():
        shutil.rmtree(VENV)
    for name in LEFT_BEHIND:
        shutil.rmtree(ROOT / name, ignore_errors=True)
    return 0


def main(arguments: Sequence[str]) -> int:
    command, *rest = arguments or ["--help"]
    commands: dict[str, Callable[[], int]] = {
        "run": lambda: run(rest),
        "test": lambda: test(rest),
        "doctor": doctor,
        "pictures": lambda: pictures(rest),
        "texts": lambda: texts(rest),
        "setup": lambda: setup(rest),
        "clean": clean,
    }
    if command in ("-h", "--help"):
        print(__doc__, end="")
        return 0 if arguments else 2
    if command not in commands:
        say(f"“{command}” is none of: {', '.join(commands)}")
        return 2
    try:
        check_python()
        return commands[command]()
    except Trouble as trouble:
        say(trouble)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
