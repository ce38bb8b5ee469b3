"""A place for a widget that is made when it is needed."""

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.widgets import layouts

Made = TypeVar("Made", bound=QWidget)


class Later(QWidget, Generic[Made]):
    """Fills itself when it is shown first, or when somebody asks for `made`.

    What most people never look at then takes no time where it is not looked at. What is shown with
    its page, and takes long itself, is made after it, in a turn of events of its own.
    """

    def __init__(
        self, make: Callable[[], Made], parent: QWidget | None = None, after_its_page: bool = False
    ) -> None:
        super().__init__(parent)
        self._make, self._after_its_page = make, after_its_page
        self._made: Made | None = None
        self._column = layouts.column(parent=self)

    @property
    def made(self) -> Made:
        """The widget; it is made by the first who asks."""
        if self._made is None:
            self._made = self._make()
            self._column.addWidget(self._made)
        return self._made

    @property
    def is_made(self) -> bool:
        return self._made is not None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._after_its_page and not self.is_made:
            QTimer.singleShot(0, self, self._fill)
        else:
            self._fill()

    def _fill(self) -> None:
        self.made.show()
        self._column.activate()  # now, or it would be painted once in another size
