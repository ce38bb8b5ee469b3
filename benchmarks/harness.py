"""Tools shared by the benchmark cases: options, processes, timing, tables and windows."""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
Main = Callable[[list[str]], object]


def parser(case: str, doc: str | None) -> argparse.ArgumentParser:
    """Options of a case, with the module's docstring as help text."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks {case}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def run_part(case: str, doc: str | None, parts: Mapping[str, Main], arguments: list[str]) -> None:
    """Run the part of a case that the first argument names."""
    options = parser(case, doc)
    options.add_argument("part", choices=tuple(parts))
    options.add_argument("options", nargs=argparse.REMAINDER, help="PART --help lists them")
    chosen = options.parse_args(arguments)
    parts[chosen.part](chosen.options)


@contextmanager
def work_folder(kept: Path | None = None) -> Iterator[Path]:
    """The folder `kept`, created if missing, or a temporary one."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="bert-studio-benchmark-") as folder:
        yield Path(folder)


# ── processes ────────────────────────────────────────────────────────────────────────────────


def run_python(*arguments: object, env: Mapping[str, str] | None = None) -> str:
    """Run Python in the project folder and return its output; exit if it fails."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=PROJECT, env=env, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command[1:])[:300]} ended with {done.returncode}")
    return done.stdout


def run_json(module: str, *options: object, env: Mapping[str, str] | None = None) -> Any:
    """Last line of `python -m MODULE OPTIONS` as JSON."""
    return json.loads(run_python("-m", module, *options, env=env).splitlines()[-1])


def run_studio(*words: object, home: Path | None = None) -> str:
    """Output of a headless command; its progress goes to stderr."""
    env = {**os.environ, **({"BERT_STUDIO_HOME": str(home)} if home else {})}
    return run_python("-m", "app", *words, env=env)


def random_model(folder: Path, spec: Any, tokenizer: Any, **heads: Any) -> Path:
    """A checkpoint with random weights; masked language model unless `heads` are given."""
    import torch

    from engine.models.checkpoint import save
    from engine.models.heads import Heads
    from engine.models.network import Network

    if not folder.is_dir():
        torch.manual_seed(0)
        save(folder, Network(spec, Heads(**heads or {"mlm": True})), tokenizer)
    return folder


# ── results, timing and tables ───────────────────────────────────────────────────────────────


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The lines of a file of JSON lines; none if there is no file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall time and of CPU time of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - wall, time.process_time() - cpu


def median_range(values: Sequence[float], form: str = ".2f") -> str:
    """Median with minimum and maximum: “1.00 (0.90 to 1.40)”."""
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


def table_row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def table_head(*names: str) -> str:
    return f"{table_row(names)}\n{table_row('---' for _ in names)}"


def print_row(*cells: object) -> None:
    print(table_row(cells), flush=True)


def cpu_name() -> str:
    """Model name of the CPU."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


# ── windows ──────────────────────────────────────────────────────────────────────────────────


