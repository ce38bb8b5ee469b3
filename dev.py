#!/usr/bin/env python3
"""BERT Studio from a fresh checkout, with nothing but Python:

    python3 dev.py run         start BERT Studio
    python3 dev.py run ARGS    the same program with a command: run fill "Paris is in [MASK]."
    python3 dev.py test        all checks and tests: style, types, structure, tests, real windows
    python3 dev.py test ARGS   only pytest, with ARGS: test tests/engine -k mask
    python3 dev.py test --long only the tests that repeat a fault hundreds of times
    python3 dev.py doctor      what this machine has: Python, torch, GPU, Qt, system packages
    python3 dev.py docs        generate the tables of docs/; --check only compares
    python3 dev.py pictures    draw pictures of every page into build/pictures
    python3 dev.py texts       count the texts of the program; `texts de` creates or updates the
                               translation file resources/translations/de.ts
    python3 dev.py setup       create or update the environment; --fresh starts from scratch,
                               --torch BACKEND installs another build of the pinned torch, such as
                               auto, cpu or cu130. By default pip decides: CUDA on Linux, CPU on
                               Windows, Metal on a Mac
    python3 dev.py clean       remove the environment and the caches of tools

The first call creates an environment in .venv and installs BERT Studio with its pinned libraries;
later calls go straight to the command if nothing has changed. On Debian and Ubuntu, missing system
packages are installed for root; other users get the command that installs them. BERT_STUDIO_VENV
names another folder for the environment.
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
OLDEST, NEWEST = (3, 11), (3, 14)  # supported versions of Python
SYSTEM = "packaging/install-system-libs.sh"
LINUX = sys.platform.startswith("linux")
CACHES = (
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
BERT Studio runs the headless tour instead: it fine-tunes MiniLM on the sample data, predicts,
fills a mask and draws the attention. That takes about two minutes."""

NO_GPU = """\
This machine has no NVIDIA driver. To avoid several GB of CUDA libraries, press Ctrl+C and run
first:  python3 dev.py setup --torch cpu"""

HEADLESS = """\
Commands that need no window: tour, job, train, resume, predict, evaluate, fill, attention, check.
For example:  python3 dev.py run fill "The capital of France is [MASK]."
All of them:  {program} --help"""


class SetupError(Exception):
    """A problem that the user can solve; the text says how."""


def say(*words: object) -> None:
    for line in " ".join(map(str, words)).splitlines():
        print("[dev]", line, file=sys.stderr, flush=True)


# ── system packages ────────────────────────────────────────────────────────────────────


