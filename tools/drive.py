#!/usr/bin/env python3
"""Use a desktop program as a person would, on a virtual screen, and take pictures of it.

    python3 tools/drive.py [--size 1920x1200] [--scale 1] [--out FOLDER]
                           (--steps FILE | --step STEP …) -- PROGRAM ARGUMENTS…

Starts Xvfb, a separate D-Bus session and the window manager openbox, starts the program with
Qt's X11 platform and its accessibility bridge on, carries out the steps with real mouse and key
events (xdotool), and ends everything that it started. Needs the packages that
`packaging/install-system-libs.sh --gui-tests` installs. Exits 0 when every step succeeded; when
one fails it saves failure.png and tree.txt into FOLDER and exits 1. At a scale of 2 the screen
must be twice as large, too.

Steps, one to a line, quoted as in a shell; # begins a comment. NAME is what a screen reader would
say, the accessible name; “role:NAME” narrows it (push button:Start, menu item:Quit, text:Model),
“NAME#2” is the second match, and a * at the end of NAME matches anything. What is outside of
the part of a page that is scrolled is brought into sight with the wheel before it is clicked. X,Y
are pixels inside the current window.

    window TITLE [SECONDS]   wait for a window whose title has TITLE in it; it becomes the current;
                             a click just before it is repeated as below while its target is shown
    resize W H               resize the current window
    click NAME|X,Y [UNTIL [SECONDS]]   again, as a person does, where no UNTIL is shown within
                             SECONDS (15), three times in all
    dclick NAME|X,Y          also rclick, hover
    drag X,Y X,Y
    scroll up|down N
    type TEXT                into the focused widget
    key KEYS                 names of xdotool: ctrl+n, Return, alt+F4
    expect NAME [SECONDS]    something that is shown has this name within SECONDS (30)
    gone NAME [SECONDS]
    wait SECONDS
    shot FILE                a picture of the current window
    screen FILE              a picture of the whole screen
    tree [FILE]              the accessible tree: roles, names, places
    quit [SECONDS]           close the window (alt+F4); the program ends well within SECONDS (30)
    ended [SECONDS]          the program ends well within SECONDS (30)
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    import pyatspi
    from gi.repository import Atspi, Gio, GLib
except ImportError:
    pyatspi = None

Box = tuple[int, int, int, int]  # left, top, width, height, in screen pixels
TOOLS = ("Xvfb", "xdotool", "import", "openbox")
MAX_CHILDREN = 400  # children of one widget that are visited
MAX_NOTCHES = 40  # of the wheel, until it is visible
# roles that end the search for a scrolled ancestor
ENDS = ("frame", "window", "dialog", "popup menu", "combo box", "application")
BUS_TIMEOUT = 10_000  # ms for one reply
STEP_TIMEOUT = "30"  # s that a step waits, on a busy machine
CLICK_TIMEOUT, MAX_CLICKS = "15", 3  # s until it is tried again, and number of clicks
START_TIMEOUT = 60.0  # s for a window, including the start of the session
REGISTRY_TIMEOUT = 20.0  # s for the registry of accessible programs, which sometimes hangs
MAX_SESSIONS = 4  # tries before giving up on the registry
NO_REGISTRY = 75  # exit status of a session without a registry


class StepFailed(Exception):
    """A step failed."""


class NoRegistry(Exception):
    """The registry of accessible programs does not answer in this D-Bus session."""


def until(ready: Callable[[], Any], seconds: float, what: str) -> Any:
    """Wait until `ready` returns something, and return it.

    It rests as long as `ready` took, so that reading the tree does not slow the program down.
    """
    end = time.monotonic() + seconds
    start = time.monotonic()
    while not (result := ready()):
        now = time.monotonic()
        if now > end:
            raise StepFailed(f"not within {seconds:g} s: {what}")
        time.sleep(max(0.1, now - start))
        start = time.monotonic()
    return result


def end_process(process: subprocess.Popen[bytes]) -> None:
    """End a process and all its children."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)


# ── the tree of widgets, as a screen reader has it ───────────────────────────────────────────


