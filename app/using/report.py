"""Report of a run, or comparison of several, with figures, as HTML or PDF.

In three steps, since widgets draw the figures: `gather` and `write` run in any thread; `draw` makes
one figure at a time in the GUI thread.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PySide6.QtCore import QBuffer, QCoreApplication, QRect, QRectF, QSizeF
from PySide6.QtGui import QPainter, QPdfWriter, QPyTextObject, QTextDocument, QTextFormat

from app.tasks import task_part
from app.translation import Translator, in_language, tr, translated
from app.widgets.charts import figure
from app.widgets.charts.chart import Axis, Chart, Line, percent_text, tick_text
from app.widgets.charts.figure import Figure
from app.widgets.charts.painting import chart_figure
from app.widgets.charts.series import StepSeries
from app.widgets.results.picture import ResultPicture
from app.widgets.text.run_texts import VALIDATION, is_share, metric_heading
from engine.config.dataset import SplitName
from engine.desktop.preferences import RunPreferences
from engine.documents.comparison import CURVES, comparison_report
from engine.documents.report import TRAINED, Picture, Report, html, run_report
from engine.files.atomic_write import write_file
from engine.files.table_files import check_suffix
from engine.messages.events import Measured
from engine.progress import ProgressCallback, no_progress
from engine.results.several import ComparedRun
from engine.runs.folder import RunFolder

SMOOTHING = 25  # window of the moving average of the training loss, in points
PDF_SHRINK = 0.85  # relative to the size on a screen
PDF_SIZE = (600, 860)  # px of a page available for a figure
PDF_FONT = 9  # pt


class PlacedFigure(NamedTuple):
    section: str
    figure: Figure


class PendingFigure(NamedTuple):
    """A figure of the results of a split, to be drawn."""

    part: SplitName
    kind: type[ResultPicture]
    measured: Any


class Material(NamedTuple):
    """Contents of a report except the figures that are not drawn yet."""

    report: Report
    curves: tuple[PlacedFigure, ...]
    pending: tuple[PendingFigure, ...]


def write_report(collect: Callable[[], Material], path: Path, preferences: RunPreferences) -> None:
    """Run all three steps in English, without a window.

    `collect` is the first step: `gather` for a run, or `gather_comparison` for several.
    `preferences` name the author and the project.
    """
    check_suffix(path, WRITERS)
    translator = Translator()
    QCoreApplication.installTranslator(translator)
    try:
        material = collect()
        pictures = [placed for placed in map(draw, material.pending) if placed is not None]
        report = material.report.signed(preferences)
        write(path, report, (*material.curves, *pictures))
    finally:
        QCoreApplication.removeTranslator(translator)


def gather(run: RunFolder) -> Material:
    """Read the run and measure its predictions; slow for many rows.

    Raises StudioError as `run_report` does.
    """
    report, results = run_report(run)
    pending = tuple(
        PendingFigure(part, kind, kind.measure(predictions))
        for part, predictions in results.items()
        if predictions.is_labelled
        for kind in task_part(predictions.info.task).pictures
    )
    return Material(report, tuple(_curves(run)), pending)


def gather_comparison(
    runs: Sequence[ComparedRun], progress: ProgressCallback = no_progress
) -> Material:
    """Read several runs and compare their predictions; takes seconds per run.

    Raises StudioError as `comparison_report` does.
    """
    report = comparison_report(runs, progress)
    return Material(report, tuple(_comparison_curves(runs)), ())


def draw(item: PendingFigure) -> PlacedFigure | None:
    """Draw the figure; None if it shows nothing. Only in the GUI thread."""
    picture = item.kind()
    picture.show_measured(item.measured)
    drawing = picture.figure()
    picture.deleteLater()
    return PlacedFigure(item.part, drawing) if drawing is not None else None


def write(
    path: Path, report: Report, figures: Sequence[PlacedFigure], language: str = "en"
) -> None:
    """Write the report atomically, in the format of the suffix.

    Raises StudioError if the suffix is unknown or the file cannot be written.
    """
    content = WRITERS[check_suffix(path, WRITERS)](report, figures, language)
    write_file(path, content, shared=True)


def as_html(report: Report, figures: Sequence[PlacedFigure], language: str) -> bytes:
    pictures = [
        _picture(
            placed,
            _data_uri(figure.svg(placed.figure)) if placed.figure.cells is None else "",
            figure.sheet_size(placed.figure).width(),
        )
        for placed in figures
    ]
    return html(report, pictures, translated, language).encode("utf-8")


def as_pdf(report: Report, figures: Sequence[PlacedFigure], language: str) -> bytes:
    """Print the HTML page on numbered A4 sheets, with its figures as drawings."""
    document = QTextDocument()
    document.setUseDesignMetrics(True)
    document.setMetaInformation(QTextDocument.MetaInformation.CssMedia, "print")
    document.setDefaultFont(figure.print_font(PDF_FONT / figure.POINTS))
    drawings = _Drawings([placed.figure for placed in figures])
    kind = QTextFormat.ObjectTypes.ImageObject.value
    document.documentLayout().registerHandler(kind, drawings)
    pictures = [
        _picture(placed, str(index), _pdf_width(placed.figure))
        for index, placed in enumerate(figures)
    ]
    document.setHtml(html(report, pictures, translated, language))

    def print_to(buffer: QBuffer) -> None:
        writer = QPdfWriter(buffer)
        writer.setTitle(translated(report.title))
        writer.setAuthor(report.author)
        writer.setCreator("BERT Studio")
        writer.setResolution(figure.DOTS)
        document.print_(writer)

    return figure.with_blanks(figure.to_bytes(print_to))


WRITERS: dict[str, Callable[[Report, Sequence[PlacedFigure], str], bytes]] = {
    ".html": as_html,
    ".pdf": as_pdf,
}


def _picture(placed: PlacedFigure, source: str, width: int) -> Picture:
    """A figure in the page: a table of texts as one, any other as a picture of `source`."""
    drawing = placed.figure
    picture = Picture(placed.section, drawing.title, drawing.caption)
    if (cells := drawing.cells) is None:
        return replace(picture, source=source, width=width)
    rows = tuple(tuple(map(str, row)) for row in cells.rows)
    return replace(picture, header=cells.header, rows=rows)


class _Drawings(QPyTextObject):
    """Paints the images of a document, which are named by the index of their figure."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        super().__init__()
        self._figures = figures

    def intrinsicSize(self, document: QTextDocument, position: int, shown: QTextFormat) -> QSizeF:
        width = shown.toImageFormat().width()
        return QSizeF(figure.sheet_size(self._figure(shown))) * self._scale(shown, width)

    def drawObject(
        self,
        painter: QPainter,
        rect: QRectF | QRect,
        document: QTextDocument,
        position: int,
        shown: QTextFormat,
    ) -> None:
        painter.save()
        painter.translate(rect.topLeft())
        scale = self._scale(shown, rect.width())
        painter.scale(scale, scale)
        figure.paint_sheet(painter, self._figure(shown))
        painter.restore()

    def _figure(self, shown: QTextFormat) -> Figure:
        return self._figures[int(shown.toImageFormat().name())]

    def _scale(self, shown: QTextFormat, width: float) -> float:
        return width / figure.sheet_size(self._figure(shown)).width()


