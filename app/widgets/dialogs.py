"""Dialogs and non-blocking questions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from app.settings import application_settings
from app.theme import SPACE, px, set_style
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.screen import EDGE, FitArea, resize_within
from app.widgets.text.labels import Text, visible

FIELDS = (QLineEdit, QPlainTextEdit, QComboBox, QAbstractSpinBox)
MIN_WIDTH, MAX_WIDTH = 420, 640  # px of a question
OPENED, SAVED = "folder.opened", "folder.saved"  # settings keys of the last folders


class Dialog(QDialog):
    """A dialog that fits the screen and focuses its first field.

    Ctrl+Enter presses the default button, also in fields in which Enter begins a new line. The size
    follows from the layout unless set.
    """

    def __init__(
        self, owner: QWidget | None, title: str, kind: Qt.WindowType = Qt.WindowType.Dialog
    ) -> None:
        super().__init__(owner, kind)
        if owner is None:
            set_style(self)
        self.setWindowTitle(visible(title))

    def showEvent(self, event: QShowEvent) -> None:
        layout, size = self.layout(), self.size()
        has_size = self.testAttribute(Qt.WidgetAttribute.WA_Resized)
        if layout is not None and layout.hasHeightForWidth() and not has_size:
            size = QSize(size.width(), layout.totalHeightForWidth(size.width()))
            QTimer.singleShot(0, self, self.grow)
        resize_within(self, size)
        if not _is_field(self.focusWidget()):
            self._focus_first_field()
        super().showEvent(event)  # places the dialog, which needs the size

    def grow(self) -> None:
        """Make room for controls that need another row, as texts that arrived later."""
        layout = self.layout()
        if layout is not None:
            for area in self.findChildren(FitArea):
                area.updateGeometry()  # it does not pass on that its content grew
            height = layout.totalHeightForWidth(self.width())
            resize_within(self, QSize(self.width(), max(height, self.height())))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enters = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        default = next((b for b in self.findChildren(QPushButton) if b.isDefault()), None)
        if enters and event.modifiers() & Qt.KeyboardModifier.ControlModifier and default:
            default.click()
        elif event.key() == Qt.Key.Key_F1:
            self._show_help()
        else:
            super().keyPressEvent(event)

    def _show_help(self) -> None:
        from app.widgets.help import help_for, open_help  # help is shown in a dialog itself

        if key := help_for(self.focusWidget(), ""):
            open_help(key, self)

    def _focus_first_field(self) -> None:
        focusable = list(focus_chain(self))
        field = next((w for w in focusable if _is_field(w)), None)
        if isinstance(field, QLineEdit):
            field.selectAll()
        if field is None and self.focusWidget() is None:
            field = next(iter(focusable), None)
        if field is not None:
            field.setFocus()


def focus_chain(start: QWidget) -> Iterator[QWidget]:
    """The widgets of a window that Tab reaches after `start`, in that order."""
    widget, window = start.nextInFocusChain(), start.window()
    while widget is not None and widget is not start:
        is_focusable = widget.isVisibleTo(window) and widget.isEnabled()
        if is_focusable and widget.focusPolicy() & Qt.FocusPolicy.TabFocus:
            yield widget
        widget = widget.nextInFocusChain()


def _is_field(widget: QWidget | None) -> bool:
    return isinstance(widget, FIELDS)


@dataclass(frozen=True)
class Choice:
    """A button of a question. `kind` is “primary”, “plain” or “danger”."""

    key: str
    text: str
    kind: str = "plain"


class Question(Dialog):
    """A title, a few sentences, inputs and buttons.

    The key of the pressed button goes to `on_answer`. Escape and the close button of the window
    answer with the last, harmless choice, and ask first if a text was edited. Enter presses the
    primary choice, or the harmless one if the question is about deleting.
    """

    def __init__(
        self,
        owner: QWidget | None,
        title: str,
        text: str,
        choices: Sequence[Choice],
        on_answer: Callable[[str], object],
        body: Sequence[QWidget | QLayout] = (),
    ) -> None:
        super().__init__(owner.window() if owner is not None else None, title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._on_answer = on_answer
        self._answer = choices[-1].key
        self.buttons: dict[str, QPushButton] = {}
        content = QWidget()
        column = layouts.column(
            Text(title, "heading"), Text(text), parent=content, spacing=3 * SPACE
        )
        for part in body:
            if isinstance(part, QLayout):
                column.addLayout(part)
            else:
                column.addWidget(part)
        row = layouts.row(layouts.STRETCH, spacing=2 * SPACE)
        makers = {"primary": buttons.primary, "plain": buttons.plain, "danger": buttons.danger}
        for choice in reversed(choices):  # the main button is on the right
            button = makers[choice.kind](choice.text)
            button.clicked.connect(lambda _=False, key=choice.key: self._choose(key))
            row.addWidget(button)
            self.buttons[choice.key] = button
        area = FitArea(content)
        content.setMinimumWidth(max(MIN_WIDTH, column.minimumSize().width()))
        content.setMaximumWidth(px(MAX_WIDTH))
        layouts.column(
            (area, 1), row, parent=self, spacing=5 * SPACE, margins=(EDGE, EDGE, EDGE, 5 * SPACE)
        )
        default = next((c.key for c in choices if c.kind == "primary"), choices[-1].key)
        self.buttons[default].setDefault(True)
        self.buttons[default].setFocus()
        self.finished.connect(self._on_finished)

    def reject(self) -> None:
        """Ask first if a text was edited."""
        texts = self.findChildren(QPlainTextEdit)
        if not any(text.document().isModified() for text in texts):
            super().reject()
            return
        ask(
            self,
            tr("Discard your input?"),
            tr("The input was not saved."),
            [Choice("discard", tr("&Discard"), "danger"), Choice("back", tr("Keep &editing"))],
            lambda key: super(Question, self).reject() if key == "discard" else None,
        )

    def _choose(self, key: str) -> None:
        self._answer = key
        self.accept()

    def _on_finished(self) -> None:
        self._on_answer(self._answer)


def ask(
    owner: QWidget,
    title: str,
    text: str,
    choices: Sequence[Choice],
    on_answer: Callable[[str], object],
    body: Sequence[QWidget | QLayout] = (),
) -> Question:
    """Open a question over the window of `owner` without blocking."""
    question = Question(owner, title, text, choices, on_answer, body)
    question.open()
    return question


def confirm(
    owner: QWidget,
    title: str,
    text: str,
    choice: Choice,
    act: Callable[[], object],
    body: Sequence[QWidget | QLayout] = (),
) -> Question:
    """Ask with two buttons: `choice`, which calls `act`, and Cancel."""

    def answered(key: str) -> None:
        if key == choice.key:
            act()

    return ask(owner, title, text, [choice, Choice("cancel", tr("Cancel"))], answered, body)


def ask_for_name(
    owner: QWidget,
    texts: tuple[str, str],
    initial: str,
    max_length: int,
    choice: Choice,
    on_name: Callable[[str], object],
) -> None:
    """Ask for a name; `on_name` gets it stripped, and only if it is not empty.

    Args:
        texts: title and text of the question.
        initial: the name shown first, truncated to `max_length` characters.
        choice: the button that accepts it.
    """
    field = QLineEdit(initial[:max_length])
    field.setMaxLength(max_length)
    field.setAccessibleName(tr("Name"))

    def answered() -> None:
        if name := field.text().strip():
            on_name(name)

    confirm(owner, *texts, choice, answered, [field])


def footer(*parts: QWidget) -> QHBoxLayout:
    """Buttons on the right, the main one last."""
    row = layouts.row(layouts.STRETCH, spacing=2 * SPACE, margins=(0, 4 * SPACE, 0, 0))
    for part in parts:
        row.addWidget(part)
    return row


def choose_file(
    owner: QWidget, title: str, on_chosen: Callable[[Path], object], filters: Sequence[str] = ()
) -> None:
    """Ask for an existing file without blocking, in the folder of the last one."""
    dialog = QFileDialog(owner, title, _last_folder(OPENED))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    if filters:
        dialog.setNameFilters(filters)
    _open(dialog, on_chosen, OPENED)


def choose_files(
    owner: QWidget,
    title: str,
    on_chosen: Callable[[list[Path]], object],
    filters: Sequence[str] = (),
) -> None:
    """Ask for existing files without blocking, in the folder of the last ones."""
    dialog = QFileDialog(owner, title, _last_folder(OPENED))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
    dialog.setNameFilters(filters)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.filesSelected.connect(lambda files: _remember(OPENED, Path(files[0])))
    dialog.filesSelected.connect(lambda files: on_chosen([Path(file) for file in files]))
    dialog.open()


def choose_folder(
    owner: QWidget, title: str, on_chosen: Callable[[Path], object], start: Path | None = None
) -> None:
    """Ask for a folder without blocking, from `start`, else next to the last one; files are
    shown as well."""
    dialog = QFileDialog(owner, title, _last_folder(OPENED) if start is None else str(start))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly, False)
    _open(dialog, on_chosen, OPENED)


def save_folder() -> Path:
    """The folder of the last file that was saved or opened; the user's own for the first one."""
    return Path(_last_folder(SAVED) or _last_folder(OPENED) or Path.home())


