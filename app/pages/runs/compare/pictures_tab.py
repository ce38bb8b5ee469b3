"""Any columns of the compared runs as parallel coordinates or as a scatter plot."""

from collections.abc import Sequence

from PySide6.QtWidgets import QComboBox, QWidget

from app.pages.runs.columns import Column, column_info
from app.pages.runs.compare.parallel import ParallelView
from app.pages.runs.compare.scatter import ScatterView, make_scatter
from app.pages.runs.compare.state import (
    CompareState,
    differing_columns,
    numeric_columns,
    task_measures,
)
from app.pages.runs.list_menus import ColumnsButton
from app.pages.runs.rows import RunRow
from app.theme import SPACE, px
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.forms.controls import ComboBox
from app.widgets.page import Card
from app.widgets.text.labels import OneLine, Text, visible

MAX_INITIAL_AXES = 6
EXCLUDED = ("name", "notes", "seeds", "started", "state", "step", "progress", "time", "loss")


class ParallelTab(QWidget):
    """Parallel coordinates with a menu of axes; the selected runs are named below."""

    def __init__(self, state: CompareState) -> None:
        super().__init__()
        self._state = state
        self.keys: list[str] = []
        self.view = ParallelView()
        self.view.brushed.connect(self._update_note)
        self.note = Text("", "muted")
        self.figure_button = FigureButton(self.view.figure, state.studio.notices)
        self.figure_button.offer_on(self.view)
        self.axes = ColumnsButton(
            tr("&Axes"), "columns-2", lambda: [*self.keys, *self._available()], lambda: self.keys
        )
        self.axes.chosen.connect(self.set_axes)
        hint = tr("Drag along an axis to select runs; click it to clear the selection.")
        row = layouts.row((Text(hint, "muted"), 1), self.axes, self.figure_button)
        card = Card(padding=3 * SPACE)
        card.body.addWidget(self.view, 1)
        layouts.tab(self, row, (card, 1), self.note, spacing=2 * SPACE)
        state.runs.request_columns(task_measures(state.rows))
        state.runs.measured.connect(self._show)
        state.changed.connect(self._show)
        self._show()

    def set_axes(self, keys: Sequence[str]) -> None:
        self.keys = list(keys)
        self._state.runs.request_columns(self.keys)
        self._show()

    def _available(self) -> list[str]:
        rows = self._state.rows
        differ = [key for key in differing_columns(rows) if key not in EXCLUDED]
        metrics = task_measures(rows)
        return list(dict.fromkeys([*differ, *(k for k in numeric_columns(rows) if k in metrics)]))

    def _show(self) -> None:
        if len(self.keys) < 2:
            keys = self._available()
            last = [str(Column.BEST)] if Column.BEST in keys else []
            first = [key for key in keys if key not in last and _differs(key, self._state.rows)]
            first.sort(key=lambda key: "." not in key)  # settings come first
            self.keys = [*first[: MAX_INITIAL_AXES - len(last)], *last]
        self.view.show_axes(self._state.rows, self.keys)

    def _update_note(self) -> None:
        chosen = self.view.plot.chosen_rows()
        if len(chosen) == len(self.view.plot.rows):
            self.note.setText("")
            return
        names = ", ".join(visible(row.name) for row in chosen[:8])
        ellipsis = " …" if len(chosen) > 8 else ""
        template = tr("{0} of {1} runs: {2}")
        self.note.setText(template.format(len(chosen), len(self.view.plot.rows), names + ellipsis))


def _differs(key: str, rows: Sequence[RunRow]) -> bool:
    info = column_info(key)
    values = [info.row_value(row) for row in rows] if info is not None else []
    return len({repr(value) for value in values if value is not None}) > 1


class ScatterTab(QWidget):
    """A scatter plot of two columns, coloured by a third one."""

    def __init__(self, state: CompareState) -> None:
        super().__init__()
        self._state = state
        self.x_box, self.y_box = ComboBox(tr("Horizontal")), ComboBox(tr("Vertical"))
        self.colour_box = ComboBox(tr("Colour by"))
        self.view = ScatterView()
        self.view.opened.connect(state.runs.open_requested)
        self.readout = OneLine("", "muted")
        self.view.pointed.connect(self.readout.setText)
        self.note = Text("", "muted")
        self.figure_button = FigureButton(self.view.figure, state.studio.notices)
        self.figure_button.offer_on(self.view)
        row = layouts.row(spacing=2 * SPACE)
        for box in (self.y_box, self.x_box, self.colour_box):
            box.setMaximumWidth(px(60 * SPACE))
            box.activated.connect(self._show)
            layouts.extend(row, Text(box.accessibleName(), "muted", wraps=False), box)
        layouts.extend(row, layouts.STRETCH, self.figure_button)
        card = Card(padding=3 * SPACE)
        layouts.extend(card.body, (self.view, 1), self.readout)
        layouts.tab(self, row, (card, 1), self.note, spacing=2 * SPACE)
        state.runs.request_columns(task_measures(state.rows))
        state.runs.measured.connect(self._fill)
        state.changed.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        """Offer the columns that these runs have; keep the choice."""
        rows = self._state.rows
        numeric = numeric_columns(rows)
        settings = [key for key in numeric if "." in key]
        defaults = {self.y_box: [str(Column.BEST)], self.x_box: [*settings, str(Column.TIME)]}
        for box in (self.x_box, self.y_box):
            self._offer(box, numeric, defaults[box])
        self._offer(self.colour_box, ["", *differing_columns(rows)], [""])
        self._show()

    def _offer(self, box: QComboBox, keys: Sequence[str], default: Sequence[str]) -> None:
        current = box.currentData()
        box.clear()
        for key in keys:
            info = column_info(key)
            box.addItem(info.title() if info is not None else tr("None"), key)
        options = [key for key in (current, *default) if key is not None and box.findData(key) >= 0]
        box.setCurrentIndex(box.findData(options[0]) if options else 0)

    def _show(self) -> None:
        x, y = self.x_box.currentData(), self.y_box.currentData()
        if not x or not y:
            self.note.setText(tr("These runs do not differ in any numeric column."))
            return
        scatter = make_scatter(self._state.rows, x, y, self.colour_box.currentData() or "")
        self.view.show_scatter(scatter)
        text = tr("%Ln of these runs do not have both values.", scatter.missing)
        self.note.setText(text if scatter.missing else "")
