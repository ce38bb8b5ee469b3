"""Decisions on rows in dispute: one by one with keys, or by majority."""

from functools import partial
from itertools import product

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTableView

from app.pages.data.dataset.agreement.card import AgreementCard
from app.pages.data.dataset.agreement.state import AgreementState
from app.pages.data.dataset.editing.part import EditingPart
from app.pages.data.dataset.state import DatasetState
from app.studio import Studio
from app.widgets import dialogs
from app.widgets.dialogs import Choice
from app.widgets.text.labels import one_line

MAX_KEYS = 9  # coders with a key


class AgreementPart(QObject):
    """Owns the card of the agreement, and gives rows the label of a coder by Alt+1, Alt+2, …

    Signals:
        rows_requested: rows to list, int64 [N], and their title.
    """

    rows_requested = Signal(object, str)

    def __init__(
        self, studio: Studio, data: DatasetState, editing: EditingPart, table: QTableView
    ) -> None:
        super().__init__(table)
        self._data, self._editing, self._table = data, editing, table
        self.state = AgreementState(data)
        self.card = AgreementCard(self.state, studio.notices)
        self.card.rows_requested.connect(self.rows_requested)
        self.card.decision_requested.connect(self._list_open_rows)
        self.card.majority_requested.connect(self._ask_for_majority)
        self.state.changed.connect(self._show_open)
        editing.state.changed.connect(self._show_open)
        self._add_keys()
        data.target_chosen.connect(self._show_open)

    @property
    def _can_decide(self) -> bool:
        """The rows can be edited, and their labels are those on which the coders agree."""
        data, target = self._data, self._data.target
        is_coded = target is None or target in (*data.spec.codebooks, *data.spec.target_coders)
        return self._editing.state.can_edit and is_coded

    def _add_keys(self) -> None:
        for widget, number in product((self._table, self._editing.spans), range(1, MAX_KEYS + 1)):
            key = QShortcut(QKeySequence(f"Alt+{number}"), widget)
            key.setContext(Qt.ShortcutContext.WidgetShortcut)
            key.activated.connect(partial(self._use_code_of, number - 1))

    def _show_open(self) -> None:
        measured, edits = self.state.measured, self._editing.state
        if measured is None or not self._can_decide:
            self.card.show_open(0, 0)
            return
        rows = self.state.open_rows(edits.rows)
        self.card.show_open(len(rows), int(measured.has_majority[rows].sum()))

    def _list_open_rows(self) -> None:
        keys = [
            self.tr("Alt+{0} “{1}”").format(number, one_line(coder, 30))
            for number, coder in enumerate(self.state.coders[:MAX_KEYS], start=1)
        ]
        text = self.tr("Rows in dispute: press the key of a label, or that of a coder: {0}")
        rows = self.state.open_rows(self._editing.state.rows)
        self.rows_requested.emit(rows, text.format(", ".join(keys)))

    def _use_code_of(self, coder: int) -> None:
        """Give the selected rows the label of a coder, by index, if there is one."""
        rows, edits = self._editing.selected(), self._editing.state
        measured = self.state.measured
        if measured is None or not rows or not self._can_decide:
            return
        codings = measured.codings
        if coder >= len(codings.coders):
            return
        codes = codings.codes[rows, coder]
        coded = {
            row: codings.cells[code] for row, code in zip(rows, codes, strict=True) if code >= 0
        }
        if coded:
            edits.set_cells(list(coded), self.state.column, list(coded.values()))
            self._editing.continue_after(rows)

    def _ask_for_majority(self) -> None:
        measured, edits = self.state.measured, self._editing.state
        if measured is None:
            return
        rows = self.state.open_rows(edits.rows)
        cells = {int(row): measured.majority[row] for row in rows if measured.majority[row]}
        left = len(rows) - len(cells)
        if measured.codings.kind == "numbers":
            text = self.tr("%Ln row(s) get the mean of the coders.", "", len(cells))
        else:
            text = self.tr("%Ln row(s) get their most frequent label.", "", len(cells))
        if left:
            text += " " + self.tr("%Ln row(s) without a majority stay in dispute.", "", left)
        dialogs.confirm(
            self._table,
            self.tr("Decide by majority"),
            f"{text} {self.tr('You can undo this until you save a new version.')}",
            Choice("decide", self.tr("Decide"), "primary"),
            partial(self._decide_by_majority, cells),
        )

    def _decide_by_majority(self, cells: dict[int, str]) -> None:
        """Set the cells with a note that says why, as one step of Undo."""
        edits, rows, text = self._editing.state, list(cells), self.tr("by majority")
        edits.stack.beginMacro(self.tr("Decide by majority"))
        edits.set_cells(rows, self.state.column, list(cells.values()))
        edits.mark(rows, text, note=text)
        edits.stack.endMacro()
