"""A scroll area measures its content when it is first shown."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.widgets.page import scrolling
from app.widgets.screen import set_shown


class Counter(QObject):
    """Counts how often a widget is polished."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Polish
        return False


def in_column(*labels: QLabel) -> QWidget:
    widget = QWidget()
    column = QVBoxLayout(widget)
    for label in labels:
        column.addWidget(label)
    return widget


def test_a_scroll_area_measures_its_content_when_first_shown(qtbot):
    label, counter = QLabel("some words"), Counter()
    label.installEventFilter(counter)
    area = scrolling(in_column(label))
    window = in_column()
    qtbot.addWidget(window)
    window.layout().addWidget(area)
    assert counter.count == 0 and area.widget() is None
    assert window.isAncestorOf(label)
    window.show()
    assert counter.count == 1 and label.isVisible()
    assert area.widget() is not None and area.widget().width() == area.viewport().width()


def test_widgets_shown_with_their_layout_are_not_laid_out_before(qtbot):
    first, other, counter = QLabel("one"), QLabel("other"), Counter()
    first.installEventFilter(counter)
    window = in_column(first, other)
    qtbot.addWidget(window)
    set_shown(first, True)
    set_shown(other, False)
    assert counter.count == 0
    assert other.isHidden() and other.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide)
    window.show()
    assert first.isVisible() and not other.isVisible()
    set_shown(other, True)
    set_shown(first, False)
    assert other.isVisible() and not first.isVisible()