def missing_libraries(
    names: Sequence[str], load: Callable[[str], object] = ctypes.CDLL
) -> list[str]:
    """Shared libraries among `names` that the loader does not find."""
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
    """Return True for root on a system with apt."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and bool(shutil.which("apt-get"))


def advice(missing: Sequence[str], options: Sequence[str]) -> str:
    """Message with the command that installs the missing packages, if known."""
    problem = f"This system lacks {', '.join(missing)}."
    if shutil.which("apt-get"):
        command = shlex.join(["sudo", "sh", str(ROOT / SYSTEM), *options])
    elif tool := next((t for t in ("dnf", "zypper") if shutil.which(t)), None):
        packages = [f"{name}()(64bit)" if ".so." in name else name for name in missing]
        command = shlex.join(["sudo", tool, "install", *packages])
    else:
        return f"{problem} Install them with the system's package manager and run this again."
    return f"{problem} Install them with this command and run this again:\n\n    {command}\n"


def need(missing: Sequence[str], *options: str) -> None:
    """Install missing packages, or raise SetupError with the command that does.

    Includes the package that Python needs to create environments, so that one command is enough.
    """
    package = None if PYTHON.exists() else venv_package()
    if package:
        options = (*options, "--with", package) if missing else ("--only", package)
        missing = [*missing, package]
    if not missing:
        return
    if not can_install():
        raise SetupError(advice(missing, options))
    say("missing on this system, to be installed:", ", ".join(missing))
    if subprocess.run(["sh", str(ROOT / SYSTEM), *options], stdin=subprocess.DEVNULL).returncode:
        raise SetupError(advice(missing, options))


def has_display(environment: Mapping[str, str], system: str = sys.platform) -> bool:
    """Return True if a window can be shown."""
    display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    return bool(display) or not system.startswith("linux")


# ── the environment ──────────────────────────────────────────────────────────────────────────


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> None:
    """Continue with a supported Python if this one is not and another is installed."""
    if OLDEST <= version[:2] <= NEWEST:
        return
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        other = shutil.which(f"python3.{minor}")
        if other and os.name != "nt":
            say(f"this is Python {version[0]}.{version[1]}; continuing with {other}")
            os.execv(other, [other, str(Path(__file__).resolve()), *sys.argv[1:]])
    raise SetupError(
        f"BERT Studio needs Python {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}; "
        f"this is {'.'.join(map(str, version))}."
    )


def venv_package(
    find: Callable[[str], object] = importlib.util.find_spec,
    version: tuple[int, ...] = sys.version_info[:2],
) -> str | None:
    """Debian package that this Python needs to create environments, if it is missing."""
    if LINUX and not (find("venv") and find("ensurepip")):
        return f"python{version[0]}.{version[1]}-venv"
    return None


def fingerprint(extra: str) -> str:
    """Hash of the Python version, this folder and pyproject.toml, with the extra."""
    digest = hashlib.sha256(repr((sys.version_info[:2], str(ROOT))).encode())
    digest.update((ROOT / "pyproject.toml").read_bytes())
    return f"{digest.hexdigest()} {extra}".strip()


def is_ready(extra: str, stamp: Path = STAMP) -> bool:
    """Return True if nothing has changed; an environment for tests also runs the program."""
    if not PYTHON.exists() or not stamp.exists():
        return False
    return stamp.read_text(encoding="utf-8").strip() in {fingerprint(extra), fingerprint("test")}


def is_ours() -> bool:
    """Return True if the environment works and has this version of Python."""
    settings = VENV / "pyvenv.cfg"
    if not (settings.exists() and PYTHON.exists()):
        return False
    version = re.search(r"(?m)^version\s*=\s*(\d+)\.(\d+)", settings.read_text("utf-8"))
    same = version is not None and (int(version[1]), int(version[2])) == sys.version_info[:2]
    pip = [str(PYTHON), "-m", "pip", "--version"]
    return same and subprocess.run(pip, capture_output=True).returncode == 0


def make_venv() -> None:
    if VENV.exists() and any(VENV.iterdir()) and not (VENV / "pyvenv.cfg").exists():
        raise SetupError(f"{VENV} is not an environment; set BERT_STUDIO_VENV to another folder.")
    say("creating", VENV)
    if subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)]).returncode:
        raise SetupError(f"{sys.executable} could not create an environment in {VENV}.")


def install(extra: str, torch: str | None) -> None:
    """Install the project in editable form by pip; uv installs another build of torch."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", *quiet]
    steps = [[*pip, "-e", f"{ROOT}[{extra}]" if extra else str(ROOT)]]
    if torch:
        pinned = re.search(r'"(torch==[^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
        assert pinned is not None
        uv = [str(PYTHON), "-m", "uv", "pip", "install", "--python", str(PYTHON)]
        steps.insert(0, [*uv, f"--torch-backend={torch}", "--reinstall-package=torch", pinned[1]])
        steps.insert(0, [*pip, "uv"])
    elif LINUX and not shutil.which("nvidia-smi") and not (VENV / ".torch-hint-shown").exists():
        say(NO_GPU)
        (VENV / ".torch-hint-shown").touch()
    for step in steps:
        if subprocess.run(step, cwd=ROOT).returncode:
            raise SetupError(
                "The libraries could not be installed; the lines above say why. "
                "With a connection to the package registry, run this again."
            )


def set_up(extra: str = "", torch: str | None = None, fresh: bool = False) -> None:
    """Create or update the environment if it is out of date."""
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
    """Run a program of the environment in the repository; return its exit code."""
    settings = dict(os.environ, PYTHONUTF8="1", **environment)
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=settings).returncode


def run(arguments: list[str]) -> int:
    """Open the window, or run the headless tour without a display."""
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
NO_TESTS = 5  # exit code of pytest if no test was selected
CHECKS: dict[str, list[str | Path]] = {
    "style": [PYTHON, "-m", "ruff", "check"],
    "format": [PYTHON, "-m", "ruff", "format", "--check"],
    "types": [PYTHON, "-m", "mypy"],
    "structure": [SCRIPTS / "lint-imports", "--no-logo"],
}


WINDOWS = "tests in real windows"


