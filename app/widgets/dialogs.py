"""Dialogs: where the keyboard is, how large they are; questions that do not stop the program."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSize, Qt
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

from app.theme import SPACE
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.screen import EDGE, Fitting, resize_within
from app.widgets.text.labels import Text, visible

FIELDS = (QLineEdit, QPlainTextEdit, QComboBox, QAbstractSpinBox)
LEAST_WIDTH, MOST_WIDTH = 420, 640  # px of a question


class Dialog(QDialog):
    """A window over another. The keyboard is in its first field; all of it is on the screen.

    Ctrl+Enter presses the default button, also where Enter begins a new line. The size is what its
    layout wants, unless it was given one.
    """

    def __init__(
        self, owner: QWidget | None, title: str, kind: Qt.WindowType = Qt.WindowType.Dialog
    ) -> None:
        super().__init__(owner, kind)
        self.setWindowTitle(visible(title))

    def showEvent(self, event: QShowEvent) -> None:
        layout, size = self.layout(), self.size()
        was_given = self.testAttribute(Qt.WidgetAttribute.WA_Resized)
        if layout is not None and layout.hasHeightForWidth() and not was_given:
            size = QSize(size.width(), layout.totalHeightForWidth(size.width()))
        resize_within(self, size)
        if not _is_field(self.focusWidget()):
            self._focus_first_field()
        super().showEvent(event)  # it places the dialog, for which the size must be known

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
        """The page about what has the keyboard, where it has one."""
        from app.widgets.help import help_for, open_help  # it is shown in a dialog, too

        if key := help_for(self.focusWidget(), ""):
            open_help(key, self)

    def _focus_first_field(self) -> None:
        """Or, where nothing has the keyboard yet and there is none, the first that can have it."""
        can_have = [w for w in _chain(self) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
        field = next((w for w in can_have if _is_field(w)), None)
        if isinstance(field, QLineEdit):
            field.selectAll()
        if field is None and self.focusWidget() is None:
            field = next(iter(can_have), None)
        if field is not None:
            field.setFocus()


def _chain(window: QWidget) -> Iterator[QWidget]:
    """What is shown and enabled in a window, in the order of the Tab key."""
    widget = window.nextInFocusChain()
    while widget is not None and widget is not window:
        if widget.isVisibleTo(window) and widget.isEnabled():
            yield widget
        widget = widget.nextInFocusChain()


def _is_field(widget: QWidget | None) -> bool:
    """Whether something is typed or chosen there."""
    return isinstance(widget, FIELDS)


@dataclass(frozen=True)
class Choice:
    """A button of a question. `kind` is “primary”, “plain” or “danger”."""

    key: str
    text: str
    kind: str = "plain"


class Question(Dialog):
    """A title, a few sentences, what is asked for, and buttons.

    The key of the button that was pressed goes to `on_answer`. Escape and the window's close button
    answer with the last choice, which is the harmless one. Enter presses the primary one; where
    something is to be deleted there is none, and it presses the harmless one.
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
        asked = QWidget()
        inside = layouts.column(Text(title, "heading"), Text(text), parent=asked, spacing=3 * SPACE)
        for part in body:
            if isinstance(part, QLayout):
                inside.addLayout(part)
            else:
                inside.addWidget(part)
        row = layouts.row(layouts.STRETCH, spacing=2 * SPACE)
        makers = {"primary": buttons.primary, "plain": buttons.plain, "danger": buttons.danger}
        for choice in reversed(choices):  # the main one stands at the right
            button = makers[choice.kind](choice.text)
            button.clicked.connect(lambda _=False, key=choice.key: self._choose(key))
            row.addWidget(button)
            self.buttons[choice.key] = button
        area = Fitting(asked)
        asked.setMinimumWidth(max(LEAST_WIDTH, inside.minimumSize().width()))
        asked.setMaximumWidth(MOST_WIDTH)
        layouts.column(
            (area, 1), row, parent=self, spacing=5 * SPACE, margins=(EDGE, EDGE, EDGE, 5 * SPACE)
        )
        default = next((c.key for c in choices if c.kind == "primary"), choices[-1].key)
        self.buttons[default].setDefault(True)
        self.buttons[default].setFocus()
        self.finished.connect(self._on_finished)

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
    """Open a question over the window of `owner`, and return at once."""
    question = Question(owner, title, text, choices, on_answer, body)
    question.open()
    return question


def ask_for_name(
    owner: QWidget,
    about: tuple[str, str],
    now: str,
    longest: int,
    choice: Choice,
    on_name: Callable[[str], object],
) -> None:
    """Ask for a name; `on_name` gets it without blanks around, and only where there is one.

    Args:
        about: title and text of the question.
        now: the name that stands there first, of which at most `longest` characters are kept.
        choice: the button that accepts it.
    """
    field = QLineEdit(now[:longest])
    field.setMaxLength(longest)
    field.setAccessibleName(tr("Name"))

    def answered(key: str) -> None:
        if key == choice.key and (name := field.text().strip()):
            on_name(name)

    ask(owner, *about, (choice, Choice("cancel", tr("&Cancel"))), answered, [field])


def foot(*parts: QWidget) -> QHBoxLayout:
    """Buttons at the right, the main one last."""
    row = layouts.row(layouts.STRETCH, spacing=2 * SPACE, margins=(0, 4 * SPACE, 0, 0))
    for part in parts:
        row.addWidget(part)
    return row


def ask_where(
    owner: QWidget, title: str, name: str, suffixes: Sequence[str], save: Callable[[Path], object]
) -> None:
    """Ask for a file without stopping the program, and give it to `save`.

    `suffixes` are those of the forms, as in “.csv”; the one that is chosen is also the end of the
    name. The first one is the usual.
    """
    dialog = QFileDialog(owner.window(), title, name)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(suffixes[0].removeprefix("."))
    dialog.setNameFilters([f"{end.removeprefix('.').upper()} (*{end})" for end in suffixes])
    dialog.filterSelected.connect(
        lambda chosen: dialog.setDefaultSuffix(chosen.rpartition("*.")[2].removesuffix(")"))
    )
    dialog.fileSelected.connect(lambda path: save(Path(path)))
    dialog.open()
