"""The button and context menu that copy or save a figure.

It saves the figure shown when the menu opened. Painting and writing happen outside the GUI thread;
errors are shown.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QMimeData
from PySide6.QtGui import QAction, QGuiApplication, QImage
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app import background
from app.notices import Notices
from app.settings import application_settings
from app.widgets import buttons
from app.widgets.charts import figure
from app.widgets.charts.figure import Figure
from app.widgets.charts.painting import chart_figure
from app.widgets.charts.view import ChartView
from app.widgets.context_menu import context_menu, menu_action
from app.widgets.dialogs import ask_for_file
from app.widgets.forms.controls import CheckableMenu
from app.widgets.opening import find_notices, notify_saved
from engine.errors import StudioError
from engine.files.atomic_write import write_file
from engine.files.home import folder_name

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


class FigureMenu(CheckableMenu):
    """Copies or saves the figure that `make` returns, if it does not return None."""

    def __init__(self, make: Callable[[], Figure | None], notices: Notices, owner: QWidget) -> None:
        super().__init__(owner)
        self._make, self._notices, self._owner = make, notices, owner
        self._figure: Figure | None = None
        self.actions_by_key: dict[str, QAction] = {}
        self._add("copy", self.tr("&Copy picture"), self._copy)
        self._add("copy numbers", self.tr("Copy &numbers"), self._copy_numbers)
        self.addSeparator()
        for key, text in (
            ("png", self.tr("Save as &PNG…")),
            ("png2", self.tr("Save as PNG at &2x…")),
            ("svg", self.tr("Save as &SVG…")),
            ("pdf", self.tr("Save as P&DF…")),
        ):
            self._add(key, text, partial(self._ask_file, key))
        self.addSeparator()
        for key, text in (
            ("npy", self.tr("Save as N&umPy array…")),
            ("csv", self.tr("Save as CS&V table…")),
            ("csv raw", self.tr("Save as CSV table, formulas not &escaped…")),
        ):
            self._add(key, text, partial(self._ask_file, key))
        self.addSeparator()
        self.with_texts = QAction(self.tr("With &title and caption"), self)
        self.with_texts.setCheckable(True)
        self.with_texts.setChecked(True)
        self.with_texts.toggled.connect(self._on_with_texts)
        self.addAction(self.with_texts)
        self.aboutToShow.connect(self._capture)

    def offer_on(self, *widgets: QWidget) -> None:
        """Add the actions to the context menus of these widgets too."""
        for widget in widgets:
            context_menu(widget).add(lambda _: self.captured_actions())

    def figure(self) -> Figure | None:
        return self._make()

    def refresh(self) -> None:
        """Update the entries, as when an exact answer arrives while the menu is open."""
        if self._figure is None and self.isVisible():
            self._capture()

    def save(self, key: str, path: Path, shown: Figure) -> None:
        """Write a figure to `path` in the format `key`, and show a notice."""
        content = FORMATS[key][1]
        background.run(
            self,
            lambda: write_picture(path, content(shown)),
            lambda _: notify_saved(self._notices, path),
            self._notices.show,
        )

    def _add(self, key: str, text: str, act: Callable[[], object]) -> None:
        action = self.actions_by_key[key] = menu_action(self, text, act)
        self.addAction(action)

    def captured_actions(self) -> list[QAction]:
        self._capture()
        return self.actions()

    def _capture(self) -> None:
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
        ask_for_file(
            self._owner,
            title,
            file_name,
            [f".{suffix}"],
            lambda to: self.save(key, to, shown),
        )

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


class FigureButton(QToolButton):
    """A button with the menu of a figure; `offer_on` adds it to context menus."""

    def __init__(self, make: Callable[[], Figure | None], notices: Notices) -> None:
        super().__init__()
        buttons.style_icon_button(self, "image-down", self.tr("Copy or save this figure"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.figure_menu = FigureMenu(make, notices, self)
        self.setMenu(self.figure_menu)
        self.offer_on, self.refresh = self.figure_menu.offer_on, self.figure_menu.refresh
        self.figure, self.save = self.figure_menu.figure, self.figure_menu.save
        self.actions_by_key = self.figure_menu.actions_by_key


def offer_chart(view: ChartView) -> None:
    """Offer a chart that has no button as a figure in its context menu."""

    def make() -> Figure | None:
        title = view.accessibleName()
        chart = view.chart
        return None if chart is None else chart_figure(folder_name(title), title, "", chart)

    def actions(_: QMenu) -> list[QAction]:
        menu = view.findChild(FigureMenu)
        if not isinstance(menu, FigureMenu):
            menu = FigureMenu(make, find_notices(view) or Notices(view), view)
        return menu.captured_actions()

    context_menu(view).add(actions)


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