def _pdf_width(drawing: Figure) -> int:
    size = figure.sheet_size(drawing)
    limits = (limit / side for limit, side in zip(PDF_SIZE, size.toTuple(), strict=True))
    return round(size.width() * min(PDF_SHRINK, *limits))


def _data_uri(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{b64encode(svg).decode('ascii')}"


# ── the curves ───────────────────────────────────────────────────────────────────────────────


def _curves(run: RunFolder) -> Iterator[PlacedFigure]:
    series = _series(run)
    lines = [
        _line(series, "loss", tr("training"), SMOOTHING),
        _line(series, f"{VALIDATION}loss", tr("validation"), color=1),
    ]
    if (chart := _chart(lines, Axis(tr("Loss")))) is not None:
        caption = tr("Training loss (smoothed) and validation loss.")
        yield PlacedFigure(TRAINED, chart_figure("loss", tr("Loss"), caption, chart))
    lines = [
        _line(series, f"{VALIDATION}{metric.name}", in_language(metric.title), color=index)
        for index, metric in enumerate(run.job().task.info.metrics)
        if metric.unit == "share"
    ]
    scale = Axis(tr("Score"), (0.0, 1.0), text=percent_text)
    if (chart := _chart(lines, scale)) is not None:
        title = tr("Validation metrics")
        yield PlacedFigure(
            TRAINED, chart_figure("metrics", title, tr("Over all validation rows."), chart)
        )


def _comparison_curves(runs: Sequence[ComparedRun]) -> Iterator[PlacedFigure]:
    all_curves = [_series(RunFolder(run.folder)) for run in runs]
    names = dict.fromkeys(
        name for curves in all_curves for name in curves if name.startswith(VALIDATION)
    )
    for name in ("loss", *names):
        smoothing = SMOOTHING if name == "loss" else 1
        lines = [
            _line(series, name, run.name, smoothing, index)
            for index, (run, series) in enumerate(zip(runs, all_curves, strict=True))
        ]
        title = metric_heading(name)
        scale = Axis(title, text=percent_text if is_share(name) else tick_text)
        if (chart := _chart(lines, scale)) is not None:
            caption = tr("Smoothed over {0} points.").format(SMOOTHING) if smoothing > 1 else ""
            file_name = f"compare-{name}".replace("_", "-")
            yield PlacedFigure(CURVES, chart_figure(file_name, title, caption, chart))


def _series(run: RunFolder) -> dict[str, StepSeries]:
    """Curves by name; values measured again after a resume replace the old ones."""
    points: dict[str, tuple[list[float], list[float | None]]] = {}
    curves: dict[str, StepSeries] = {}
    for event in run.all_events():
        if isinstance(event, Measured):
            steps, values = points.setdefault(event.name, ([], []))
            if steps and event.step <= steps[-1]:
                curves.setdefault(event.name, StepSeries()).extend(steps, values)
                steps.clear()
                values.clear()
            steps.append(event.step)
            values.append(event.value)
    for name, (steps, values) in points.items():
        curves.setdefault(name, StepSeries()).extend(steps, values)
    return curves


def _line(
    all_series: Mapping[str, StepSeries], key: str, name: str, smoothing: int = 1, color: int = 0
) -> Line | None:
    """A curve to draw; None if it has fewer than two points."""
    series = all_series.get(key, StepSeries())
    values = series.smooth(smoothing)
    if np.isfinite(values).sum() < 2:
        return None
    return Line(name, series.steps, values, color)


def _chart(lines: Sequence[Line | None], values: Axis) -> Chart | None:
    """Make a chart of curves over steps; None without curves."""
    curves = tuple(line for line in lines if line is not None)
    return Chart(Axis(tr("Step"), integer=True), values, curves) if curves else None
