"""Help: “?” buttons, the key F1, and the view and window of its pages."""

from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QPalette, QShowEvent, QTextDocument
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QTextBrowser, QToolButton, QWidget

from app import theme
from app.resources import help_picture
from app.theme import SPACE, Role, px
from app.timers import debounced
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.dialogs import Dialog
from app.widgets.forms.controls import SearchField
from app.widgets.help_topics import FIRST, Concept, concept, concepts, escape, find_pages
from app.widgets.text.labels import Text, font

PAGE_KEY = Qt.ItemDataRole.UserRole
WINDOW_SIZE = (820, 600)
PROPERTY = "help"  # dynamic property of a widget: key of its help page


def set_help(widget: QWidget, key: str) -> None:
    """Make F1 open this page while the focus is in the widget."""
    widget.setProperty(PROPERTY, key)


def help_for(widget: QObject | None, default: str) -> str:
    """Key of the help page of a widget or of its nearest parent that has one."""
    while widget is not None:
        if key := widget.property(PROPERTY):
            return str(key)
        widget = widget.parent()
    return default


class HelpButton(QToolButton):
    """A “?” whose tooltip is the first line of a concept, and which opens its page."""

    def __init__(self, key: str) -> None:
        super().__init__()
        shown = concept(key)
        buttons.style_icon_button(self, "circle-question-mark", shown.line)
        self.setAccessibleName(self.tr("What is this? {0}").format(shown.title))
        self.setAccessibleDescription(shown.line)
        self.clicked.connect(partial(open_help, key, self))


def open_help(key: str, owner: QWidget) -> "HelpWindow":
    """Show a page in the help window, which stays open next to the program's."""
    window = owner.window()
    while (outer := window.parentWidget()) is not None and not window.isModal():
        window = outer.window()  # a floating panel belongs to the program's window
    existing = window.findChild(HelpWindow)
    shown = existing if existing is not None else HelpWindow(window)
    shown.view.show_page(key)
    shown.show()
    shown.raise_()
    shown.activateWindow()
    return shown


class HelpView(QWidget):
    """A search field, the pages it finds, and one page with links to others."""

    def __init__(self) -> None:
        super().__init__()
        self._key = ""
        self._reveal = debounced(self, 0, self._on_reveal)  # after the list is laid out
        self.search = SearchField(self.tr("Search the help"), has_icon=True)
        self.search.textChanged.connect(self._on_typed)
        self.titles = QListWidget()
        self.titles.setAccessibleName(self.tr("Pages"))
        self.titles.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.titles.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.empty = Text(self.tr("No results."), "muted")
        self.empty.hide()
        self.page = _Page()
        self.page.setTabChangesFocus(True)
        self.page.setAccessibleName(self.tr("Page"))
        self.page.setOpenLinks(False)
        self.page.setFont(font())
        self.page.document().setDocumentMargin(4 * SPACE)
        self.page.anchorClicked.connect(self._on_link)
        left = QWidget()
        left.setFixedWidth(px(58 * SPACE))
        layouts.column(self.search, self.empty, (self.titles, 1), parent=left, spacing=2 * SPACE)
        layouts.row(left, (self.page, 1), parent=self, spacing=3 * SPACE)
        self._list(concepts())
        self.titles.currentItemChanged.connect(self._on_title)

    def show_page(self, key: str) -> None:
        """Show a page, even if the search has not found it."""
        for row in range(self.titles.count()):
            item = self.titles.item(row)
            if item is not None and item.data(PAGE_KEY) == key:
                self.titles.setCurrentRow(row)
                break
        else:
            self.titles.setCurrentRow(-1)
        self._show(concept(key))

    def shown(self) -> str:
        """Key of the shown page, or “”."""
        return self._key

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.titles.doItemsLayout()  # applies the style sheet, which makes rows higher
        self._reveal.start()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if (theme.is_theme_change(event) or event.type() == QEvent.Type.FontChange) and self._key:
            self._show(concept(self._key))

    def _list(self, pages: "tuple[Concept, ...] | list[Concept]") -> None:
        self.titles.clear()
        for page in pages:
            item = QListWidgetItem(page.title)
            item.setData(PAGE_KEY, page.key)
            item.setToolTip(page.line)
            self.titles.addItem(item)

    def _on_typed(self, typed: str) -> None:
        pages = find_pages(typed) if typed.strip() else concepts()
        self._list(pages)
        self.empty.setVisible(not pages)
        if typed.strip() and pages:
            self.titles.setCurrentRow(0)

    def _on_title(self) -> None:
        item = self.titles.currentItem()
        if item is not None:
            self._show(concept(str(item.data(PAGE_KEY))))

    def _show(self, shown: Concept) -> None:
        self._key = shown.key
        self._reveal.start()
        palette = self.page.palette()
        palette.setColor(QPalette.ColorRole.Link, theme.colour(Role.ACCENT))
        self.page.setPalette(palette)
        title, line = escape(shown.title), escape(shown.line)
        self.page.setMarkdown(f"# {title}\n\n*{line}*\n\n{shown.text}")

    def _on_reveal(self) -> None:
        item = self.titles.currentItem()
        if item is not None:
            self.titles.scrollToItem(item)

    def _on_link(self, link: QUrl) -> None:
        if link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)
        else:
            self.show_page(link.path().removesuffix(".md"))


class _Page(QTextBrowser):
    """A page of the help with its pictures in the colours of the theme."""

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        if kind == QTextDocument.ResourceType.ImageResource.value:
            return help_picture(QUrl(name).fileName(), self.devicePixelRatioF())
        return super().loadResource(kind, name)


class HelpWindow(Dialog):
    """The help in a separate window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, tr("Help"))
        self.resize(*WINDOW_SIZE)
        self.view = HelpView()
        self.view.show_page(FIRST)
        layouts.row(self.view, parent=self, margins=4 * SPACE)
