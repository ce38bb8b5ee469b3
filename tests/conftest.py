"""Fixtures for all tests: no screen, the same style everywhere, nothing left behind."""

import gc
import os
import re
import shutil
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["QT_SCALE_FACTOR"] = os.environ.get("TEST_SCALE", "1")
os.environ["QT_STYLE_OVERRIDE"] = "Fusion"
os.environ["HF_HUB_OFFLINE"] = "1"  # transformers must not open the network
os.environ["HF_HUB_CACHE"] = os.devnull  # hide models of the user
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
for threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # more threads than cores: none must spin
# otherwise each subprocess compiles our modules again in 0.3 s of CPU time
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "true"  # as the program does

import psutil
import pytest

from app.__main__ import restore_import
from engine.cores import thread_candidates
from engine.files.atomic_write import UMASK, write_file
from engine.files.home import Home
from engine.system.precision import MEASUREMENTS
from engine.system.torch_import import load_torch_without_gc

THREADS = int(os.environ["OMP_NUM_THREADS"].split(",")[0])  # other values are for nested levels
USER_UMASK = os.umask(0)
os.umask(USER_UMASK)
SHM = Path("/dev/shm")  # fsync costs nothing there; a run calls it about 70 times
MIN_FREE = 4_000_000_000  # bytes that must be free there, and also in RAM


def keep_files_in_memory() -> None:
    """Put temporary files of tests and their processes into memory if there is space."""
    if "TMPDIR" in os.environ or not os.access(SHM, os.W_OK | os.X_OK):
        return
    if min(shutil.disk_usage(SHM).free, psutil.virtual_memory().available - MIN_FREE) > MIN_FREE:
        os.environ["TMPDIR"] = tempfile.tempdir = str(SHM)


keep_files_in_memory()
load_torch_without_gc()  # as the program does

REPOSITORY = Path(__file__).resolve().parents[1]
ARTIFACTS = Path(os.environ.get("TEST_ARTIFACTS", REPOSITORY / "test-artifacts"))
DIALOG_TIMEOUT = 15_000  # ms until a dialog that nothing closes is closed
LONG = "BERT_STUDIO_LONG_TESTS"  # set by --long; read by `tests.often`
END_TIMEOUT = 20  # s for processes started by a test to end


def screenshot_path(name: str) -> Path:
    """File for the picture `name`; creates its folder."""
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    return ARTIFACTS / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)[-150:]}.png"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run only the long tests")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # while importing: garbage collection would take a third of the time
    restore_import()  # as the program does
    if config.getoption("--long"):
        os.environ[LONG] = "1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked long; with --long, deselect all others.

    Tests that share an expensive fixture come first: processes steal tests from the end of each
    other's queue, so that no second process builds it.
    """
    long = bool(config.getoption("--long"))
    deselected = {item for item in items if not _is_selected(item, long)}
    if deselected:
        config.hook.pytest_deselected(items=list(deselected))
        items[:] = [item for item in items if item not in deselected]
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


def pytest_collection_finish() -> None:
    """Freeze imported objects, so that the collector skips them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # the usual one takes a fortieth of the time
    gc.enable()


def restore_umask() -> None:
    """Restore the umask: the program sets a private one when it starts."""
    os.umask(USER_UMASK)
    os.environ.pop(UMASK, None)


def restore_torch_threads() -> None:
    """Restore the number of threads: a training in this process uses all cores."""
    if (torch := sys.modules.get("torch")) and torch.get_num_threads() != THREADS:
        torch.set_num_threads(THREADS)


@pytest.fixture(autouse=True)
def restored_process_state() -> Iterator[None]:
    """Run each test with the user's umask and the usual number of threads, also after a command in
    this process."""
    restore_umask()
    restore_torch_threads()
    yield
    restore_umask()
    restore_torch_threads()


@pytest.fixture(scope="session", autouse=True)
def unchanged_priority() -> Iterator[None]:
    """Keep the priority of this process: a worker lowers it for long questions, and some tests
    answer them in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psutil.Process, "nice", lambda process, value=None: 0)
        yield


def seed_torch(name: str) -> None:
    """Seed torch by a name, so that weights are equal in every run.

    For the CPU alone: `torch.manual_seed` records a traceback for each GPU in 1 to 3 ms.
    """
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(zlib.crc32(name.encode()))


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> None:
    seed_torch(fixturedef.argname)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    seed_torch(item.name)


def _is_selected(item: pytest.Item, long: bool) -> bool:
    if item.get_closest_marker("long"):
        return long
    return not long or getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """End background jobs and widgets of a test before its home is removed."""
    if "qtbot" not in getattr(item, "fixturenames", ()):
        return (yield)
    from PySide6.QtCore import QCoreApplication, QEvent

    from app import background

    is_over = background.finish(END_TIMEOUT)
    result = yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert is_over, "background jobs still running"
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Save a picture of every visible window when a test fails."""
    report = yield
    if report.when == "call" and report.failed and "qtbot" in getattr(item, "fixturenames", ()):
        from PySide6.QtWidgets import QApplication

        for number, window in enumerate(w for w in QApplication.topLevelWidgets() if w.isVisible()):
            path = screenshot_path(f"{item.nodeid}-{number}")
            window.grab().save(str(path))
            report.sections.append(("picture", str(path)))
    return report