def test(arguments: list[str]) -> int:
    """Run all checks and tests, or only pytest if it gets arguments.

    Checks and real windows run one after another in parallel to the tests, which wait a fifth of
    their time.
    """
    missing, tools = (missing_libraries(QT), missing_tools()) if LINUX else ([], [])
    if LINUX and can_install():
        need([*missing_libraries(QT + SCREEN), *tools], "--gui-tests")
        tools = []
    else:
        need(missing)
    set_up("test")
    if arguments:
        return call([PYTHON, "-m", "pytest", *arguments])
    checks = dict(CHECKS)
    if LINUX and not tools:
        checks[WINDOWS] = [*IN_WINDOWS, "gui", "-n", "2", *marked("gui")]  # each has its own screen
    else:
        say(f"{WINDOWS} are left out: they need {', '.join(tools) or 'Xvfb'}")
    processes = str(max(3, min(8, (os.cpu_count() or 2) // 2)))  # each waits a fifth of its time
    tests = [*PYTEST, "not gui", "-n", processes, "--dist", "worksteal"]
    failed = [name for name, code in run_all(tests, checks).items() if code not in (0, NO_TESTS)]
    if failed:
        say("did not pass:", ", ".join(failed))
    return 1 if failed else 0


PYTEST: list[str | Path] = [PYTHON, "-m", "pytest", "-m"]
IN_WINDOWS = [
    *("env", "QT_QPA_PLATFORM=xcb", "xvfb-run", "-a", "-s", VIRTUAL, "sh", "-c", MANAGED, "sh"),
    *PYTEST,
]


def marked(marker: str) -> list[Path]:
    """Files with tests of this marker; importing all others would take long."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file for file in files if f"mark.{marker}" in file.read_text("utf-8")]


def run_all(
    tests: Sequence[str | Path], checks: Mapping[str, Sequence[str | Path]]
) -> dict[str, int]:
    """Exit codes by name; the checks run one after another in parallel to the tests."""
    with ThreadPoolExecutor(1) as pool:
        codes = {name: pool.submit(call_quietly, name, check) for name, check in checks.items()}
        say("tests, in parallel to:", ", ".join(checks))
        try:
            code = call(tests)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return {name: result.result() for name, result in codes.items()} | {"tests": code}


def call_quietly(name: str, command: Sequence[str | Path]) -> int:
    """Like `call`, but print the output at once after the program has ended."""
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
    """Print what this machine has; return 1 if something is missing."""
    missing = missing_libraries(QT + SCREEN) if LINUX else []
    ready = is_ready("")
    print("Environment", VENV, "is ready" if ready else "is missing or out of date")
    print("Display    ", "yes" if has_display(os.environ) else "none: the headless commands work")
    print("For Qt     ", f"missing: {', '.join(missing)}" if missing else "all libraries there")
    if LINUX:
        tools = missing_tools()
        print("For tests  ", f"missing: {', '.join(tools)}" if tools else "all tools there")
    sys.stdout.flush()
    return 1 if missing or not ready else call([PYTHON, "-c", REPORT])


def pictures(arguments: list[str]) -> int:
    if LINUX:
        need(missing_libraries(QT))
    set_up()
    return call([PYTHON, "-m", "tools.pictures", *arguments], QT_QPA_PLATFORM="offscreen")


def docs(arguments: list[str]) -> int:
    set_up("test")
    return call([PYTHON, "-m", "tools.docs", *arguments])


def texts(arguments: list[str]) -> int:
    set_up()
    return call([PYTHON, "-m", "tools.texts", *arguments])


def setup(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="dev.py setup")
    parser.add_argument("--torch", metavar="BACKEND", help="auto, cpu, cu130, …")
    parser.add_argument("--fresh", action="store_true", help="create the environment again")
    options = parser.parse_args(arguments)
    set_up("", options.torch, options.fresh)
    return 0


def clean() -> int:
    """Remove the environment and the caches of tools."""
    if (VENV / "pyvenv.cfg").exists():
        shutil.rmtree(VENV)
    for name in CACHES:
        shutil.rmtree(ROOT / name, ignore_errors=True)
    return 0


def main(arguments: Sequence[str]) -> int:
    command, *rest = arguments or ["--help"]
    commands: dict[str, Callable[[], int]] = {
        "run": lambda: run(rest),
        "test": lambda: test(rest),
        "doctor": doctor,
        "docs": lambda: docs(rest),
        "pictures": lambda: pictures(rest),
        "texts": lambda: texts(rest),
        "setup": lambda: setup(rest),
        "clean": clean,
    }
    if command in ("-h", "--help"):
        print(__doc__, end="")
        return 0 if arguments else 2
    if command not in commands:
        say(f"unknown command “{command}”; known: {', '.join(commands)}")
        return 2
    try:
        check_python()
        return commands[command]()
    except SetupError as error:
        say(error)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
