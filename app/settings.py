"""Typed preferences, saved in `settings.json` of the home folder.

`Preferences` are shown on the Settings page; `places` is the state of the window:
geometry, splitters, columns. A damaged file is kept as `settings.json.bad`; defaults replace it.
"""

import json
import logging
import os
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from PySide6.QtCore import QByteArray, QCoreApplication, QObject, Signal
from PySide6.QtWidgets import QHeaderView, QMainWindow, QSplitter, QWidget

from app import background
from app.timers import debounced
from engine.desktop.preferences import MAX_BYTES, RunPreferences
from engine.files.atomic_write import write_file
from engine.files.regular_file import read_json

log = logging.getLogger("studio")

SAVE_DELAY_MS = 400  # from a change until it is written


class Preferences(RunPreferences):
    """Preferences, including those for runs without a window; unknown fields of a newer version are
    kept apart."""

    theme: Literal["light", "dark", "system"] = "system"
    text_size: int = Field(100, ge=80, le=200)  # per cent
    language: str = Field("", max_length=20)  # code of a known language; empty: the system's
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    threads: int = Field(0, ge=0, le=1024)  # 0: the fastest number
    explorer_device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    exact_answers: bool = False  # in Explore: fp32, even if fewer bits agree
    stand_by: bool = True  # keep a standby worker while a run or an import is planned
    hub_allowed: bool = False  # the user agreed to contact the Hugging Face Hub
    model_folder: str = Field("", max_length=1_000)  # folder of models used in place; empty: none
    coder: str = Field("", max_length=500)  # who labels rows; empty: the user of the system
    ask_on_close: bool = True  # only while runs are unfinished


class Settings(QObject):
    """Preferences and saved state of the window.

    Signals:
        changed: name of a preference with a new value.
    """

    changed = Signal(str)

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self.preferences, self._states, self.was_damaged = _read(file)
        self._writing: background.Job | None = None
        self._timer = debounced(self, SAVE_DELAY_MS, self._write)

    def set(self, name: str, value: object) -> None:
        """Change one preference; the file is written a moment later.

        Raises pydantic's ValidationError for an invalid value.
        """
        new = Preferences.model_validate({**self.preferences.model_dump(), name: value})
        if new != self.preferences:
            self.preferences = new
            self._timer.start()
            self.changed.emit(name)

    def get_state(self, key: str, default: Any = None) -> Any:
        """The saved value of `key`: text, number or a list of these."""
        return self._states.get(key, default)

    def set_state(self, key: str, value: Any) -> None:
        """Save a small value under `key`."""
        if self._states.get(key) != value:
            self._states[key] = value
            self._timer.start()

    def remember(self, widget: QWidget, key: str) -> None:
        """Restore the state of a splitter, header or window, and save it from now on.

        Call it once the widget has its children or its model.
        """
        if not isinstance(widget, QSplitter | QHeaderView | QMainWindow):
            raise TypeError(f"{type(widget).__name__} has nothing to remember")
        state = self._bytes(key)
        if isinstance(widget, QMainWindow):
            if state:
                widget.restoreGeometry(state)
            return  # the window saves its geometry with `save_geometry` when it closes
        if state:
            widget.restoreState(state)
        save = lambda *_: self.set_state(key, _text(widget.saveState()))  # noqa: E731
        if isinstance(widget, QSplitter):
            widget.splitterMoved.connect(save)
        else:
            widget.sectionResized.connect(save)
            widget.sectionMoved.connect(save)
            widget.sortIndicatorChanged.connect(save)

    def save_geometry(self, window: QMainWindow, key: str) -> None:
        self.set_state(key, _text(window.saveGeometry()))

    def close(self) -> None:
        """Write pending changes; later ones are not saved."""
        if self._timer.isActive():
            self._timer.stop()
            write_file(self._file, self._content())
        self._timer.blockSignals(True)

    def _bytes(self, key: str) -> QByteArray | None:
        text = self._states.get(key)
        try:
            return QByteArray(b64decode(text, validate=True)) if isinstance(text, str) else None
        except ValueError:
            return None

    def _content(self) -> bytes:
        content = {"preferences": self.preferences.model_dump(), "places": self._states}
        return json.dumps(content, indent=1).encode("utf-8")

    def _write(self) -> None:
        if self._writing is not None and not self._writing.is_finished():
            self._timer.start()  # one write at a time keeps their order
            return
        content = self._content()
        self._writing = background.run(
            self, lambda: write_file(self._file, content), lambda _: None
        )


def application_settings() -> Settings | None:
    """The settings of the running program, for widgets that work without them, too."""
    app = QCoreApplication.instance()
    return app.findChild(Settings) if app is not None else None


def _text(state: QByteArray) -> str:
    return b64encode(bytes(state.data())).decode("ascii")


def _read(file: Path) -> tuple[Preferences, dict[str, Any], bool]:
    try:
        content = read_json(file, MAX_BYTES)
        preferences = Preferences.model_validate(content.get("preferences", {}))
        places = content.get("places", {})
        if not isinstance(places, dict):
            raise TypeError("places is not an object")
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