def _last_folder(key: str) -> str:
    """The folder that the last dialog of this kind chose in; “” for the first one."""
    settings = application_settings()
    return "" if settings is None else str(settings.get_state(key, ""))


def _remember(key: str, chosen: Path) -> None:
    if (settings := application_settings()) is not None:
        settings.set_state(key, str(chosen.parent))


def _open(dialog: QFileDialog, on_chosen: Callable[[Path], object], key: str) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(lambda name: _remember(key, Path(name)))
    dialog.fileSelected.connect(lambda name: on_chosen(Path(name)))
    dialog.open()


def ask_for_file(
    owner: QWidget, title: str, name: str, suffixes: Sequence[str], save: Callable[[Path], object]
) -> None:
    """Ask for a file to save, in the folder of the last one, without blocking; `save` gets it.

    `suffixes` such as “.csv” are offered, the default first; the chosen one is added to the name.
    A new folder has none: “”.
    """
    dialog = QFileDialog(owner.window(), title, str(save_folder() / name))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(suffixes[0].removeprefix("."))
    names = {end: end.removeprefix(".").upper() or tr("Folder") for end in suffixes}
    dialog.setNameFilters([f"{name} (*{end})" for end, name in names.items()])
    dialog.filterSelected.connect(
        lambda chosen: dialog.setDefaultSuffix(chosen.rpartition("*.")[2].removesuffix(")"))
    )
    _open(dialog, save, SAVED)
