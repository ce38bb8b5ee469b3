"""Labels, fonts and text that is always plain, never markup."""

import math
import re
from textwrap import wrap
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetrics, QFontMetricsF, QResizeEvent
from PySide6.QtGui import Qt as RichQt
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QSizePolicy, QWidget

import engine.visible
from app import resources
from app.translation import translated
from engine.phrases import Phrase

TextStyle = Literal[
    "body", "muted", "title", "heading", "strong", "small", "mono", "good", "warn", "bad"
]

QUOTED = re.compile("(?<=[“„])\u2068?([^“”„]*?)\u2069?(?=[”“])")
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff]")
TOOLTIP_WIDTH = 90  # characters of a line
SIZES = {"title": 1.7, "heading": 1.2, "small": 0.9}  # relative to the window's text
WEIGHTS = {
    "title": QFont.Weight.DemiBold,
    "heading": QFont.Weight.DemiBold,
    "strong": QFont.Weight.DemiBold,
}


class Text(QLabel):
    """A label of plain text that wraps.

    Control characters, which could reverse or hide a part of a line, are written out. With
    `selectable` the text can be selected by mouse.
    """

    def __init__(
        self,
        text: str = "",
        style: TextStyle = "body",
        wraps: bool = True,
        selectable: bool = False,
    ) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wraps)
        if selectable:
            self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        if wraps:
            policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
            policy.setHeightForWidth(True)
            self.setSizePolicy(policy)
        _apply_style(self, style)
        self.setText(text)

    def setText(self, text: str) -> None:
        # otherwise the surrounding layout would be computed again
        if (shown := visible(text)) != self.text():
            super().setText(shown)

    def set_style(self, style: TextStyle) -> None:
        _apply_style(self, style)


class OneLine(QLabel):
    """One line of plain text, elided if it does not fit; the tooltip has all of it."""

    def __init__(
        self, text: str = "", style: TextStyle = "body", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._full_text = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        _apply_style(self, style)
        self.setText(text)

    def setText(self, text: str) -> None:
        full_text = visible(text).replace("\n", " ")
        if full_text != self._full_text:
            self._full_text = full_text
            self.setAccessibleName(full_text)
            self._elide()

    def full_text(self) -> str:
        return self._full_text

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = QFontMetrics(self.font()).elidedText(
            self._full_text[:1000], Qt.TextElideMode.ElideRight, self.width()
        )
        super().setText(shown)
        self.setToolTip(tooltip(self._full_text) if shown != self._full_text else "")


class TextView(QPlainTextEdit):
    """Plain text of any length to read and copy; Tab leaves it."""

    def __init__(
        self, name: str, text: str = "", mono: bool = True, wraps: bool = True, height: int = 0
    ) -> None:
        """`height` in px is fixed; 0 leaves it to the layout."""
        super().__init__(text)
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setAccessibleName(name)
        if mono:
            self.setFont(resources.mono_font())
        if not wraps:
            self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        if height:
            self.setFixedHeight(height)


def font(style: TextStyle = "body") -> QFont:
    points = QApplication.font().pointSizeF() * SIZES.get(style, 1.0)
    if style == "mono":
        return resources.mono_font(points * 0.95)
    styled = QFont(QApplication.font())
    styled.setPointSizeF(points)
    styled.setWeight(WEIGHTS.get(style, QFont.Weight.Normal))
    return styled


def _apply_style(label: QLabel, style: TextStyle) -> None:
    label.setFont(font(style))
    if label.property("look") != style:
        label.setProperty("look", style)
        if label.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
            label.style().unpolish(label)
            label.style().polish(label)


def height_of_lines(box: QPlainTextEdit, lines: int) -> int:
    """Height in px of a box that fully shows this number of lines."""
    box.ensurePolished()  # font and frame come from the style sheet
    frame, margin = box.contentsMargins(), box.document().documentMargin()
    line = math.ceil(QFontMetricsF(box.font()).lineSpacing())
    return frame.top() + round(lines * line + 2 * margin) + frame.bottom() + 1  # else Qt scrolls


def visible(text: str) -> str:
    r"""`text` in the user's language, with control and direction characters written out, as \x1b.

    Line breaks and tabs stay. A quoted right-to-left text is isolated, so that it does not reverse
    the quotation marks and the number behind it.
    """
    shown = translated(text) if isinstance(text, Phrase) else text
    if not RIGHT_TO_LEFT.search(shown):
        return engine.visible.visible(shown)
    shown = QUOTED.sub(lambda match: match[1], shown)  # undo an earlier call
    return QUOTED.sub(_isolated, engine.visible.visible(shown))


def one_line(text: str, characters: int = 300) -> str:
    """The beginning of a text as one line of visible characters."""
    return visible(translated(text)[:characters]).replace("\n", " ").replace("\t", " ")


def _isolated(match: re.Match[str]) -> str:
    return f"\u2068{match[1]}\u2069" if RIGHT_TO_LEFT.search(match[1]) else match[1]


def tooltip(text: str) -> str:
    """`text` for `setToolTip`, truncated and in short lines.

    Only text that Qt would take for markup is escaped: screen readers read the tooltip of a widget
    without a description.
    """
    shown = visible(text)[:1000]
    lines = [
        part
        for line in shown.split("\n")
        for part in wrap(line, TOOLTIP_WIDTH, break_on_hyphens=False) or [""]
    ]
    if not RichQt.mightBeRichText(shown):
        return "\n".join(lines)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\n", "<br>")):
        shown = shown.replace(character, entity)
    return f"<qt>{shown}</qt>"


def without_key(text: str) -> str:
    """The text of a button or menu entry without the mark of its key."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&")


def plain_menu_text(text: str) -> str:
    """`text` for a button, menu or tab, in which “&” would mark a key."""
    return visible(text).replace("\n", " ").replace("&", "&&")
