"""Nearest rows: choice of the rows, progress of their vectors, and a table."""

from collections.abc import Callable

from PySide6.QtWidgets import QHeaderView, QProgressBar, QWidget

from app.theme import SPACE, px
from app.translation import translated
from app.using.nearest_state import NearestState
from app.widgets import buttons, layouts
from app.widgets.forms.controls import ComboBox
from app.widgets.help import HelpButton
from app.widgets.progress import BAR_STEPS
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import Text, one_line, visible
from engine.messages.explore.nearest import NearRow

MIN_TABLE_HEIGHT = 60 * SPACE


class NearestView(QWidget):
    """Rows of a data set by similarity to the first text."""

    def __init__(self, state: NearestState) -> None:
        super().__init__()
        self.state = state
        self.data, self.part = ComboBox(self.tr("Data set"), 20), ComboBox(self.tr("Split"))
        self.data.activated.connect(lambda _: state.choose(self.data.currentData()))
        self.part.activated.connect(lambda _: state.choose(state.data, self.part.currentData()))
        self.compute = buttons.plain(self.tr("Compute &vectors"), state.compute, "play")
        self.stop = buttons.plain(self.tr("&Stop"), state.cancel, "circle-stop")
        self.bar = QProgressBar()
        self.bar.setAccessibleName(self.tr("Progress of the vectors"))
        self.bar.setTextVisible(False)
        self.status = Text("", "muted")
        self.model = ColumnsModel(self._columns(), self)
        self.table = make_table(self.tr("Nearest rows"), self.model)
        self.table.setMinimumHeight(px(MIN_TABLE_HEIGHT))
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
        head = layouts.row(
            Text(self.tr("Nearest rows in"), "strong", wraps=False), spacing=2 * SPACE
        )
        for part in (self.data, self.part, self.compute, self.stop):
            head.addWidget(part)
        head.addStretch(1)
        head.addWidget(HelpButton("sentence-encoders"))
        layouts.column(
            head,
            self.bar,
            self.status,
            self.table,
            parent=self,
            spacing=2 * SPACE,
            margins=(0, 4 * SPACE, 0, 0),
        )
        state.changed.connect(self.show_state)
        self.show_state()

    def _columns(self) -> list[Column[NearRow]]:
        cells: dict[str, Callable[[NearRow], str]] = {
            self.tr("Cosine"): lambda row: f"{row.cosine:.3f}",
            self.tr("Row"): lambda row: numbers.count(row.number),
            self.tr("Text"): lambda row: one_line(row.text),
        }
        return [Column(title, text, tooltip=lambda row: row.text) for title, text in cells.items()]

    def show_state(self) -> None:
        state = self.state
        self._fill()
        is_working = state.working is not None
        self.compute.setVisible(not is_working and not state.has_vectors)
        self.compute.setEnabled(state.row_count > 0)
        self.stop.setVisible(is_working)
        self.bar.setVisible(is_working)
        if state.working is not None:
            done, total = state.working.done, state.working.total
            self.bar.setRange(0, BAR_STEPS if total else 0)
            self.bar.setValue(round(BAR_STEPS * done / total) if total else 0)
        self.status.setText(self._status())
        self.status.set_style("bad" if state.problem else "muted")
        self.status.setVisible(bool(self.status.text()))
        nearest = state.result.nearest if state.result else ()
        if nearest != self.model.rows:
            self.model.show_rows(nearest)
        self.table.setVisible(state.result is not None)

    def _fill(self) -> None:
        state = self.state
        if [self.data.itemData(n) for n in range(self.data.count())] != list(state.datasets):
            self.data.clear()
            for entry in state.datasets:
                self.data.addItem(visible(f"{entry.name} · {entry.version}"), entry)
        index = state.datasets.index(state.data) if state.data in state.datasets else -1
        self.data.setCurrentIndex(index)
        self.part.clear()
        for part in state.parts:
            self.part.addItem(split_title(part), part)
        self.part.setCurrentIndex(self.part.findData(state.part))
        for box in (self.data, self.part):
            box.setEnabled(box.count() > 0)

    def _status(self) -> str:
        state = self.state
        if state.problem is not None:
            return translated(state.problem.phrase)
        if state.working is not None:
            return f"{translated(state.working.stage)} …"
        if state.data is None:
            return self.tr("Add a data set to find the rows that are nearest to a text.")
        if not state.has_vectors:
            return self.tr(
                "The vectors of %Ln row(s) are computed once; then the nearest rows are updated "
                "while you type.",
                "",
                state.row_count,
            )
        if not state.text.strip():
            return self.tr("Type a text to see the rows nearest to it.")
        return ""
