"""The three steps from a text to its tokens."""

from PySide6.QtCore import QSizeF, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from app.pages.explore.panels.tokens.state import TokensState
from app.resources import mono_font
from app.theme import SPACE
from app.widgets import layouts
from app.widgets.text.labels import Text, height_of_lines, visible
from app.widgets.text.token_row import TokenRow
from app.widgets.text.tokenizer_texts import step_helps

LONGEST_LINE = 2_000  # characters; longer lines slow the window down
MOST_LINES = 3  # before a text scrolls
MAX_TOKENS_SHOWN = 160


class Flow(QWidget):
    """Normalise, split, tokenise: each step with its result on the first side."""

    def __init__(self, state: TokensState) -> None:
        super().__init__()
        self._state = state
        self.helps = [Text("", "small") for _ in range(3)]
        self.normalised = _Shown(self.tr("Normalised text"))
        self.words = _Shown(self.tr("Words"))
        self.pieces = [TokenRow(MAX_TOKENS_SHOWN), TokenRow(MAX_TOKENS_SHOWN)]  # of each text
        self.count = Text("", "muted")
        grid = layouts.grid(parent=self, across=3 * SPACE, down=SPACE, stretched=1)
        titles = (self.tr("Normalise"), self.tr("Split into words"), self.tr("Tokenise"))
        shown: tuple[tuple[QWidget, ...], ...] = (
            (self.normalised,),
            (self.words,),
            (*self.pieces, self.count),
        )
        line = 0
        for number, (title, text, widgets) in enumerate(
            zip(titles, self.helps, shown, strict=True), start=1
        ):
            grid.addWidget(Text(str(number), "heading"), line, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(Text(title, "strong"), line, 1)
            for widget in (text, *widgets):
                line += 1
                grid.addWidget(widget, line, 1)
            line += 1
            grid.setRowMinimumHeight(line, 2 * SPACE)
            line += 1
        grid.setRowStretch(line, 1)
        state.steps_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        side, steps = self._state.explore.first, self._state.steps[0]
        tokenizer = side.tokenizer
        if tokenizer is None:
            return
        for label, text in zip(self.helps, step_helps(tokenizer.vocabulary.kind), strict=True):
            label.setText(text)
        self.normalised.show_lines([each.normalised for each in steps])
        self.words.show_lines(["  |  ".join(each.words) for each in steps])
        for segment, pieces in enumerate(self.pieces):
            own = tuple(t for t in side.tokens if t.segment == segment)
            pieces.setVisible(bool(own))
            pieces.show_tokens(own, tokenizer.unknown)
        words = sum(len(each.words) for each in steps)
        parts = [self.tr("%n word(s)", "", words), self.tr("%n token(s)", "", len(side.tokens))]
        if any(each.truncated for each in steps) and not side.is_truncated:
            parts.append(self.tr("steps 1 and 2 show the beginning only"))
        self.count.setText(" · ".join(parts))


class _Shown(QPlainTextEdit):
    """Read-only lines, as high as needed up to a limit."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setAccessibleName(name)
        self.setFont(mono_font())
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(0)  # a margin would show part of the next line
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit(QSizeF(0, 1))

    def show_lines(self, lines: list[str]) -> None:
        """Show each text on its own line."""
        shown = "\n".join(visible(line[:LONGEST_LINE]).replace("\n", "⏎") for line in lines)
        if shown != self.toPlainText():
            self.setPlainText(shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # a wider document may need fewer lines, which Qt does not signal
        self._fit(self.document().size())

    def _fit(self, size: QSizeF) -> None:
        lines = min(MOST_LINES, max(1, round(size.height())))
        self.setFixedHeight(height_of_lines(self, lines))