@contextmanager
def offscreen_studio(home_folder: Path) -> Iterator[Any]:
    """The application's studio on a home, without a window."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from app.notices import Notices
    from app.shell.opening import make_application
    from app.studio import Studio
    from engine.files.home import Home

    app = QApplication.instance() or make_application([])
    home = Home(home_folder)
    home.make()
    studio = Studio(home, Notices())
    try:
        yield studio
    finally:
        studio.close()
        app.processEvents()


@contextmanager
def offscreen_window(home_folder: Path, settling: int = 8_000) -> Iterator[tuple[Any, Any]]:
    """The studio and its main window; waits `settling` ms until pages are built."""
    with offscreen_studio(home_folder) as studio:
        from PySide6.QtTest import QTest

        from app.window import MainWindow

        window = MainWindow(studio)
        window.resize(1280, 800)
        window.show()
        window.begin()
        QTest.qWait(settling)
        try:
            yield studio, window
        finally:
            window.close()


@contextmanager
def screen(size: tuple[int, int]) -> Iterator[None]:
    """An X server: the one of DISPLAY, else a virtual screen."""
    if os.environ.get("DISPLAY"):
        yield
        return
    if shutil.which("Xvfb") is None:
        sys.exit("Xvfb is not installed; packaging/install-system-libs.sh --gui-tests does that.")
    read, write = os.pipe()
    options = ["-screen", "0", f"{size[0]}x{size[1]}x24", "-nolisten", "tcp"]
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), *options], pass_fds=[write], stderr=subprocess.DEVNULL
    )
    os.close(write)
    try:
        with open(read, encoding="ascii") as number:
            os.environ["DISPLAY"] = f":{number.readline().strip()}"
        os.environ["QT_QPA_PLATFORM"] = "xcb"
        yield
    finally:
        server.terminate()
        server.wait(10)


def wait_until(is_done: Callable[[], object], seconds: float = 120, pause: float = 0.002) -> None:
    """Process events until a condition holds; raises TimeoutError."""
    from PySide6.QtCore import QCoreApplication

    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            raise TimeoutError
        QCoreApplication.processEvents()
        time.sleep(pause)


class Pauses:
    """Delays of a 5 ms timer on the GUI thread, in ms: by the clock, and CPU time in between."""

    INTERVAL = 5

    def __init__(self) -> None:
        from PySide6.QtCore import QTimer

        self.delays: list[float] = []
        self.busy: list[float] = []
        self.reset()
        self._timer = QTimer(interval=self.INTERVAL)
        self._timer.timeout.connect(self._on_timeout)
        self._timer.start()

    def reset(self) -> None:
        self.delays.clear()
        self.busy.clear()
        self.last, self._last_cpu = time.perf_counter(), time.thread_time()

    def summary(self) -> str:
        delays = sorted(self.delays)
        return (
            f"longest pause {delays[-1]:.0f} ms, 99 % below "
            f"{delays[len(delays) * 99 // 100]:.1f} ms, {sum(d > 50 for d in delays)} over 50 ms; "
            f"longest computation {max(self.busy):.0f} ms"
        )

    def _on_timeout(self) -> None:
        now, cpu = time.perf_counter(), time.thread_time()
        self.delays.append((now - self.last) * 1000 - self.INTERVAL)
        self.busy.append((cpu - self._last_cpu) * 1000)
        self.last, self._last_cpu = now, cpu


def drive(
    steps: str,
    home: Path,
    work: Path,
    preferences: Mapping[str, object],
    size: str = "1280x800",
    scale: str = "1",
) -> str:
    """Carry out steps of tools/drive.py in a window on this home; return the error, or “”.

    The window starts with these preferences. `work` gets the pictures, the steps and, if a step
    fails, failure.png and tree.txt.
    """
    for folder in (home, work):
        folder.mkdir(parents=True, exist_ok=True)
    settings = {"preferences": dict(preferences), "places": {}}
    (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    file = work / "steps.txt"
    file.write_text(steps, encoding="utf-8")
    command = [sys.executable, str(PROJECT / "tools" / "drive.py")]
    command += ["--size", size, "--scale", scale, "--out", str(work), "--steps", str(file)]
    done = subprocess.run(
        [*command, "--", sys.executable, "-m", "app"],
        cwd=PROJECT,
        env={**os.environ, "BERT_STUDIO_HOME": str(home), "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
    )
    log = home / "studio.log"
    if log.is_file() and "Traceback" in (text := log.read_text(encoding="utf-8")):
        return f"error in studio.log: {text[text.index('Traceback') :]}"
    return done.stderr[done.stderr.find("drive.py:") :].strip() if done.returncode else ""


def read_sections(file: Path) -> dict[str, str]:
    """Sections of a file of steps, each under a line “[NAME]”."""
    sections: dict[str, str] = {}
    name = ""
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("["):
            name = line.strip().strip("[]")
            sections[name] = ""
        elif name:
            sections[name] += line
    return sections
