"""A widget that is created once, when first needed."""

from PySide6.QtWidgets import QLineEdit, QTabWidget

from app.widgets.page import LazyWidget


def test_the_widget_is_created_when_first_shown(qtbot):
    created = list[QLineEdit]()

    def create() -> QLineEdit:
        created.append(QLineEdit("typed"))
        return created[-1]

    tabs, lazy = QTabWidget(), LazyWidget(create)
    qtbot.addWidget(tabs)
    tabs.addTab(QLineEdit(), "One")
    tabs.addTab(lazy, "Two")
    tabs.resize(300, 200)
    tabs.show()
    assert not lazy.is_built and not created
    tabs.setCurrentIndex(1)
    assert created[0].isVisible() and lazy.widget is created[0]
    assert created[0].width() == lazy.width() > 0, "laid out immediately"
    tabs.setCurrentIndex(0)
    tabs.setCurrentIndex(1)
    assert len(created) == 1


def test_a_widget_is_created_on_request_or_after_its_page(qtbot):
    lazy = LazyWidget(lambda: QLineEdit("typed"))
    qtbot.addWidget(lazy)
    assert lazy.widget.text() == "typed" and lazy.widget.parent() is lazy
    assert lazy.is_built and not lazy.widget.isVisible()
    lazy = LazyWidget(lambda: QLineEdit("typed"), after_its_page=True)
    qtbot.addWidget(lazy)
    lazy.resize(300, 200)
    lazy.show()
    assert not lazy.is_built
    qtbot.waitUntil(lambda: lazy.is_built)
    assert lazy.widget.isVisible() and lazy.widget.width() == lazy.width()
    deleted = LazyWidget(lambda: QLineEdit("typed"), after_its_page=True)
    deleted.show()
    deleted.deleteLater()
    qtbot.wait(1)  # never created
