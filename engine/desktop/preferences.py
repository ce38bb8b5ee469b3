"""Preferences that affect runs and their reports, also without a window.

The window stores all preferences in `settings.json`; the process that starts runs reads them there.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.files.regular_file import read_json

MAX_BYTES = 4_000_000  # maximum bytes of a settings file


LiveCurves = Literal["off", "tensorboard", "mlflow", "both"]


class RunPreferences(BaseModel):
    """Preferences for starting runs, for their end, and for reports."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    runs_per_device: int = Field(1, ge=1, le=64)  # at the same time
    notify: bool = False  # show a notification of the desktop
    sound: bool = False  # with the notification
    on_end: str = Field("", max_length=4_000)  # command; empty: none
    keep_awake: bool = True  # while a run trains
    live_curves: LiveCurves = "off"  # written while a run trains, below `curves` of the home folder
    author: str = Field("", max_length=500)  # stated in reports; empty: left out
    project: str = Field("", max_length=500)


class RunPreferencesFile:
    """The preferences of a settings file, reloaded when it changes."""

    def __init__(self, settings: Path) -> None:
        self._settings = settings
        self._stamp: tuple[int, int] | None = None
        self._preferences = RunPreferences()

    def get(self) -> RunPreferences:
        """The current preferences."""
        try:
            status = self._settings.stat()
            stamp = (status.st_mtime_ns, status.st_size)
        except OSError:
            return RunPreferences()
        if stamp != self._stamp:
            self._stamp, self._preferences = stamp, run_preferences(self._settings)
        return self._preferences


def run_preferences(settings: Path) -> RunPreferences:
    """Read the preferences of a settings file; the defaults if it is missing or damaged."""
    try:
        content = read_json(settings, MAX_BYTES)
        return RunPreferences.model_validate(content.get("preferences", {}))
    except (OSError, ValueError, TypeError, AttributeError):
        return RunPreferences()
