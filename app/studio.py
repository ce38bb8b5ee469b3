"""The few long-lived objects, made once and handed to the pages.

A page gets the studio in `__init__` and takes from it what it needs. Signals here are for what
concerns more than one page.
"""

from typing import Any

from PySide6.QtCore import QObject, Signal

from app import library
from app.library import DataEntry, ModelEntry
from app.notices import Notices
from app.settings import Settings
from engine.home import Home


class Studio(QObject):
    """Home, settings, notices, record, dispatcher and explorer of one window.

    Signals:
        datasets_changed: a data set was added or removed; whoever did it emits this.
        models_changed: likewise for models, also when a run saves a checkpoint.
        go: show the page with this key; its `arrive` gets the argument.
    """

    datasets_changed = Signal()
    models_changed = Signal()
    go = Signal(str, object)

    def __init__(
        self,
        home: Home,
        settings: Settings,
        notices: Notices,
        record: Any,
        dispatcher: Any,
        explorer: Any,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.home = home
        self.settings = settings
        self.notices = notices
        self.record = record
        self.dispatcher = dispatcher
        self.explorer = explorer

    def datasets(self) -> list[DataEntry]:
        """Every version of every data set, the newest first."""
        return library.datasets(self.home)

    def models(self) -> list[ModelEntry]:
        """The starter model, the imported ones, and of each run the best and the last one."""
        return library.own_models(self.home)
