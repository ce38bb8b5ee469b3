"""What the user prefers, typed, kept in `settings.json` of the home folder.

`Preferences` is what the Settings page shows. `places` is what the window remembers by itself:
geometry, splitters, columns. A damaged file never stops the start: it is kept as
`settings.json.bad` and the defaults are taken.
"""

import json
import logging
import os
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from PySide6.QtCore import QByteArray, QObject, Signal
from PySide6.QtWidgets import QHeaderView, QMainWindow, QSplitter, QWidget

from app import background
from app.timers import debounced
from engine.desktop.preferences import LARGEST, RunPreferences
from engine.files.atomic_write import write_file
from engine.files.regular_file import read_json

log = logging.getLogger("studio")

SAVE_DELAY_MS = 400  # ms between a change and the file


class Preferences(RunPreferences):
    """What can be chosen, with what counts for runs without a window; unknown fields of a newer
    version are kept out of the way.
    """

    theme: Literal["light", "dark", "system"] = "system"
    language: str = Field("", max_length=20)  # the code of a known one; empty: that of the system
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    threads: int = Field(0, ge=0, le=1024)  # 0: what is quickest
    explorer_device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    exact_answers: bool = False  # in Explore: float32, also where shorter numbers agree
    stand_by: bool = True  # a worker waits with torch loaded while a run or an import is planned
    hub_allowed: bool = False  # the user has agreed that the Hugging Face Hub is contacted
    model_folder: str = Field("", max_length=1_000)  # whose models are used in place; empty: none
    ask_on_close: bool = True  # only while runs are not finished


class Settings(QObject):
    """The preferences, and what the window remembers.

    Signals:
        changed: a preference has a new value; its name.
    """

    changed = Signal(str)

    def __init__(self, file: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._file = file
        self.preferences, self._places, self.was_damaged = _read(file)
        self._writing: background.Job | None = None
        self._timer = debounced(self, SAVE_DELAY_MS, self._write)

    def set(self, name: str, value: object) -> None:
        """Change one preference; the file follows a moment later.

        Raises pydantic's ValidationError for a value out of range: a mistake of the caller.
        """
        new = Preferences.model_validate({**self.preferences.model_dump(), name: value})
        if new != self.preferences:
            self.preferences = new
            self._timer.start()
            self.changed.emit(name)

    def place(self, key: str, default: Any = None) -> Any:
        """Something small that was kept: a text, a number, a list of these."""
        return self._places.get(key, default)

    def keep(self, key: str, value: Any) -> None:
        """Keep something small under `key` for the next start."""
        if self._places.get(key) != value:
            self._places[key] = value
            self._timer.start()

    def remember(self, widget: QWidget, key: str) -> None:
        """Bring back where a splitter, header or window was left, and keep it from now on.

        Call it after the widget has its children or its model.
        """
        if not isinstance(widget, QSplitter | QHeaderView | QMainWindow):
            raise TypeError(f"{type(widget).__name__} has nothing to remember")
        state = self._bytes(key)
        if isinstance(widget, QMainWindow):
            if state:
                widget.restoreGeometry(state)
            return  # the window keeps its place with `keep_geometry` when it closes
        if state:
            widget.restoreState(state)
        keep = lambda *_: self.keep(key, _text(widget.saveState()))  # noqa: E731
        if isinstance(widget, QSplitter):
            widget.splitterMoved.connect(keep)
        else:
            widget.sectionResized.connect(keep)
            widget.sectionMoved.connect(keep)
            widget.sortIndicatorChanged.connect(keep)

    def keep_geometry(self, window: QMainWindow, key: str) -> None:
        self.keep(key, _text(window.saveGeometry()))

    def close(self) -> None:
        """Write now what still waits; what changes afterwards is not kept."""
        if self._timer.isActive():
            self._timer.stop()
            write_file(self._file, self._content())
        self._timer.blockSignals(True)

    def _bytes(self, key: str) -> QByteArray | None:
        kept = self._places.get(key)
        try:
            return QByteArray(b64decode(kept, validate=True)) if isinstance(kept, str) else None
        except ValueError:
            return None

    def _content(self) -> bytes:
        whole = {"preferences": self.preferences.model_dump(), "places": self._places}
        return json.dumps(whole, indent=1).encode("utf-8")

    def _write(self) -> None:
        if self._writing is not None and not self._writing.is_over():
            self._timer.start()  # one write at a time keeps their order
            return
        content = self._content()
        self._writing = background.run(
            self, lambda: write_file(self._file, content), lambda _: None
        )


def _text(state: QByteArray) -> str:
    return b64encode(bytes(state.data())).decode("ascii")


def _read(file: Path) -> tuple[Preferences, dict[str, Any], bool]:
    """Preferences, places, and whether the file was damaged."""
    try:
        whole = read_json(file, LARGEST)
        preferences = Preferences.model_validate(whole.get("preferences", {}))
        places = whole.get("places", {})
        if not isinstance(places, dict):
            raise TypeError("places is no object")
        return preferences, places, False
    except FileNotFoundError:
        return Preferences(), {}, False
    except (OSError, ValueError, TypeError, AttributeError) as error:
        log.warning("settings were damaged: %s", error)
        try:
            os.replace(file, file.with_name(f"{file.name}.bad"))
        except OSError:
            log.warning("the damaged settings could not be kept")
        return Preferences(), {}, True
