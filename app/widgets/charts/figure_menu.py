"""The button and context menu that copy or save a figure.

It saves the figure shown when the menu opened. Painting and writing happen outside the GUI thread;
errors are shown.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QAction, QGuiApplication, QImage
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app import background
from app.notices import Notices
from app.settings import application_settings
from app.widgets import buttons
from app.widgets.charts import figure
from app.widgets.charts.figure import Figure
from app.widgets.dialogs import ask_for_file
from app.widgets.forms.controls import CheckableMenu
from engine.errors import StudioError
from engine.files.atomic_write import write_file

Content = Callable[[Figure], bytes]
WITH_TEXTS = "figures.with_texts"  # settings key of the choice
FORMATS: dict[str, tuple[str, Content]] = {  # key: suffix and content
    "png": ("png", figure.png),
    "png2": ("png", lambda drawing: figure.png(drawing, 2)),
    "svg": ("svg", figure.svg),
    "pdf": ("pdf", figure.pdf),
    "npy": ("npy", lambda drawing: figure.npy(_array(drawing))),
    "csv": ("csv", lambda drawing: figure.csv_text(_table(drawing)).encode("utf-8")),
    "csv raw": ("csv", lambda drawing: figure.csv_text(_table(drawing), raw=True).encode("utf-8")),
}


class FigureButton(QToolButton):
    """Copies or saves the figure that `make` returns, if it does not return None."""

    def __init__(self, make: Callable[[], Figure | None], notices: Notices) -> None:
        super().__init__()
        self._make, self._notices = make, notices
        self._figure: Figure | None = None
        buttons.style_icon_button(self, "image-down", self.tr("Copy or save this figure"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.actions_by_key: dict[str, QAction] = {}
        menu = CheckableMenu(self)
        self._add(menu, "copy", self.tr("&Copy picture"), self._copy)
        self._add(menu, "copy numbers", self.tr("Copy &numbers"), self._copy_numbers)
        menu.addSeparator()
        for key, text in (
            ("png", self.tr("Save as &PNG…")),
            ("png2", self.tr("Save as PNG at &2x…")),
            ("svg", self.tr("Save as &SVG…")),
            ("pdf", self.tr("Save as P&DF…")),
        ):
            self._add(menu, key, text, partial(self._ask_file, key))
        menu.addSeparator()
        for key, text in (
            ("npy", self.tr("Save as N&umPy array…")),
            ("csv", self.tr("Save as CS&V table…")),
            ("csv raw", self.tr("Save as CSV table, formulas not &escaped…")),
        ):
            self._add(menu, key, text, partial(self._ask_file, key))
        menu.addSeparator()
        self.with_texts = QAction(self.tr("With &title and caption"), self)
        self.with_texts.setCheckable(True)
        self.with_texts.setChecked(True)
        self.with_texts.toggled.connect(self._on_with_texts)
        menu.addAction(self.with_texts)
        menu.aboutToShow.connect(self._on_menu)
        self.setMenu(menu)

    def offer_on(self, *widgets: QWidget) -> None:
        """Open the menu by right click or menu key on these widgets too."""
        for widget in widgets:
            widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            widget.customContextMenuRequested.connect(
                lambda point, widget=widget: self.menu().popup(widget.mapToGlobal(point))
            )

    def figure(self) -> Figure | None:
        return self._make()

    def refresh(self) -> None:
        """Update the entries, as when an exact answer arrives while the menu is open."""
        if self._figure is None and self.menu().isVisible():
            self._on_menu()

    def save(self, key: str, path: Path, shown: Figure) -> None:
        """Write a figure to `path` in the format `key`, and show a notice."""
        content = FORMATS[key][1]
        text = self.tr("Saved as {0}.").format(path)
        background.run(
            self,
            lambda: write_picture(path, content(shown)),
            lambda _: self._notices.info(text),
            self._notices.show,
        )

    def _add(self, menu: QMenu, key: str, text: str, act: Callable[[], object]) -> None:
        action = QAction(text, self)  # PySide may lose an action that the menu makes
        action.triggered.connect(lambda _=False: act())
        menu.addAction(action)
        self.actions_by_key[key] = action

    def _on_menu(self) -> None:
        """Capture the figure shown now, and disable formats that it lacks."""
        if (settings := application_settings()) is not None:
            self.with_texts.setChecked(settings.get_state(WITH_TEXTS) is not False)
        shown = self._figure = self._make()
        for key, action in self.actions_by_key.items():
            is_available = shown is not None
            if key == "npy":
                is_available = shown is not None and shown.array is not None
            if key in ("csv", "csv raw", "copy numbers"):
                is_available = shown is not None and shown.table is not None
            action.setEnabled(is_available)

    def _on_with_texts(self, on: bool) -> None:
        """Remember the choice for all figures."""
        if (settings := application_settings()) is not None:
            settings.set_state(WITH_TEXTS, on)

    def _drawn(self) -> Figure | None:
        """The captured figure, with or without its texts."""
        has_texts = self.with_texts.isChecked()
        return self._figure and replace(self._figure, has_texts=has_texts)

    def _ask_file(self, key: str) -> None:
        shown = self._drawn()
        if shown is None:
            return
        suffix = FORMATS[key][0]
        name = f"{shown.name}@2x" if key == "png2" else shown.name
        title, file_name = self.tr("Save"), f"{name}.{suffix}"
        ask_for_file(self, title, file_name, [f".{suffix}"], lambda to: self.save(key, to, shown))

    def _copy(self) -> None:
        shown = self._drawn()
        if shown is not None:
            background.run(
                self,
                lambda: (figure.image(shown, 2), figure.svg(shown), shown.caption),
                self._on_drawn,
                self._notices.show,
            )

    def _on_drawn(self, drawn: tuple[QImage, bytes, str]) -> None:
        picture, drawing, caption = drawn
        data = QMimeData()
        data.setImageData(picture)
        data.setData("image/svg+xml", drawing)
        data.setText(caption)
        QGuiApplication.clipboard().setMimeData(data)
        self._notices.info(self.tr("Picture copied to the clipboard."))

    def _copy_numbers(self) -> None:
        shown = self._figure
        if shown is not None:
            background.run(
                self,
                lambda: figure.csv_text(_table(shown), "\t"),
                self._on_numbers,
                self._notices.show,
            )

    def _on_numbers(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._notices.info(self.tr("Numbers copied to the clipboard as a table."))


def write_picture(path: Path, content: bytes) -> None:
    """Write a file atomically. Raises StudioError if it cannot be written."""
    try:
        write_file(path, content, shared=True)
    except OSError as error:
        raise StudioError(
            "{path} could not be written: {strerror}.",
            "Choose a folder other than {parent}, or another name.",
            path=path.name,
            strerror=error.strerror or error,
            parent=path.parent,
        ) from error


def _array(drawing: Figure) -> np.ndarray:
    assert drawing.array is not None  # else the menu disables it
    return drawing.array


def _table(drawing: Figure) -> figure.Table:
    assert drawing.table is not None  # as above
    return drawing.table()
