"""Dialog of corrected estimates: columns, a chart with intervals, a table."""

import math
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHeaderView, QWidget

from app.notices import Notices
from app.theme import SPACE, px
from app.translation import in_language, tr, translated
from app.using.estimating_state import EstimatingState
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.intervals import IntervalsView, Mark, intervals_figure
from app.widgets.dialogs import Dialog, footer
from app.widgets.forms.controls import ComboBox
from app.widgets.help import HelpButton, set_help
from app.widgets.page import scrolling
from app.widgets.results.intervals import with_ends
from app.widgets.screen import resize_within
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.labels import Text, one_line, visible
from engine.data.columns.periods import PERIOD_TITLES
from engine.results.estimate_table import EstimateRow, EstimateTable, estimate_lines
from engine.results.intervals import Interval

SIZE = QSize(980, 740)  # px
BOX_CHARACTERS, NAME_CHARACTERS = 18, 60
MIN_PICTURE = 30 * SPACE  # px
EACH, MEAN = "each", "mean"  # items of the box “Estimate” that are not labels
ROLES = ("predicted", "hand", "truth", "by", "compare", "chance")


class EstimateDialog(Dialog):
    """A non-modal dialog that estimates again with each change."""

    def __init__(self, state: EstimatingState, notices: Notices, owner: QWidget) -> None:
        super().__init__(owner.window(), tr("Corrected estimates"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.state = state
        state.setParent(self)
        self.boxes = {role: ComboBox(title, BOX_CHARACTERS) for role, title in _titles().items()}
        for role, box in self.boxes.items():
            box.activated.connect(partial(self._on_column, role))
        self.what = ComboBox(self.tr("Estimate"), BOX_CHARACTERS)
        self.what.activated.connect(lambda _: self._on_what())
        self.period = ComboBox(self.tr("Period"))
        for period, title in PERIOD_TITLES.items():
            self.period.addItem(in_language(title), period)
        self.period.activated.connect(lambda _: state.choose(period=self.period.currentData()))
        self.picture = IntervalsView(self.tr("Estimates with 95 % intervals"), numbers.percent)
        self.area = scrolling(self.picture)
        self.area.setMinimumHeight(px(MIN_PICTURE))
        self.model = ColumnsModel[EstimateRow](parent=self)
        self.table = make_table(self.tr("Estimates"), self.model)
        self.save = FigureButton(self.figure, notices)
        self.save.offer_on(self.picture)
        self.legend = Text("", "small")
        self.status = Text("", "muted", selectable=True)
        self.notes = Text("", "muted", selectable=True)
        close = buttons.plain(self.tr("&Close"), self.close)
        set_help(self, "estimates")
        layouts.column(
            self._grid(),
            self.status,
            layouts.row((self.legend, 1), self.save, HelpButton("estimates")),
            (self.area, 3),
            (self.table, 2),
            self.notes,
            footer(close),
            parent=self,
            spacing=2 * SPACE,
            margins=(5 * SPACE, 5 * SPACE, 5 * SPACE, 4 * SPACE),
        )
        resize_within(self, SIZE)
        state.changed.connect(self._show)
        state.start()

    def closeEvent(self, event: object) -> None:
        self.state.close()
        super().closeEvent(event)  # type: ignore[arg-type]

    def figure(self) -> Figure | None:
        if self.state.table is None:
            return None
        lines = estimate_lines(self.state.table)

        def table() -> Table:
            return Table(tuple(lines[0]), [tuple(line.values()) for line in lines])

        caption = "\n".join(filter(None, (self.legend.text(), self.notes.text())))
        title = self.tr("Corrected estimates: {0}").format(self.what.currentText())
        return intervals_figure(self.picture, "estimates", title, caption, table)

    def _grid(self) -> QWidget:
        inner = QWidget()
        grid = layouts.grid(parent=inner, h_spacing=3 * SPACE, v_spacing=2 * SPACE)
        by = layouts.page(layouts.row((self.boxes["by"], 2), (self.period, 1), spacing=2 * SPACE))
        fields: tuple[tuple[QWidget, str], ...] = (
            (self.boxes["predicted"], "predicted"),
            (self.boxes["hand"], "hand"),
            (self.what, ""),
            (self.boxes["truth"], "truth"),
            (by, "by"),
            (self.boxes["compare"], "compare"),
            (self.boxes["chance"], "chance"),
        )
        titles = _titles() | {"": self.tr("Estimate")}
        for index, (field, role) in enumerate(fields):
            row, column = divmod(index, 2)
            grid.addWidget(Text(titles[role], "strong", wraps=False), row, 2 * column)
            grid.addWidget(field, row, 2 * column + 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        return inner

    # ── choices ──────────────────────────────────────────────────────────────────────────────

    def _on_column(self, role: str, _: int) -> None:
        name = self.boxes[role].currentData()
        is_code = role in ("predicted", "hand")
        self.state.choose(**{role: name if name or not is_code else ""})

    def _on_what(self) -> None:
        match self.what.currentData():
            case (kind, "") if kind == EACH:
                self.state.choose(share_of=None, is_mean=False)
            case (kind, "") if kind == MEAN:
                self.state.choose(share_of=None, is_mean=True)
            case (_, label):
                self.state.choose(share_of=label, is_mean=False)

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        state = self.state
        self._show_choices()
        self.status.setText(self._status())
        self.status.set_style("bad" if state.problem else "muted")
        self.status.setVisible(bool(self.status.text()))
        table = state.table
        for part in (self.legend, self.save, self.area, self.table, self.notes):
            part.setVisible(table is not None)
        if table is None:
            return
        self.legend.setText(self._legend(table.has_truth))
        self.notes.setText(" ".join(map(translated, table.notes)))
        marks, before = [], None
        for row in table.rows:
            key = (row.label, row.period)
            naive = row.estimate.naive.value
            is_apart = (
                before is not None and before != key and bool(row.group or before[0] != key[0])
            )
            marks.append(Mark(row_title(row), row.estimate.corrected, naive, is_apart, row.truth))
            before = key
        self.picture.show_marks(marks, partial(figure_text, is_share=table.is_share))
        self.model.show_rows(table.rows, self._columns(table))
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def _status(self) -> str:
        state = self.state
        if state.problem:
            return state.problem
        if state.is_working:
            return self.tr("Estimating…") if state.source else self.tr("Reading the columns…")
        if state.table is None and state.request is not None:
            return self.tr("Choose the columns of the machine codes and of the hand codes.")
        return ""

    def _show_choices(self) -> None:
        state = self.state
        request = state.request
        for role, box in self.boxes.items():
            if box.count() != len(state.columns) + 1:
                box.clear()
                box.addItem(self.tr("none"), None)
                for column in state.columns:
                    box.addItem(one_line(column, NAME_CHARACTERS), column)
            chosen = getattr(request, role) if request is not None else None
            box.setCurrentIndex(max(0, box.findData(chosen or None)))
            box.setEnabled(bool(state.columns))
        if request is None:
            return
        template = self.tr("Proportion of “{0}”")
        labels = {template.format(visible(x[:NAME_CHARACTERS])): ("", x) for x in state.labels}
        items = {
            self.tr("Proportion of each label"): (EACH, ""),
            self.tr("Mean"): (MEAN, ""),
            **labels,
        }
        if [self.what.itemText(n) for n in range(self.what.count())] != [*items]:  # it may be open
            self.what.clear()
            for text, what in items.items():
                self.what.addItem(text, what)
        is_mean = request.is_mean or (state.table is not None and not state.table.is_share)
        chosen_what = (MEAN if is_mean else EACH, "")
        if request.share_of is not None:
            chosen_what = ("", request.share_of)
        keys = [self.what.itemData(n) for n in range(self.what.count())]
        self.what.setCurrentIndex(keys.index(chosen_what) if chosen_what in keys else 0)
        self.period.setCurrentIndex(self.period.findData(request.period))
        self.period.setEnabled(request.by is not None)

    def _legend(self, has_truth: bool) -> str:
        text = self.tr("● corrected estimate with its 95 % interval   ○ machine codes alone")
        return self.tr("{0}   ◇ true value").format(text) if has_truth else text

    def _columns(self, table: EstimateTable) -> list[Column[EstimateRow]]:
        def written(row: EstimateRow) -> Callable[[float], str]:
            is_signed = row.minus is not None
            return partial(figure_text, is_share=table.is_share, is_signed=is_signed)

        def text(figure: Interval, row: EstimateRow) -> str:
            return with_ends(figure, written(row))

        columns = [
            Column[EstimateRow](self.tr("Estimate of"), row_title, tooltip=row_title),
            Column(
                self.tr("Corrected"),
                lambda row: text(row.estimate.corrected, row),
                value=lambda row: row.estimate.corrected.value,
                align_right=True,
            ),
            Column(
                self.tr("Machine codes alone"),
                lambda row: text(row.estimate.naive, row),
                value=lambda row: row.estimate.naive.value,
                align_right=True,
            ),
            Column(
                self.tr("Coded by hand"),
                lambda row: self.tr("{0} of {1}").format(
                    numbers.count(row.estimate.coded), numbers.count(row.estimate.rows)
                ),
                value=lambda row: row.estimate.coded,
                align_right=True,
            ),
        ]
        if table.has_truth:
            true_value = Column[EstimateRow](
                self.tr("True value"),
                lambda row: written(row)(row.truth),
                value=lambda row: row.truth,
                align_right=True,
            )
            columns.insert(2, true_value)
        if any(row.estimate.halving is not None for row in table.rows):
            columns.append(
                Column(
                    self.tr("For half the interval"),
                    lambda row: _halving(row.estimate.halving),
                    value=lambda row: row.estimate.halving,
                    align_right=True,
                    meaning=self.tr("Rows coded by hand with which the interval is half as wide."),
                )
            )
        return columns


def row_title(row: EstimateRow) -> str:
    """The label, period and group of an estimate."""
    group = row.group if row.minus is None else f"{row.group} − {row.minus}"
    parts = [visible(part[:NAME_CHARACTERS]) for part in (row.period, group, row.label) if part]
    if not row.period and not group:
        parts.insert(0, tr("All rows"))
    return " · ".join(parts)


def figure_text(value: float, is_share: bool, is_signed: bool = False) -> str:
    """A proportion in per cent or another number; with a sign for a difference."""
    if math.isnan(value):
        return "–"
    shown = abs(value) if is_signed else value
    text = numbers.percent(shown, 1) if is_share else numbers.decimal(shown, 3)
    return f"{numbers.sign(value)}{text}" if is_signed else text


def _halving(rows: int | None) -> str:
    return "–" if rows is None else numbers.count(rows)


def _titles() -> dict[str, str]:
    texts = (
        tr("Machine codes"),
        tr("Hand codes"),
        tr("True codes, if known"),
        tr("Over time, by"),
        tr("Compare groups of"),
        tr("Sampling probability"),
    )
    return dict(zip(ROLES, texts, strict=True))


def open_dialog(state: EstimatingState, notices: Notices, owner: QWidget) -> EstimateDialog:
    """Open the dialog, which is not modal, over the window of `owner`."""
    dialog = EstimateDialog(state, notices, owner)
    dialog.show()
    return dialog
