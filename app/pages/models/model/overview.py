"""Properties of a model, and its parts as a tree."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from app.library import ModelEntry
from app.pages.models.model.table import SHARE, PartsModel
from app.pages.models.texts import facts_of
from app.theme import SPACE, Role, colour
from app.widgets import layouts
from app.widgets.facts import Facts
from app.widgets.page import Card, scrolling
from app.widgets.tables import Index

SIDE = 80 * SPACE  # width of the properties

LONGEST_NUMBER = "999,999,999"  # reserved width next to a bar


class OverviewTab(QWidget):
    """Properties at the left, parts at the right."""

    def __init__(self, model: ModelEntry, parent: QWidget) -> None:
        super().__init__(parent)
        row = layouts.row(parent=self, spacing=4 * SPACE, margins=(0, 4 * SPACE, 0, 0))
        inner = QWidget()
        area = scrolling(inner)
        area.setFixedWidth(SIDE + 3 * SPACE)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        row.addWidget(area)
        column = layouts.column(parent=inner, margins=(0, 0, 3 * SPACE, 0))
        card = Card(self.tr("Details"), inner)
        column.addWidget(card)
        column.addStretch(1)
        self.facts = Facts(self.tr("Details"), card)
        card.body.addWidget(self.facts)
        self.facts.show_facts(facts_of(model))
        self.parts = PartsView()
        row.addWidget(self.parts, 1)


class PartsView(QTreeView):
    """Tree of the network's parts; a bar shows the fraction of all parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(self.tr("Network structure"))
        self.setUniformRowHeights(True)
        self.setItemDelegateForColumn(2, ShareBar(self))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)

    def show_parts(self, model: PartsModel) -> None:
        self.setModel(model)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        header.resizeSection(2, 44 * SPACE)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.expand(model.index(0, 0))
        if model.rowCount() > 1:
            first = model.index(1, 0)
            self.expandRecursively(first)
        self.setCurrentIndex(model.index(0, 0))


class ShareBar(QStyledItemDelegate):
    """Number with a bar of its fraction."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        share = index.data(SHARE)
        if share:
            number = option.fontMetrics.horizontalAdvance(LONGEST_NUMBER)
            room = QRectF(option.rect).adjusted(SPACE, 3, -2 * SPACE - number, -3)
            bar = QRectF(room.left(), room.top(), max(room.width() * share, 1.0), room.height())
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour(Role.CHART_1, 0.22))
            painter.drawRoundedRect(bar, 3, 3)
            painter.restore()
