"""Figure of the map."""

from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.panels.map.points import SIDE, paint_points
from app.pages.explore.panels.map.state import MapState
from app.pages.explore.panels.map.texts import axis_names, vectors_name
from app.theme import Role
from app.translation import tr
from app.widgets.charts.figure import Figure, Table, paper_font, print_color
from app.widgets.text.numbers import count

BELOW = 20  # px of the axis name


def figure_of(state: MapState) -> Figure | None:
    """None if there is no map."""
    answer, of = state.answer, state.of
    if answer is None or of is None:
        return None
    points, names, legend = state.points.copy(), state.names(), state.legend()
    across, up = axis_names(answer)
    rows = list(state.rows)

    def paint(painter: QPainter, size: QSizeF) -> None:
        painter.setFont(paper_font(11))
        area = QRectF(BELOW + 8, 8, size.width() - BELOW - 16, size.height() - BELOW - 16)
        painter.setPen(print_color(Role.BORDER))
        painter.drawRect(area.adjusted(-8, -8, 8, 8))
        paint_points(painter, area, points, names, legend, print_color)
        painter.setPen(print_color(Role.MUTED))
        middle = Qt.AlignmentFlag.AlignCenter
        painter.drawText(
            QRectF(BELOW, size.height() - 18, size.width() - BELOW, 16), middle, across
        )
        painter.translate(8, size.height() / 2)
        painter.rotate(-90)
        painter.drawText(QRectF(-150, -8, 300, 16), middle, up)

    def table() -> Table:
        return Table(
            ("number", "x", "y", "label", "prediction", "text"),
            [
                (
                    n + 1,
                    *(float(v) for v in points[n]),
                    answer.labels[n],
                    answer.predictions[n],
                    rows[n][0] if n < len(rows) else "",
                )
                for n in range(len(points))
            ],
        )

    text = tr("{0} of {1} texts of {2}, {3}.").format(
        vectors_name(state), count(len(points)), of.name, across
    )
    return Figure(
        name=f"map-layer-{state.shown_height}",
        title=tr("Texts of {0} at layer {1}").format(of.name, state.shown_height),
        caption=f"{text} {source(state.study)}",
        size=QSize(SIDE + BELOW, SIDE),
        paint=paint,
        array=points,
        table=table,
    )
