"""“Make it smaller”: a search for smaller models of a run, as a picture and a table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QCoreApplication, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QProgressBar, QWidget

from app import background
from app.explorer import OneTimeWorker
from app.studio import Studio
from app.theme import SPACE, px
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.charts.chart import Axis, Chart, Line, Points, Series
from app.widgets.charts.figure import Figure
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.painting import chart_figure
from app.widgets.charts.view import ChartView
from app.widgets.dialogs import Dialog, choose_file, footer
from app.widgets.forms.controls import ComboBox, SpinBox
from app.widgets.help import HelpButton, set_help
from app.widgets.results.intervals import with_ends
from app.widgets.screen import resize_within
from app.widgets.table_menu import selected_rows
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text, one_line
from engine.data.formats.sources import data_suffixes
from engine.messages.explore.text import PRECISIONS
from engine.messages.question import Answer, Refused, Working
from engine.messages.shrinking import CLOSE, Cost, Shrink, ShrinkPoint, Shrunk
from engine.results.intervals import Interval
from engine.results.students import read_points, students_folder

SIZE = QSize(980, 680)  # px
TRIALS, MAX_TRIALS = 8, 100
MIN_CHART = 56 * SPACE  # px
FILE_CHARACTERS = 40
MARGIN = 1.08  # of the horizontal axis beyond the last point
MB = 1e6


class SmallerState(QObject):
    """The search of one run: its options, progress and points. No widgets.

    Signals:
        changed: any of them changed.
    """

    changed = Signal()

    def __init__(self, studio: Studio, run: Path, name: str) -> None:
        super().__init__()
        self._studio, self.run, self.name = studio, run, name
        self.trials = TRIALS
        self.texts: Path | None = None
        self.shrunk: Shrunk | None = None
        self.working: Working | None = None
        self.problem = ""
        self._worker: OneTimeWorker | None = None
        program = QCoreApplication.instance()
        assert program is not None
        program.aboutToQuit.connect(self.stop)

    def open(self) -> None:
        """Read the points of an earlier search outside the GUI thread."""
        folder = students_folder(self.run)
        background.run(self, lambda: read_points(folder), self._on_answer, self._on_failed)

    @property
    def is_running(self) -> bool:
        return self._worker is not None

    @property
    def done(self) -> int:
        """Number of students so far."""
        return 0 if self.shrunk is None else self.shrunk.done

    def start(self) -> None:
        """Search in a separate process; it continues with what an earlier search has done."""
        if self.is_running:
            return
        self.problem, self.working = "", Working(stage=self.tr("Starting"))
        self._worker = self._studio.one_time_worker(
            Shrink(
                run=self.run,
                into=students_folder(self.run),
                trials=self.trials,
                texts=self.texts,
            ),
            self._on_done,
            self._on_refused,
            self._on_working,
            self,
            self._on_answer,
        )
        self.changed.emit()

    def stop(self) -> None:
        """End the process; finished students are kept."""
        if self._worker is not None:
            self._worker.cancel()
            self._worker, self.working = None, None
            self.changed.emit()

    def _on_working(self, working: Working) -> None:
        self.working = working
        self.changed.emit()

    def _on_done(self, answer: Answer) -> None:
        self._worker, self.working = None, None
        self._on_answer(answer)

    def _on_answer(self, answer: Answer | None) -> None:
        if isinstance(answer, Shrunk):
            self.shrunk = answer
        self.changed.emit()

    def _on_refused(self, refusal: Refused) -> None:
        self._worker, self.working = None, None
        self.problem = translated(refusal.phrase)
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self.problem = translated(background.as_studio_error(error).phrase)
        self.changed.emit()


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
                    "Each smaller model has fewer layers, a smaller intermediate size and fewer "
                    "tokens, and learns the outputs of this run. All are measured on its "
                    "validation rows."
                ),
                "muted",
            ),
            layouts.wrap(
                *(number, self.trials, self.texts, layouts.STRETCH, self.cost, self.save),
                *(HelpButton("smaller"), self.start),
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
            self.model.show_rows(shrunk.points, _columns(shrunk))
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
        for part in (self.trials, self.texts):
            part.setEnabled(not state.is_running)

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


def points_chart(shrunk: Shrunk, kind: Cost) -> Chart:
    """Score against cost; the models that no other beats are joined, with their intervals."""
    unit = 1.0 if kind == "milliseconds" else MB
    frontier, metric = shrunk.frontier(kind), f"validation_{shrunk.metric}"

    def column(points: list[ShrinkPoint], value: Callable[[ShrinkPoint], float]) -> np.ndarray:
        return np.array([value(point) for point in points], dtype=np.float64)

    def x(points: list[ShrinkPoint]) -> np.ndarray:
        return column(points, lambda point: point.cost(kind) / unit)

    def y(points: list[ShrinkPoint]) -> np.ndarray:
        return column(points, lambda point: point.score)

    line = Line(
        tr("Best at its cost, with 95 % intervals"),
        x(frontier),
        y(frontier),
        low=column(frontier, lambda point: point.low),
        high=column(frontier, lambda point: point.high),
        dots=True,
    )
    groups = {
        tr("Smaller models"): [p for p in shrunk.points if not p.is_teacher],
        tr("This run"): [p for p in shrunk.points if p.is_teacher],
    }
    series: list[Series] = [line]
    for index, (name, points) in enumerate(groups.items()):
        if points:
            series.append(Points(name, x(points), y(points), color=index + 1))
    ends = [end for point in shrunk.points for end in (point.low, point.high)]
    title = tr("Processor time per text (ms)") if kind == "milliseconds" else tr("Size (MB)")
    margin = 0.05 * (max(ends) - min(ends) or 1.0)
    return Chart(
        x=Axis(title, limits=(0.0, MARGIN * float(x(list(shrunk.points)).max()))),
        y=Axis(
            run_texts.metric_heading(metric),
            limits=(min(ends) - margin, max(ends) + margin),
            text=lambda value, _: run_texts.metric_value(metric, value),
        ),
        series=tuple(series),
    )


def point_name(point: ShrinkPoint) -> str:
    """Name of a model, and its precision if that is reduced."""
    name = tr("This run") if point.is_teacher else translated(point.name)
    return name if point.computed == "float32" else f"{name}, {PRECISIONS[point.computed]}"


def _columns(shrunk: Shrunk) -> list[Column[ShrinkPoint]]:
    metric = f"validation_{shrunk.metric}"
    frontier = shrunk.frontier()

    def score(point: ShrinkPoint) -> str:
        figure = Interval(point.score, point.low, point.high)
        return with_ends(figure, lambda value: run_texts.metric_value(metric, value))

    def speed(point: ShrinkPoint) -> str:
        text = numbers.decimal(point.times, 1)
        if point.slowest == point.fastest:
            return text
        ends = numbers.decimal(point.slowest, 1), numbers.decimal(point.fastest, 1)
        return tr("{0} ({1} to {2})").format(text, *ends)

    return [
        Column[ShrinkPoint](tr("Model"), point_name, tooltip=point_name),
        Column(run_texts.metric_heading(metric), score, value=lambda p: p.score, align_right=True),
        Column(tr("Times as fast"), speed, value=lambda p: p.times, align_right=True),
        Column(
            tr("ms per text"),
            lambda p: numbers.decimal(p.milliseconds, 2),
            value=lambda p: p.milliseconds,
            align_right=True,
            meaning=tr("Processor time on this machine, in turns with this run."),
        ),
        Column(
            tr("Size"), lambda p: numbers.size(p.bytes), value=lambda p: p.bytes, align_right=True
        ),
        Column(
            tr("Best at its cost"),
            lambda p: tr("yes") if p in frontier else "",
            value=lambda p: p in frontier,
            meaning=tr("No other model is as fast and has a better score."),
        ),
    ]
