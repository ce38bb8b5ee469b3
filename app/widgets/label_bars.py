"""Label counts as bars; selecting a bar shows its rows."""

from operator import itemgetter

from PySide6.QtCore import QItemSelection, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from app.theme import SPACE, Role, colour, px
from app.translation import tr
from app.widgets.tables import Column, ColumnsModel, Index, apply_style
from app.widgets.text import numbers
from app.widgets.text.labels import one_line

FRACTION_ROLE = int(Qt.ItemDataRole.UserRole)  # relative to the most frequent label, 0 to 1
LABELLED_ROLE = FRACTION_ROLE + 1
MAX_BARS = 10  # without scrolling
BALANCED_RATIO = 1.5  # max. ratio of the most frequent to the rarest label


class LabelsModel(ColumnsModel[tuple[str, int]]):
    """Label counts, descending, or bins in their order: name and rows. No label comes last."""

    def __init__(
        self,
        labels: dict[str, int],
        rows: int = 0,
        parent: QObject | None = None,
        is_binned: bool = False,
    ) -> None:
        """`rows` is the total for fractions; 0 if each row has one label."""
        super().__init__(parent=parent)
        total = max(rows or sum(labels.values()), 1)
        maximum = max(labels.values(), default=1)
        self.columns = (
            Column(
                self.tr("Label"),
                lambda row: one_line(row[0][:100]) if row[0] else self.tr("No label"),
                value=itemgetter(0),
                tooltip=itemgetter(0),
            ),
            Column(
                self.tr("Rows"),
                lambda row: f"{numbers.count(row[1])}  {numbers.percent(row[1] / total)}",
                value=itemgetter(1),
                roles={
                    FRACTION_ROLE: lambda row: row[1] / maximum,
                    LABELLED_ROLE: lambda row: bool(row[0]),
                },
            ),
        )
        by_count = sorted(sorted(labels.items()), key=itemgetter(1), reverse=True)
        ordered = sorted(by_count, key=lambda row: not row[0])
        self.show_rows(list(labels.items()) if is_binned else ordered)


class LabelBarsView(QTableView):
    """Label counts. `chosen` emits the label whose rows to show, None for all."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        apply_style(self, self.tr("Label counts"))
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # many have the same prefix
        self.verticalHeader().hide()
        self.horizontalHeader().hide()
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._bars = _BarDelegate(self)
        self.setItemDelegateForColumn(1, self._bars)

    def show_labels(self, labels: dict[str, int], rows: int = 0, is_binned: bool = False) -> None:
        """Show counts; `rows` is the total if a row may have several labels."""
        model = LabelsModel(labels, rows, self, is_binned)
        self.setModel(model)
        header = self.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        metrics = QFontMetricsF(self.font())
        rows_measured = range(min(model.rowCount(), 200))
        names = (model.index(row, 0).data()[:30] for row in rows_measured)
        counts = (model.index(row, 1).data() for row in rows_measured)
        width = max(map(metrics.horizontalAdvance, names), default=0)
        self._bars.text_width = max(map(metrics.horizontalAdvance, counts), default=0) + 3 * SPACE
        self.setColumnWidth(0, round(min(max(width + 6 * SPACE, 14 * SPACE), 36 * SPACE)))
        count = min(len(labels), MAX_BARS)
        self.setFixedHeight(count * self.verticalHeader().defaultSectionSize() + 2)
        self.selectionModel().selectionChanged.connect(self._on_selected)

    def _on_selected(self, selected: QItemSelection, _before: QItemSelection) -> None:
        indexes = selected.indexes()
        model = self.model()
        assert isinstance(model, LabelsModel)
        self.chosen.emit(model.row(indexes[0].row())[0] if indexes else None)


class _BarDelegate(QStyledItemDelegate):
    text_width = 0.0  # px of the widest count, so that all bars have one scale

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(px(20 * SPACE), option.fontMetrics.height() + 2 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        text = str(index.data())
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, colour(Role.ACCENT_SOFT))
        area = QRectF(option.rect).adjusted(SPACE, 5, -self.text_width - SPACE, -5)
        bar = QRectF(
            area.left(), area.top(), max(area.width() * index.data(FRACTION_ROLE), 2), area.height()
        )
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(Role.CHART_1 if index.data(LABELLED_ROLE) else Role.EDGE))
        painter.drawRoundedRect(bar, 2, 2)
        painter.setPen(colour(Role.MUTED))
        painter.setFont(option.font)
        box = QRectF(option.rect)
        box.setLeft(bar.right() + 2 * SPACE)
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()


def balance_text(labels: dict[str, int]) -> str:
    """A sentence about the balance of the labels; unlabelled rows do not count."""
    labels = {label: count for label, count in labels.items() if label and count}
    counts = list(labels.values())
    if not counts:
        return tr("No row has a label yet.")
    if len(counts) < 2:
        return tr("Only one class: nothing to learn.")
    maximum, minimum, total = max(counts), min(counts), sum(counts)
    if maximum / minimum <= BALANCED_RATIO:
        return tr("Balanced: all labels are about equally frequent.")
    common = max(labels, key=lambda label: labels[label])
    return tr(
        "Imbalanced: “{0}” is {1} × as frequent as the rarest label. A model that always "
        "answers “{0}” would already reach {2} accuracy, so check F1 as well."
    ).format(
        one_line(common[:60]),
        numbers.decimal(maximum / minimum, 1),
        numbers.percent(maximum / total),
    )