@pytest.fixture(scope="session")
def assets() -> Path:
    """The shared checkpoints, data sets and corpora; tests skip without them."""
    folder = REPOSITORY.parent / "shared" / "assets"
    if not folder.is_dir():
        pytest.skip("the shared assets are not available")
    return folder


@pytest.fixture(scope="session")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """`tuned(kind)` is the model of a task, shared by all tests: change only copies."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared

    @cache
    def tune(kind: str) -> Any:
        from tests.engine.fine_tuned import fine_tuned

        seed_torch(kind)
        (shared / kind).mkdir(exist_ok=True)
        return fine_tuned(shared / kind, kind)

    return tune


@pytest.fixture(scope="session", autouse=True)
def hidden_user_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the home of the user from tests and their processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERT_STUDIO_HOME", str(tmp_path_factory.mktemp("nobody") / "home"))
        yield


@pytest.fixture(scope="session")
def measurements(hidden_user_home: None) -> bytes:
    """Speed measurements of a machine on which fp32 is fastest: a run in a new home would measure
    for a second, and choose different precisions on different machines."""
    import torch

    from engine.training.device import machine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "_measure_rate", lambda dtype, device: 1e9 * dtype.itemsize)
        for threads in {1, *thread_candidates()}:
            machine.matmul_speeds(torch.device("cpu"), threads)
        machine._best_threads(divisor=1, can_measure=True)
    return (Home().cache / MEASUREMENTS).read_bytes()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measurements: bytes) -> Home:
    """A new home, also for processes started by the test."""
    home_folder = Home(tmp_path / "home")
    home_folder.make()
    write_file(home_folder.cache / MEASUREMENTS, measurements)
    monkeypatch.setenv("BERT_STUDIO_HOME", str(home_folder.root))
    return home_folder


@pytest.fixture(autouse=True)
def no_leaked_processes() -> Iterator[None]:
    """Check that all processes and threads started by a test have ended."""
    before, threads = child_pids(), set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - threads:
        if not thread.daemon:
            thread.join(END_TIMEOUT)
            assert not thread.is_alive(), f"thread still running: {thread.name}"
    children = list[psutil.Process]()
    for pid in child_pids() - before:
        with suppress(psutil.NoSuchProcess):
            child = psutil.Process(pid)
            children += [child, *child.children(recursive=True)]
    children = [child for child in children if not _has_ended(child)]
    _, alive = psutil.wait_procs(children, END_TIMEOUT)
    names = [_command(child) for child in alive]
    for child in alive:
        child.kill()
    assert not names, f"processes still running: {names}"


def child_pids() -> set[int]:
    """Ids of the child processes; on Linux read from a file of each thread, five times as fast as
    finding the parent of every process."""
    tasks = "/proc/self/task"
    if not os.path.exists(f"{tasks}/{os.getpid()}/children"):
        return {child.pid for child in psutil.Process().children()}
    pids = set[int]()
    for thread in os.listdir(tasks):
        with suppress(OSError), open(f"{tasks}/{thread}/children") as file:  # or it has ended
            pids |= set(map(int, file.read().split()))
    return pids


def _has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE or "resource_tracker" in _command(process)
    except psutil.NoSuchProcess:
        return True


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:120]
    except psutil.Error:
        return str(process.pid)


@pytest.fixture(autouse=True)
def watchdog(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Fail a test of the window that blocks the event loop for 300 ms in each of three tries."""
    if "qtbot" not in request.fixturenames:
        yield None
        return
    request.getfixturevalue("qtbot")
    from tests.watchdog import BLOCKED, is_off, watch_event_loops

    if is_off():
        yield None
        return
    # `app.shell.garbage` is collecting: freeze what exists, so that it skips the session's objects
    if not gc.isenabled():
        gc.collect()
        gc.freeze()
    with watch_event_loops(monkeypatch) as dog:
        yield dog
        blocked, dog.blocked = dog.blocked, []
    assert not blocked, f"{BLOCKED}:\n" + "\n".join(blocked)


@pytest.fixture(autouse=True)
def no_stuck_dialog(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that waits in a dialog's own loop after 15 s.

    pytest-timeout does not interrupt such a loop by its signal method, and its thread method ends
    the whole run.
    """
    if "qtbot" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("qapp")
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    stuck: list[str] = []

    def close() -> None:
        while (dialog := QApplication.activeModalWidget()) is not None and len(stuck) < 10:
            stuck.append(f"{type(dialog).__name__} “{dialog.windowTitle()}”")
            dialog.close()
            dialog.hide()

    timer = QTimer()
    timer.timeout.connect(close)
    timer.start(DIALOG_TIMEOUT)
    yield
    timer.stop()
    assert not stuck, f"dialogs left open: {stuck}"


@pytest.fixture
def screen() -> Callable[[Any, str], Path]:
    """`screen(widget, name)` saves a picture of a widget among the artifacts."""

    def save(widget: Any, name: str) -> Path:
        path = screenshot_path(name)
        assert widget.grab().save(str(path), quality=88)
        return path

    return save
