"""Concept pages: what a view shows, in a line for its tooltip and in a page for who asks.

`resources/help/KEY.md` is the one source of both: the first line is the explanation in one line,
then come the title and the text.
"""

from dataclasses import dataclass
from functools import cache, partial

from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QPalette
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QToolButton,
    QWidget,
)

from app import theme
from app.theme import SPACE, Role
from app.translation import tr, translated_page
from app.widgets import buttons
from app.widgets.dialogs import Dialog
from app.widgets.text import font
from engine.shipped import resources

PAGE_KEY = Qt.ItemDataRole.UserRole
WINDOW_SIZE = (820, 600)


@dataclass(frozen=True)
class Concept:
    """One page. `line` explains the thing in one line, `text` is markdown without the title."""

    key: str
    line: str
    title: str
    text: str


def concept(key: str) -> Concept:
    """A page in the user's language.

    Raises FileNotFoundError for a key that has no page: a mistake in the program.
    """
    return _parsed(key, translated_page(_page(key)))


@cache
def _page(key: str) -> str:
    return (resources() / "help" / f"{key}.md").read_text(encoding="utf-8")


def concepts() -> tuple[Concept, ...]:
    """All pages by title."""
    keys = (file.stem for file in (resources() / "help").glob("*.md"))
    return tuple(sorted((concept(key) for key in keys), key=lambda c: c.title.casefold()))


def _parsed(key: str, page: str) -> Concept:
    line, _, rest = page.partition("\n")
    title, _, text = rest.strip().partition("\n")
    return Concept(key, line.strip(), title.removeprefix("#").strip(), text.strip())


class HelpButton(QToolButton):
    """A “?” whose tooltip is the line of a concept, and which opens its page."""

    def __init__(self, key: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        shown = concept(key)
        buttons.dress_icon_button(self, "circle-question-mark", shown.line)
        self.setAccessibleName(self.tr("What is this? {0}").format(shown.title))
        self.setAccessibleDescription(shown.line)
        self.clicked.connect(partial(open_help, key, self))


def open_help(key: str, owner: QWidget) -> "HelpWindow":
    """Show a page in the window for them, which stays open beside the program's."""
    window = owner.window()
    while (outer := window.parentWidget()) is not None:
        window = outer.window()  # a floating panel belongs to the program's window
    found = window.findChild(HelpWindow)
    shown = found if found is not None else HelpWindow(window)
    shown.show_page(key)
    shown.show()
    shown.raise_()
    shown.activateWindow()
    return shown


class HelpWindow(Dialog):
    """All pages by title, and the one that was asked for; links lead from page to page."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, tr("Help"))
        self.resize(*WINDOW_SIZE)
        self.titles = QListWidget()
        self.titles.setAccessibleName(self.tr("Pages"))
        self.titles.setFixedWidth(52 * SPACE)
        self.titles.setTextElideMode(Qt.TextElideMode.ElideRight)
        for each in concepts():
            item = QListWidgetItem(each.title)
            item.setData(PAGE_KEY, each.key)
            item.setToolTip(each.line)
            self.titles.addItem(item)
        self.page = QTextBrowser()
        self.page.setAccessibleName(self.tr("Page"))
        self.page.setOpenLinks(False)
        self.page.setFont(font())
        self.page.document().setDocumentMargin(4 * SPACE)
        self.page.anchorClicked.connect(self._on_link)
        row = QHBoxLayout(self)
        row.setContentsMargins(4 * SPACE, 4 * SPACE, 4 * SPACE, 4 * SPACE)
        row.setSpacing(3 * SPACE)
        row.addWidget(self.titles)
        row.addWidget(self.page, 1)
        self.titles.currentItemChanged.connect(self._on_title)

    def show_page(self, key: str) -> None:
        """Show the page of a concept."""
        for row in range(self.titles.count()):
            item = self.titles.item(row)
            if item is not None and item.data(PAGE_KEY) == key:
                self.titles.setCurrentRow(row)

    def shown(self) -> str:
        """The key of the page that is shown, or nothing."""
        item = self.titles.currentItem()
        return str(item.data(PAGE_KEY)) if item is not None else ""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints(event) and self.shown():
            self._show(concept(self.shown()))

    def _on_title(self) -> None:
        if self.shown():
            self._show(concept(self.shown()))

    def _show(self, shown: Concept) -> None:
        palette = self.page.palette()
        palette.setColor(QPalette.ColorRole.Link, theme.colour(Role.ACCENT))
        self.page.setPalette(palette)
        self.page.setMarkdown(f"# {shown.title}\n\n*{shown.line}*\n\n{shown.text}")

    def _on_link(self, link: QUrl) -> None:
        """To another page here, or to a paper in the browser."""
        if link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)
        else:
            self.show_page(link.path().removesuffix(".md"))
