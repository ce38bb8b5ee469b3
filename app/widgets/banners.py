"""Banners with notices and errors below a page, with Details, Copy and Close."""

from PySide6.QtCore import QEvent, QObject, QRect, Qt, Signal
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QWidget

from app import theme
from app.notices import Notice, Notices, shorten
from app.theme import SPACE, Role
from app.timers import debounced
from app.widgets import buttons, layouts
from app.widgets.drawing import fill
from app.widgets.page import MARGIN, Picture
from app.widgets.screen import set_shown
from app.widgets.text.labels import Text, TextView

NOTICE_MS = 9000  # errors stay
MAX_WIDTH = 720  # px
BOTTOM_MARGIN = 2 * SPACE  # px
MAX_HEIGHT_FRACTION = 0.5  # of the page, so that it stays visible
MAX_BANNERS = 3  # shown together; older ones are behind a button


class Banner(QFrame):
    """One notice or error."""

    def __init__(self, notice: Notice, notices: Notices) -> None:
        super().__init__()
        self.notice, self._notices = notice, notices
        self._role = Role.BAD if notice.is_error else Role.ACCENT
        self.setProperty("look", "banner")
        self.setAccessibleName(shorten(notice.problem))
        self.setAccessibleDescription(shorten(notice.advice))
        self.problem = Text(shorten(notice.problem), "strong", selectable=True)
        self.advice = Text(shorten(notice.advice), "muted", selectable=True)
        set_shown(self.advice, bool(notice.advice))
        texts = layouts.column(self.problem, self.advice, spacing=2)
        row = layouts.row(
            Picture("circle-alert" if notice.is_error else "info", 18, self._role),
            (texts, 1),
            spacing=2 * SPACE,
        )
        self.details: TextView | None = None
        if notice.action and notice.act is not None:
            row.addWidget(buttons.plain(notice.action, self._on_act))
        if notice.details:
            self.more = buttons.quiet(self.tr("Details"), self._on_details)
            row.addWidget(self.more)
        if notice.is_error:
            self.copy = buttons.quiet(self.tr("Copy"), self._on_copy)
            row.addWidget(self.copy)
        self.close_button = buttons.icon_button("x", self.tr("Close this message"), self._on_close)
        row.addWidget(self.close_button)
        self._column = layouts.column(
            row, parent=self, margins=(4 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        )
        if not notice.is_error:
            self._timer = debounced(self, NOTICE_MS, self._on_close)
            self._timer.start()

    def repeat(self, times: int) -> None:
        """Show the number of times that the message has occurred."""
        self.problem.setText(self.tr("{0} ({1} times)").format(shorten(self.notice.problem), times))

    def enterEvent(self, event: object) -> None:
        if not self.notice.is_error:
            self._timer.stop()

    def leaveEvent(self, event: object) -> None:
        if not self.notice.is_error:
            self._timer.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        fill(painter, QRect(0, 8, 4, self.height() - 16), theme.colour(self._role), 2)

    def _on_details(self) -> None:
        if self.details is None:
            text = self.notice.details[:20_000]
            self.details = TextView(self.tr("Details"), text, wraps=False, height=180)
            self._column.addWidget(self.details)
            self.details.hide()
        shown = self.details.isHidden()
        self.details.setVisible(shown)
        self.more.setText(self.tr("Hide details") if shown else self.tr("Details"))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.notice.as_text())
        self.copy.setText(self.tr("Copied"))

    def _on_act(self) -> None:
        act = self.notice.act
        self._on_close()
        if act is not None:
            act()

    def _on_close(self) -> None:
        self._notices.close(self.notice)


class Banners(QWidget):
    """All banners at the lower left of the parent, the newest on top.

    Signals:
        height_changed: height in px that they cover at the bottom of the parent.
    """

    height_changed = Signal(int)

    def __init__(self, notices: Notices, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._notices = notices
        self._banners: dict[int, Banner] = {}
        self._expanded = False
        self._column = layouts.column(parent=self, spacing=2 * SPACE)
        self.older = buttons.quiet(self.tr("Older messages"), self._on_older)
        self._column.addWidget(self.older, 0, Qt.AlignmentFlag.AlignRight)
        notices.added.connect(self._on_added)
        notices.repeated.connect(self._on_repeated)
        notices.closed.connect(self._on_closed)
        for notice in notices.shown:
            self._on_added(notice)
        self._arrange()
        if parent is not None:
            parent.installEventFilter(self)

    def banner(self, notice: Notice) -> Banner:
        return self._banners[notice.number]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.reposition()
        return super().eventFilter(watched, event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.reposition()
        return super().event(event)

    def reposition(self) -> None:
        area = self.parentWidget()
        if area is None:
            return
        if self.isHidden():
            self.height_changed.emit(0)
            return
        width = min(MAX_WIDTH, area.width() - 2 * MARGIN)
        wraps = self._column.hasHeightForWidth()
        needed = self._column.totalHeightForWidth(width) if wraps else self.sizeHint().height()
        height = min(needed, area.height() - 2 * MARGIN)
        self.setGeometry(MARGIN, area.height() - height - BOTTOM_MARGIN, width, height)
        self.raise_()
        self.height_changed.emit(height + BOTTOM_MARGIN)

    def _on_added(self, notice: Notice) -> None:
        banner = Banner(notice, self._notices)
        self._banners[notice.number] = banner
        self._column.insertWidget(0, banner)
        self._arrange()

    def _on_repeated(self, notice: Notice, times: int) -> None:
        self._banners[notice.number].repeat(times)

    def _on_closed(self, notice: Notice) -> None:
        banner = self._banners.pop(notice.number)
        had_focus = banner.isAncestorOf(self.focusWidget()) if self.focusWidget() else False
        banner.hide()
        banner.deleteLater()
        self._arrange()
        if had_focus and self._banners:
            next(reversed(self._banners.values())).close_button.setFocus()

    def _on_older(self) -> None:
        self._expanded = not self._expanded
        self._arrange()

    def _arrange(self) -> None:
        newest_first = list(reversed(self._banners.values()))
        for index, banner in enumerate(newest_first):
            banner.setVisible(index < MAX_BANNERS or self._expanded)
        waiting = len(newest_first) - MAX_BANNERS
        self._expanded = self._expanded and waiting > 0
        self.older.setVisible(waiting > 0)
        if waiting > 0:
            text = (
                self.tr("Show fewer messages")
                if self._expanded
                else self.tr("Show %Ln older message(s)", "", waiting)
            )
            self.older.setText(text)
            self.older.setAccessibleName(text)
        set_shown(self, bool(newest_first))
        self.reposition()


class BannerArea(QWidget):
    """A page with the banners below it; the page shrinks so that they cover nothing.

    Banners that need more than half of the height overlap the page.
    """

    def __init__(self, page: QWidget, notices: Notices) -> None:
        super().__init__()
        self._column = layouts.column(page, parent=self)
        self.banners = Banners(notices, self)
        self.banners.height_changed.connect(self._on_height)
        self.banners.reposition()

    def _on_height(self, height: int) -> None:
        bottom = min(height, round(MAX_HEIGHT_FRACTION * self.height()))
        self._column.setContentsMargins(0, 0, 0, bottom)