def has_registry() -> bool:
    """Return True if the registry of accessible programs answers; asking starts it and its bus.

    libatspi must not ask before: if the registry is slow to start, it takes the desktop for empty
    and never asks again.
    """
    try:
        session = Gio.bus_get_sync(Gio.BusType.SESSION, None)
        address = _call(session, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")
        flags = (
            Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
            | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        )
        bus = Gio.DBusConnection.new_for_address_sync(address[0], flags, None, None)
        desktop = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        _call(bus, *desktop, "org.a11y.atspi.Accessible", "GetChildren")
        bus.close_sync(None)
    except GLib.Error:
        return False
    return True


def _call(bus: Any, *method: str) -> Any:
    """Call a method of the bus; `method` is its service, object, interface and name."""
    return bus.call_sync(*method, None, None, Gio.DBusCallFlags.NONE, BUS_TIMEOUT, None).unpack()


def get_box(node: Any) -> Box | None:
    """Position of a widget; None if it is hidden or gone."""
    try:
        if not is_showing(node):
            return None
        box = node.queryComponent().getExtents(pyatspi.DESKTOP_COORDS)
    except Exception:  # noqa: BLE001 - any error of the bus on a removed widget
        return None
    return (box.x, box.y, box.width, box.height) if box.width > 0 and box.height > 0 else None


def is_showing(node: Any) -> bool:
    return bool(node.getState().contains(pyatspi.STATE_SHOWING))


def programs() -> list[Any]:
    """Every program on the screen."""
    if pyatspi is None:
        raise StepFailed("steps by name need the package python3-pyatspi")
    return [program for program in pyatspi.Registry.getDesktop(0) if program is not None]


def walk(node: Any, depth: int = 0) -> Iterator[tuple[Any, str, str, int]]:
    """Every widget of a program: node, role, name, depth. Each takes a few calls over the bus."""
    try:
        found = (node, node.getRoleName(), node.name, depth)
        children = [node[i] for i in range(min(node.childCount, MAX_CHILDREN))]
    except Exception:  # noqa: BLE001 - it went away while it was being read
        return
    yield found
    for child in children:
        if child is not None:
            yield from walk(child, depth + 1)


def find(target: str) -> Box | None:
    """Position of the widget that a step names."""
    hit = find_node(target)
    return hit[1] if hit else None


def find_node(target: str) -> tuple[Any, Box] | None:
    """The widget that a step names, and its position."""
    name, _, count = target.rpartition("#")
    if not (name and count.isdigit()):
        name, count = target, "1"
    role, _, rest = name.partition(":")
    if role.islower() and rest:
        name = rest
    else:
        role = ""
    hits = search_tree(role, name)
    if len(hits) < int(count):  # showing a hidden widget sends no event
        clear_tree()
        hits = search_tree(role, name)
    if not role:  # prefer the field to its label
        hits.sort(key=lambda hit: hit[0])
    return hits[int(count) - 1][1:] if len(hits) >= int(count) else None


def is_point(target: str) -> bool:
    """Return True if a step names a point, as 120,80, and no widget."""
    return "," in target and target.replace(",", "").replace("-", "").isdigit()


def is_enabled(node: Any) -> bool:
    """Return True if a click would do something."""
    try:
        return bool(node.getState().contains(pyatspi.STATE_ENABLED))
    except Exception:  # noqa: BLE001 - it went away while it was being read
        return False


def scroll_area(node: Any) -> Box | None:
    """Area to scroll until the centre of a widget is visible."""
    box = get_box(node)
    if box is None:
        return None
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    try:
        while (node := node.parent) is not None and node.getRoleName() not in ENDS:
            outer = get_box(node)
            if outer is not None and not (
                outer[0] <= x < outer[0] + outer[2] and outer[1] <= y < outer[1] + outer[3]
            ):
                return outer
    except Exception:  # noqa: BLE001 - it went away while it was being read
        return None
    return None


def search_tree(role: str, name: str) -> list[tuple[bool, Any, Box]]:
    """Widgets of this name, their positions, and whether each is a label of another one.

    The program searches its shown widgets itself, in one call over the bus.
    """
    every = Atspi.CollectionMatchType.ALL
    states = Atspi.StateSet.new([Atspi.StateType.SHOWING])
    roles = [getattr(Atspi.Role, role.upper().replace(" ", "_"))] if role else []
    kind = Atspi.CollectionMatchType.ANY if role else every
    rule = Atspi.MatchRule.new(states, every, {}, every, roles, kind, [], every, False)
    hits = []
    for program in programs():
        try:
            found = Atspi.Accessible.get_collection_iface(program).get_matches(
                rule, Atspi.CollectionSortOrder.CANONICAL, 0, True
            )
        except Exception:  # noqa: BLE001 - the program is ending
            found = []
        hits += [check_hit(node, name) for node in found if node is not None]
    return list(filter(None, hits))


def check_hit(node: Any, name: str) -> tuple[bool, Any, Box] | None:
    """Is it a label of another widget, the widget, its position; None if it has another name."""
    try:
        if not is_named(node.name, name) or get_box(node.parent) is None:
            return None
        is_label = node.getRoleName() in ("label", "filler", "panel")
    except Exception:  # noqa: BLE001 - it went away while it was being read
        return None
    return (is_label, node, box) if (box := get_box(node)) else None


def clear_tree() -> None:
    """Clear the cached tree."""
    for program in programs():
        program.clearCache()


def is_named(its_name: str, pattern: str) -> bool:
    """Return True if a widget has the name of a step; a * at its end matches anything."""
    if pattern.endswith("*"):
        return its_name.startswith(pattern[:-1])
    return its_name.rstrip(":") == pattern.rstrip(":")


def tree() -> str:
    lines = []
    nodes = (found for program in programs() for found in walk(program))
    for node, role, name, depth in nodes:
        box = get_box(node)
        position = f"@{box[0]},{box[1]} {box[2]}x{box[3]}" if box else "(not shown)"
        lines.append(f"{'  ' * depth}{role}: {name!r} {position}\n")
    return "".join(lines)


# ── the person ───────────────────────────────────────────────────────────────────────────────


class Person:
    """A user with a separate screen and one program."""

    def __init__(self, out: Path) -> None:
        self._out, self._window, self._factor = out, "", 1.0
        self._clicked = ""  # target of the step before, if that was a plain click
        out.mkdir(parents=True, exist_ok=True)
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, command: list[str], size: str, scale: str) -> None:
        """Start the screen, then the program; raises NoRegistry and StepFailed."""
        self._open_screen(size)
        if pyatspi is not None:  # a program that asks before the bus exists is never in the tree
            try:
                until(has_registry, REGISTRY_TIMEOUT, "the registry of accessible programs")
            except StepFailed as failed:
                raise NoRegistry from failed
            Atspi.set_timeout(BUS_TIMEOUT, int(START_TIMEOUT * 1000))
        settings = {
            "QT_QPA_PLATFORM": "xcb",
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
            "QT_SCALE_FACTOR": scale,
        }
        with open(self._out / "program.log", "wb") as log:
            self._program = self._start(command, log, **settings)

    def _open_screen(self, size: str) -> None:
        read, write = os.pipe()
        options = ["-screen", "0", f"{size}x24", "-dpi", "96", "-nolisten", "tcp", "-noreset"]
        screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), *options],
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._started.append(screen)
        os.close(write)
        with open(read, encoding="ascii") as number:
            display = number.readline().strip()
        if not display:
            raise StepFailed("Xvfb did not start")
        os.environ["DISPLAY"] = f":{display}"
        self._start(["openbox"], subprocess.DEVNULL)
        time.sleep(0.5)

    def _start(self, command: list[str], out: Any, **settings: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            env=dict(os.environ, **settings),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def close(self) -> None:
        for process in reversed(self._started):
            end_process(process)

    def do(self, line: str) -> None:
        """Run one step."""
        name, *rest = shlex.split(line)
        step = getattr(self, f"step_{name}", None)
        if step is None:
            raise StepFailed(f"unknown step {name!r}")
        if name not in ("quit", "ended"):
            self._alive()
        step(*rest)
        self._clicked = rest[0] if name == "click" and len(rest) == 1 else ""

    def _alive(self) -> None:
        if self._program.poll() is not None:
            log = self._out / "program.log"
            raise StepFailed(f"the program ended with {self._program.returncode}; see {log}")

    def _until(self, ready: Callable[[], Any], seconds: float, what: str) -> Any:
        def alive_and_ready() -> Any:
            self._alive()
            return ready()

        return until(alive_and_ready, seconds, what)

    def _x(self, *words: object, check: bool = True) -> str:
        done = subprocess.run(["xdotool", *map(str, words)], capture_output=True, text=True)
        if check and done.returncode:
            raise StepFailed(f"xdotool {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout.strip()

    def _picture(self, window: str, file: str) -> None:
        time.sleep(0.15)
        subprocess.run(["import", "-window", window, str(self._out / file)], check=True)

    def _point(self, target: str, is_ready: Callable[[Any], bool] = bool) -> None:
        def found() -> tuple[Any, Box] | None:
            hit = find_node(target)
            return hit if hit and is_ready(hit[0]) else None

        if is_point(target):
            self._x("mousemove", "--window", self._window, *target.split(","))
        else:
            what = f"something shown and enabled named {target!r}"
            node, box = self._until(found, float(STEP_TIMEOUT), what)
            for _ in range(MAX_NOTCHES):
                if (area := scroll_area(node)) is None:
                    break
                self._x("mousemove", *self._centre(area))
                self._x("click", 4 if box[1] < area[1] else 5)
                time.sleep(0.1)
                node, box = self._until(found, float(STEP_TIMEOUT), what)
            self._x("mousemove", *self._centre(box))
        time.sleep(0.08)

    def _centre(self, box: Box) -> tuple[int, int]:
        """Centre of a box, in screen pixels."""
        left, top, width, height = box
        return int((left + width / 2) * self._factor), int((top + height / 2) * self._factor)

    def step_window(self, title: str, seconds: str = str(START_TIMEOUT)) -> None:
        def found() -> list[str]:
            return self._x("search", "--onlyvisible", "--name", title, check=False).split()

        if self._clicked and not is_point(self._clicked):
            self._click_until(self._clicked, found, float(CLICK_TIMEOUT))
        self._window = self._until(found, float(seconds), f"a window {title!r}")[-1]
        self._x("windowactivate", self._window, check=False)
        self._x("windowfocus", self._window, check=False)
        time.sleep(0.4)
        if pyatspi is not None:  # at a scale the tree has logical pixels
            frame = self._until(
                lambda: self._frame(title), START_TIMEOUT, f"{title!r} in the accessible tree"
            )
            lines = self._x("getwindowgeometry", "--shell", self._window, check=False).splitlines()
            geometry = dict(line.split("=") for line in lines if "=" in line)
            if not geometry:  # a dialog with this word in its title has just closed
                self.step_window(title, seconds)
                return
            self._factor = int(geometry["WIDTH"]) / frame[2]

    def _frame(self, title: str) -> Box | None:
        frames = (frame for program in programs() for frame in program if frame is not None)
        boxes = (get_box(frame) for frame in frames if title in frame.name)
        return next(filter(None, boxes), None)

    def step_resize(self, width: str, height: str) -> None:
        self._x("windowsize", self._window, width, height)
        time.sleep(0.5)

    def step_hover(self, target: str) -> None:
        self._point(target)
        time.sleep(0.25)

    def step_click(self, target: str, until: str = "", seconds: str = CLICK_TIMEOUT) -> None:
        self._click(target, "1")
        if until:
            self._click_until(target, lambda: find(until), float(seconds))
            self.step_expect(until)

    def _click_until(self, target: str, ready: Callable[[], Any], seconds: float) -> None:
        """Repeat a click whose target is still shown, as long as nothing came of it."""
        for _ in range(MAX_CLICKS - 1):
            end = time.monotonic() + seconds
            while not (is_ready := bool(ready())) and time.monotonic() < end:
                self._alive()
                time.sleep(0.2)
            if is_ready or not find(target):
                return
            self._click(target, "1")

    def step_rclick(self, target: str) -> None:
        self._click(target, "3")

    def step_dclick(self, target: str) -> None:
        self._click(target, "--repeat", "2", "--delay", "60", "1")

    def _click(self, target: str, *options: str) -> None:
        self._point(target, is_enabled)
        self._x("click", *options)
        time.sleep(0.25)

    def step_drag(self, first: str, last: str) -> None:
        self._point(first)
        self._x("mousedown", 1)
        (x0, y0), (x1, y1) = (map(int, at.split(",")) for at in (first, last))
        for part in range(1, 11):
            self._point(f"{x0 + (x1 - x0) * part // 10},{y0 + (y1 - y0) * part // 10}")
        self._x("mouseup", 1)
        time.sleep(0.2)

    def step_scroll(self, direction: str, times: str) -> None:
        self._x("click", "--repeat", times, "--delay", "40", 4 if direction == "up" else 5)
        time.sleep(0.2)

    def step_type(self, text: str) -> None:
        # short delays lose characters that are not on the keyboard
        self._x("type", "--delay", "15" if text.isascii() else "80", text)
        time.sleep(0.2)

    def step_key(self, *keys: str) -> None:
        self._x("key", *keys)
        time.sleep(0.3)

    def step_expect(self, name: str, seconds: str = STEP_TIMEOUT) -> None:
        self._until(lambda: find(name), float(seconds), f"expected {name!r}")

    def step_gone(self, name: str, seconds: str = STEP_TIMEOUT) -> None:
        self._until(lambda: not find(name), float(seconds), f"{name!r} to go")

    def step_wait(self, seconds: str) -> None:
        time.sleep(float(seconds))

    def step_shot(self, file: str) -> None:
        self._picture(self._window, file)

    def step_screen(self, file: str) -> None:
        self._picture("root", file)

    def step_tree(self, file: str = "") -> None:
        if file:
            (self._out / file).write_text(tree(), encoding="utf-8")
        else:
            print(tree(), end="")

    def step_quit(self, seconds: str = STEP_TIMEOUT) -> None:
        self._x("key", "alt+F4", check=False)
        self.step_ended(seconds)

    def step_ended(self, seconds: str = STEP_TIMEOUT) -> None:
        if self._program.wait(float(seconds)):
            raise StepFailed(f"the program ended with {self._program.returncode}")

    def save_failure(self) -> None:
        subprocess.run(["import", "-window", "root", str(self._out / "failure.png")], check=False)
        if pyatspi is not None:
            (self._out / "tree.txt").write_text(tree(), encoding="utf-8")


def python_with_pyatspi() -> str:
    """This Python, or the system's if only that has pyatspi."""
    if pyatspi is None:
        for folder in os.get_exec_path():
            other = os.path.join(folder, "python3")
            test = [other, "-c", "import pyatspi"]
            if (
                os.access(other, os.X_OK)
                and not subprocess.run(test, capture_output=True).returncode
            ):
                return other
    return sys.executable


def in_session(drive_options: list[str], command: list[str]) -> int:
    """Run the same command inside a separate D-Bus session; in a new one if that hangs.

    The accessibility bus puts its socket below XDG_RUNTIME_DIR, named by the display, and its
    address on the root window of the display. Two sessions sharing them would mix their trees.
    """
    session = ["dbus-run-session", "--"] if shutil.which("dbus-run-session") else []
    program = shutil.which(command[0]) or command[0]
    inner = [
        python_with_pyatspi(),
        os.path.abspath(__file__),
        *drive_options,
        "--",
        program,
        *command[1:],
    ]
    others = ("DISPLAY", "XAUTHORITY", "AT_SPI_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS")
    settings = {name: value for name, value in os.environ.items() if name not in others}
    settings |= {"DRIVE_INNER": "1", "GSETTINGS_BACKEND": "memory"}
    for _ in range(MAX_SESSIONS):
        with tempfile.TemporaryDirectory() as folder:
            settings["XDG_RUNTIME_DIR"] = folder
            code = subprocess.call([*session, *inner], env=settings)
        if code != NO_REGISTRY:
            break
        print("drive.py: no registry of accessible programs in this session", file=sys.stderr)
    return code


def main() -> int:
    arguments = sys.argv[1:]
    if "--" not in arguments:
        print(__doc__)
        return 2
    drive_options, command = (
        arguments[: arguments.index("--")],
        arguments[arguments.index("--") + 1 :],
    )
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="1920x1200")
    parser.add_argument("--scale", default="1")
    parser.add_argument("--out", type=Path, default=Path("test-artifacts/drive"))
    parser.add_argument("--steps", type=Path)
    parser.add_argument("--step", action="append", default=[])
    options = parser.parse_args(drive_options)
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        print(f"drive.py: not installed: {' '.join(missing)}", file=sys.stderr)
        return 2
    if not os.environ.get("DRIVE_INNER"):
        return in_session(drive_options, command)
    steps = options.steps.read_text(encoding="utf-8").splitlines() if options.steps else []
    person = Person(options.out)
    try:
        person.start(command, options.size, options.scale)
        for number, line in enumerate((*steps, *options.step), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                person.do(line)
            except (StepFailed, subprocess.SubprocessError, TypeError, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"
                print(f"drive.py: step {number} failed: {line}\n  {reason}", file=sys.stderr)
                person.save_failure()
                return 1
        return 0
    except NoRegistry:
        return NO_REGISTRY
    finally:
        person.close()


if __name__ == "__main__":
    sys.exit(main())
