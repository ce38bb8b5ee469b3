"""Tokenisation steps on the left, the table of tokens on the right."""

from functools import partial

from PySide6.QtCore import QSizeF, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QSplitter, QWidget

from app.notices import Notices
from app.pages.explore.captions import quote
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.tokens.state import MAX_NAMED, TokensState, first_distinct
from app.pages.explore.panels.tokens.table import TokenTable, make_figure
from app.resources import mono_font
from app.theme import SPACE, px
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.help import HelpButton
from app.widgets.page import scrolling
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, height_of_lines, visible
from app.widgets.text.token_row import TokenRow
from app.widgets.text.tokenizer_texts import step_helps

WIDE_PANEL = 720  # px; from this width on, steps and table are side by side
MIN_HEIGHT = 16 * SPACE  # px, minimum height of the steps and of a table
PROPORTIONS = {  # initial sizes and stretch factors of steps and tables
    Qt.Orientation.Horizontal: ([360, 640], (0, 1)),
    Qt.Orientation.Vertical: ([600, 400], (3, 2)),
}
MAX_REST = 40  # characters
MAX_LINE = 2_000  # characters; longer lines slow the window down
MAX_LINES = 3  # longer texts scroll
MAX_TOKENS_SHOWN = 160


def panel() -> PanelDescription:
    title = tr("Tokens")
    return PanelDescription("tokens", title, icon="text", help="tokens", make=_make)


def _make(context: PanelContext) -> MakePanel:
    state = TokensState(context.explore, context.explorer)
    return lambda: TokensView(state, context.notices)


class TokensView(Panel):
    def __init__(self, state: TokensState, notices: Notices) -> None:
        super().__init__()
        self._state = state
        self.flow = Flow(state)
        self.notes = Text("", "warn")
        self.difference = Text("", "muted")
        self.tables = [TokenTable(state), TokenTable(state, 1)]
        self.titles = [OneLine("", "strong"), OneLine("", "strong")]
        self.figure_buttons = [
            FigureButton(partial(make_figure, table.rows, state, side), notices)
            for side, table in enumerate(self.tables)
        ]
        self.halves = QSplitter(Qt.Orientation.Horizontal)
        self.halves.setChildrenCollapsible(False)
        self.halves.addWidget(self._steps())
        self.sides = [self._side(number) for number in range(2)]
        tables = QSplitter(Qt.Orientation.Horizontal)
        tables.setChildrenCollapsible(False)
        for side in self.sides:
            tables.addWidget(side)
        self.halves.addWidget(tables)
        self._set_orientation(Qt.Orientation.Horizontal)
        layouts.column(
            self.notes,
            self.difference,
            (self.halves, 1),
            parent=self,
            spacing=2 * SPACE,
            margins=(0, SPACE, 0, 0),
        )
        state.changed.connect(self.show_state)
        self.show_state()

    def set_active(self, active: bool) -> None:
        self._state.set_active(active)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= WIDE_PANEL
        orientation = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if orientation != self.halves.orientation():
            self._set_orientation(orientation)

    def _set_orientation(self, orientation: Qt.Orientation) -> None:
        """Set both parts' proportions; otherwise the steps would leave no space for the table."""
        self.halves.setOrientation(orientation)
        sizes, stretches = PROPORTIONS[orientation]
        self.halves.setSizes(sizes)
        for part, stretch in enumerate(stretches):
            self.halves.setStretchFactor(part, stretch)

    def show_state(self) -> None:
        explore = self._state.explore
        notes = [note for side in explore.sides for note in self._notes(side.index)]
        self.notes.setText("\n".join(notes))
        self.notes.setVisible(bool(notes))
        for side, title in zip(explore.both, self.titles, strict=True):
            pinned = side is explore.second and explore.pinned is not None
            name = self.tr("{0}, pinned text") if pinned and side.model else "{0}"
            title.setText(name.format(side.model_name))
            title.setVisible(explore.is_compared)
        self.sides[1].setVisible(explore.is_compared)
        self.difference.setText(self._difference())
        self.difference.setVisible(explore.is_compared)

    # ── notes ────────────────────────────────────────────────────────────────────────────────

    def _notes(self, side: int) -> list[str]:
        state = self._state
        shown = state.explore.both[side]
        notes: list[str] = []
        problem = state.queries[side].problem
        if problem:
            notes.append(problem)
        unknown = state.unknown_words(side)
        if unknown and shown.tokenizer is not None:
            names = ", ".join(f"“{quote(word)}”" for word in first_distinct(unknown))
            more = ", …" if len(set(unknown)) > MAX_NAMED else ""
            text = self.tr("Not in the vocabulary: {0}{1}. The model sees only {2} there.")
            unknown_token = shown.tokenizer.token(shown.tokenizer.unknown)
            notes.append(text.format(names, more, unknown_token))
        for rest in state.truncated_texts(side):
            text = self.tr("Truncated to {0} tokens. The rest starts with “{1}”.")
            beginning = quote(rest[:MAX_REST])
            excerpt = f"{beginning}…" if len(rest) > MAX_REST else beginning
            notes.append(text.format(numbers.count(len(shown.tokens)), excerpt))
        if state.explore.is_compared and shown.model is not None:
            notes = [f"{shown.model.name}: {sentence}" for sentence in notes]
        return notes

    def _difference(self) -> str:
        explore = self._state.explore
        if not explore.is_compared:
            return ""
        first, second = (len(side.tokens) for side in explore.both)
        counts = self.tr("{0} tokens and {1} tokens.").format(
            numbers.count(first), numbers.count(second)
        )
        differences = self._state.differences()
        if not differences:
            if explore.first.texts == explore.second.texts:
                return f"{counts} {self.tr('All words are tokenised the same way.')}"
            return counts
        pairs = "; ".join(f"{quote(a)} – {quote(b)}" for a, b in differences[:MAX_NAMED])
        text = self.tr("%n word(s) tokenised differently: {0}", "", len(differences)).format(pairs)
        return f"{counts} {text}{'; …' if len(differences) > MAX_NAMED else ''}"

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _steps(self) -> QWidget:
        area = scrolling(self.flow)
        area.setMinimumWidth(px(56 * SPACE))
        area.setMinimumHeight(px(MIN_HEIGHT))
        return area

    def _side(self, number: int) -> QWidget:
        head = layouts.row(
            (self.titles[number], 1),
            layouts.STRETCH,
            HelpButton("embeddings"),
            self.figure_buttons[number],
            spacing=SPACE,
        )
        self.figure_buttons[number].offer_on(self.tables[number])
        part = layouts.page(
            head, (self.tables[number], 1), spacing=SPACE, margins=(2 * SPACE, 0, 0, 0)
        )
        part.setMinimumWidth(px(60 * SPACE))
        part.setMinimumHeight(px(MIN_HEIGHT))
        return part


