"""Rows that are with coders: which ones, and the bar that is shown instead of the keys for one."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFrame

from app import background
from app.notices import Notices
from app.pages.data.dataset.state import DatasetState
from app.theme import SPACE, Role
from app.widgets import buttons, layouts
from app.widgets.page import Picture
from app.widgets.text.labels import Text, visible
from engine.data.datasets.handed_out import HandedOut, handed_out, reserved_rows


class ReservedRows(QObject):
    """The rows of the label column that are with coders.

    Signals:
        changed: `parts` were read, or rows were released.
    """

    changed = Signal()

    def __init__(self, data: DatasetState, notices: Notices) -> None:
        super().__init__(data)
        self._data, self._notices = data, notices
        self.parts: list[HandedOut] = []
        self.rows = reserved_rows([])  # all of them but those released, int64 [N], ascending
        self._coders: dict[int, tuple[str, ...]] = {}
        self._released: set[int] = set()  # to be labelled all the same
        self._reading = background.LatestJob(self)

    def coders(self, row: int) -> tuple[str, ...]:
        """Who has a row."""
        return self._coders.get(row, ())

    def holds(self, row: int) -> bool:
        """True if a row is with a coder, and was not released."""
        return row in self._coders and row not in self._released

    def release(self, rows: Iterable[int]) -> None:
        """Let rows be labelled although they are with coders."""
        self._released.update(rows)
        self.rows = np.setdiff1d(self.rows, [*self._released])
        self.changed.emit()

    def read(self) -> None:
        """Read which rows are with coders."""
        if (dataset := self._data.dataset) is not None and dataset.spec.packet is None:
            self._reading.run(partial(handed_out, dataset), self._show, self._notices.show)

    def _show(self, parts: list[HandedOut]) -> None:
        self.parts, coders = parts, defaultdict[int, list[str]](list)
        for part in parts:
            for row in part.rows.tolist():
                coders[row].append(part.coder)
        self._coders = {row: tuple(dict.fromkeys(names)) for row, names in coders.items()}
        self.rows = np.setdiff1d(reserved_rows(parts), [*self._released])
        self.changed.emit()


class ReservedBar(QFrame):
    """“This row is with Anna”, with what one can do instead of labelling it.

    Signals:
        released: label the row all the same.
        passed: go to the next row that is free.
    """

    released = Signal()
    passed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("look", "banner")
        self.text = Text("", "strong")
        self.release = buttons.quiet(self.tr("Label it an&yway"), self.released.emit)
        self.pass_by = buttons.plain(self.tr("Ne&xt free row (Enter)"), self.passed.emit)
        layouts.row(
            Picture("hourglass", 18, Role.ACCENT),
            (self.text, 1),
            self.release,
            self.pass_by,
            parent=self,
            spacing=2 * SPACE,
            margins=(4 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE),
        )
        self.hide()

    def show_coders(self, names: Iterable[str]) -> None:
        self.text.setText(
            self.tr("With {0}: keys do not label this row.").format(", ".join(map(visible, names)))
        )
