"""“Make it smaller”: a search for smaller models of a run, as a picture and a table."""

from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QProgressBar, QWidget

from app.pages.runs.run.smaller_points import point_columns, point_name, points_chart
from app.pages.runs.run.smaller_state import SmallerState
from app.studio import Studio
from app.theme import SPACE, px
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.painting import chart_figure
from app.widgets.charts.view import ChartView
from app.widgets.dialogs import Dialog, choose_file, footer
from app.widgets.forms.controls import CheckableMenu, ComboBox, SpinBox
from app.widgets.help import HelpButton, set_help
from app.widgets.screen import resize_within
from app.widgets.table_menu import selected_rows
from app.widgets.tables import ColumnsModel, make_table
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text, one_line, plain_menu_text
from engine.data.formats.sources import data_suffixes
from engine.messages.shrinking import CLOSE, ShrinkPoint, Shrunk

SIZE = QSize(980, 680)  # px
MAX_TRIALS = 100
MIN_CHART = 56 * SPACE  # px
FILE_CHARACTERS = NAME_CHARACTERS = 40


class SmallerDialog(Dialog):
    """A non-modal dialog: options, a picture of score against cost, and all models in a table.

    Signals:
        export_requested: the folder of the chosen model.
    """

    export_requested = Signal(object)

    def __init__(self, state: SmallerState, studio: Studio, owner: QWidget) -> None:
        super().__init__(owner.window(), tr("Make “{0}” smaller").format(one_line(state.name, 60)))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.state = state
        state.setParent(self)
        self.trials = SpinBox()
        self.trials.setRange(1, MAX_TRIALS)
        self.trials.setValue(state.trials)
        self.trials.setAccessibleName(self.tr("Number of smaller models"))
        self.trials.valueChanged.connect(self._on_trials)
        self.others = buttons.plain("", icon="boxes")
        self.others.setToolTip(
            self.tr("Other models that learn from this run. Each counts as one smaller model.")
        )
        self.menu = CheckableMenu(self.others)
        self.menu.aboutToShow.connect(self._fill_menu)
        self.others.setMenu(self.menu)
        self.texts = buttons.plain(self.tr("Further &texts…"), self._on_texts, "file-text")
        self.texts.setToolTip(
            self.tr("A file of texts without labels, from which the smaller models learn as well.")
        )
        self.cost = ComboBox(self.tr("Horizontal axis"))
        self.cost.addItem(self.tr("Processor time per text"), "milliseconds")
        self.cost.addItem(self.tr("Size"), "bytes")
        self.cost.activated.connect(lambda _: self._show())
        self.start = buttons.primary("", self._on_start)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Progress of the search"))
        self.chart = ChartView(self.tr("Score against cost of each model"))
        self.chart.setMinimumHeight(px(MIN_CHART))
        self.model = ColumnsModel[ShrinkPoint](parent=self)
        self.table = make_table(self.tr("Models"), self.model)
        self.save = FigureButton(self.figure, studio.notices)
        self.save.offer_on(self.chart)
        self.status = Text("", "muted", selectable=True)
        self.filler = QWidget()
        self.export = buttons.plain(self.tr("E&xport…"), self._on_export, "upload")
        close = buttons.plain(self.tr("&Close"), self.close)
        set_help(self, "smaller")
        number = Text(self.tr("Smaller models"), "strong", wraps=False)
        layouts.column(
            Text(
                self.tr(
                    "Each smaller model is this run with fewer layers, heads, neurons and tokens, "
                    "or another model. It learns the outputs of this run and is measured on its "
                    "validation rows."
                ),
                "muted",
            ),
            layouts.wrap(
                *(number, self.trials, self.others, self.texts, layouts.STRETCH),
                *(self.cost, self.save, HelpButton("smaller"), self.start),
            ),
            self.bar,
            self.status,
            (self.chart, 3),
            (self.table, 2),
            (self.filler, 1),
            footer(self.export, close),
            parent=self,
            spacing=2 * SPACE,
            margins=(5 * SPACE, 5 * SPACE, 5 * SPACE, 4 * SPACE),
        )
        resize_within(self, SIZE)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._show_buttons())
        state.changed.connect(self._show)
        self.finished.connect(lambda _: state.stop())
        self._shown: Shrunk | None = None
        self._show()
        state.open()

    def figure(self) -> Figure | None:
        if self.chart.chart is None:
            return None
        title = self.tr("Smaller models of {0}").format(one_line(self.state.name, 60))
        return chart_figure("smaller", title, self.status.text(), self.chart.chart)

    # ── choices ──────────────────────────────────────────────────────────────────────────────

    def _on_trials(self, number: int) -> None:
        self.state.trials = number
        self._show_buttons()

    def _fill_menu(self) -> None:
        self.menu.clear()
        template = self.tr("{0}: {1} parameters, {2} of this run")
        for model in self.state.others:
            sizes = numbers.large_count(model.parameters), numbers.percent(model.fraction, 0)
            text = template.format(one_line(model.name, NAME_CHARACTERS), *sizes)
            action = self.menu.addAction(plain_menu_text(text))
            action.setCheckable(True)
            action.setChecked(model.path in self.state.students)
            action.toggled.connect(lambda on, path=model.path: self.state.choose(path, on))

    def _on_texts(self) -> None:
        suffixes = " ".join(f"*{suffix}" for suffix in data_suffixes())
        filters = [self.tr("Data files ({0})").format(suffixes)]
        choose_file(self, self.tr("Texts without labels"), self._on_file, filters)

    def _on_file(self, file: Path) -> None:
        self.state.texts = file
        buttons.set_text(self.texts, one_line(file.name, FILE_CHARACTERS))

    def _on_start(self) -> None:
        if self.state.is_running:
            self.state.stop()
        else:
            self.state.start()

    def _on_export(self) -> None:
        if (point := self.selected()) is not None:
            self.export_requested.emit(point.checkpoint)

    def selected(self) -> ShrinkPoint | None:
        """The model of the selected row."""
        rows = selected_rows(self.table)
        return self.model.row(rows[0]) if rows else None

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        state, shrunk = self.state, self.state.shrunk
        self._show_buttons()
        stage = f"{translated(state.working.stage)} …" if state.working is not None else ""
        self.status.setText(state.problem or stage or self._summary())
        self.status.set_style("bad" if state.problem else "muted")
        self.status.setVisible(bool(self.status.text()))
        self.bar.setVisible(state.working is not None)
        if state.working is not None:
            self.bar.setRange(0, state.working.total)
            self.bar.setValue(state.working.done)
        for part in (self.chart, self.table, self.save, self.cost, self.export):
            part.setVisible(shrunk is not None)
        self.filler.setVisible(shrunk is None)
        if shrunk is None:
            return
        self.chart.show_chart(points_chart(shrunk, self.cost.currentData()))
        if shrunk is not self._shown:
            self._shown = shrunk
            self.model.show_rows(shrunk.points, point_columns(shrunk))
            header = self.table.horizontalHeader()
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def _show_buttons(self) -> None:
        state = self.state
        text = self.tr("&Search")
        if state.is_running:
            text = self.tr("&Stop")
        elif state.done:
            text = self.tr("&Continue")
        buttons.set_text(self.start, text)
        self.start.setEnabled(state.is_running or state.done < state.trials)
        self.export.setEnabled(self.selected() is not None)
        text = self.tr("&Other models")
        if state.students:
            text = self.tr("%Ln &other model(s)", "", len(state.students))
        buttons.set_text(self.others, text)
        for part in (self.trials, self.texts):
            part.setEnabled(not state.is_running)
        self.others.setEnabled(bool(state.others) and not state.is_running)

    def _summary(self) -> str:
        """The smallest student within 3 % of the teacher's score, in a sentence."""
        shrunk = self.state.shrunk
        best = None if shrunk is None else shrunk.smallest_close()
        if shrunk is None:
            return self.tr(
                "No smaller models yet. They are trained one after the other; you can stop the "
                "search and continue it."
            )
        if best is None:
            share = numbers.percent(CLOSE, 0)
            return self.tr("No smaller model keeps {0} of the score yet.").format(share)
        teacher, metric = shrunk.points[0], f"validation_{shrunk.metric}"
        scores = (run_texts.metric_value(metric, p.score) for p in (best, teacher))
        template = self.tr("{0}: {1} against {2}, {3} of the size, {4} times as fast.")
        return template.format(
            point_name(best),
            *scores,
            numbers.percent(best.bytes / teacher.bytes),
            numbers.decimal(best.times, 1),
        )