class Flow(QWidget):
    """Normalise, split, tokenise: each step with its result on the first side."""

    def __init__(self, state: TokensState) -> None:
        super().__init__()
        self._state = state
        self.helps = [Text("", "small") for _ in range(3)]
        self.normalised = _TextBox(self.tr("Normalised text"))
        self.words = _TextBox(self.tr("Words"))
        self.token_rows = [TokenRow(MAX_TOKENS_SHOWN), TokenRow(MAX_TOKENS_SHOWN)]  # of each text
        self.count = Text("", "muted")
        grid = layouts.grid(parent=self, h_spacing=3 * SPACE, v_spacing=SPACE, stretch=1)
        titles = (self.tr("Normalise"), self.tr("Split into words"), self.tr("Tokenise"))
        shown: tuple[tuple[QWidget, ...], ...] = (
            (self.normalised,),
            (self.words,),
            (*self.token_rows, self.count),
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
        self.normalised.show_lines([step.normalised for step in steps])
        self.words.show_lines(["  |  ".join(step.words) for step in steps])
        for segment, row in enumerate(self.token_rows):
            tokens = tuple(t for t in side.tokens if t.segment == segment)
            row.setVisible(bool(tokens))
            row.show_tokens(tokens, tokenizer.unknown)
        words = sum(len(step.words) for step in steps)
        parts = [self.tr("%n word(s)", "", words), self.tr("%n token(s)", "", len(side.tokens))]
        if any(step.truncated for step in steps) and not side.is_truncated:
            parts.append(self.tr("steps 1 and 2 show only the beginning"))
        self.count.setText(" · ".join(parts))


class _TextBox(QPlainTextEdit):
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
        shown = "\n".join(visible(line[:MAX_LINE]).replace("\n", "⏎") for line in lines)
        if shown != self.toPlainText():
            self.setPlainText(shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # a wider document may need fewer lines, which Qt does not signal
        self._fit(self.document().size())

    def _fit(self, size: QSizeF) -> None:
        lines = min(MAX_LINES, max(1, round(size.height())))
        self.setFixedHeight(height_of_lines(self, lines))
