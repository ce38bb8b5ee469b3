"""The inputs of one training step, a few per page."""

from collections import Counter
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QHideEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QToolTip, QWidget

from app.explorer import Explorer
from app.pages.runs.run.state import RunState
from app.resources import mono_font
from app.theme import SEGMENTS, SPACE, Role, colour, is_theme_change, px
from app.timers import debounced
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.forms.controls import SpinBox, Switch
from app.widgets.page import Card, EmptyState, scrolling
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, tooltip, visible
from engine.messages.batch import BatchRow, BatchShown, ShowBatch, Target
from engine.messages.question import Answer, Refused, Working

FOLLOW_MS = 2000  # between requests while following the run


class BatchState(QObject):
    """Requests the batch of a step.

    Signals:
        changed: `batch`, `refusal`, `working`, `is_waiting` or `is_following` changed.
    """

    changed = Signal()

    def __init__(self, run: RunState, explorer: Explorer) -> None:
        super().__init__(run)
        self.batch: BatchShown | None = None
        self.refusal: Refused | None = None
        self.working: Working | None = None
        self.is_waiting = False
        self.is_following = True
        self._run, self._explorer = run, explorer
        self._is_visible = False
        self._question_id = 0  # the newest question
        self._requested_step = 0
        self._pause = debounced(self, FOLLOW_MS, self._follow)
        run.changed.connect(self._on_run)
        explorer.answered.connect(self._on_answer)

    def set_visible(self, is_visible: bool) -> None:
        """Set whether the batch is on the screen; while it is not, nothing is requested."""
        self._is_visible = is_visible
        self._follow()

    def show_step(self, step: int) -> None:
        self.is_following = False
        self._ask(step)

    def set_following(self, is_following: bool) -> None:
        """Follow the newest step, or stay at the current one."""
        self.is_following = is_following
        self.changed.emit()
        self._follow()

    def _follow(self) -> None:
        run = self._run.row
        if not self._is_visible or self.is_waiting or run is None or self._pause.isActive():
            return
        step = max(1, run.step) if self.is_following else self._requested_step
        if step != self._requested_step or (self.batch is None and self.refusal is None):
            self._ask(max(1, step))

    def _on_run(self) -> None:
        if self.is_following:
            self._follow()

    def _ask(self, step: int) -> None:
        run = self._run.row
        if run is None:
            return
        self._requested_step, self.is_waiting, self.working = step, True, None
        self._question_id = self._explorer.ask(ShowBatch(run=run.folder, step=step))
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._question_id or not self.is_waiting:
            return
        if isinstance(answer, Working):
            self.working = answer
            self.changed.emit()
            return
        self.is_waiting, self.working = False, None
        self.batch = answer if isinstance(answer, BatchShown) else None
        self.refusal = answer if isinstance(answer, Refused) else None
        self._pause.start()
        self.changed.emit()


PAGE_SIZE = 4  # inputs


class BatchTab(QWidget):
    """The inputs of one training step, a few per page; can follow the run."""

    def __init__(self, state: BatchState) -> None:
        super().__init__()
        self.state = state
        self._first_index = 0  # first input of the page
        self._is_updating = False
        self.cards = [InputCard() for _ in range(PAGE_SIZE)]
        self.legend = Text("", "muted")
        self.empty = EmptyState("scan-search", "", "")
        self.stack = QStackedWidget()
        inner = layouts.page(
            *self.cards, layouts.STRETCH, spacing=3 * SPACE, margins=(0, 0, 2 * SPACE, 0)
        )
        self.stack.addWidget(scrolling(inner))
        self.stack.addWidget(self.empty)
        layouts.tab(self, self._toolbar(), self.legend, (self.stack, 1), spacing=2 * SPACE)
        state.changed.connect(self._show)
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.state.set_visible(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.state.set_visible(False)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _toolbar(self) -> layouts.Wrap:
        self.step = SpinBox(self.tr("Step"))
        self.step.setRange(1, 1)
        self.step.setGroupSeparatorShown(True)
        self.step.setKeyboardTracking(False)
        self.step.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.step.valueChanged.connect(self._on_step)
        self.total = Text("", "muted", wraps=False)
        self.follow = Switch(self.tr("Follow the run"))
        self.follow.toggled.connect(self._on_follow)
        self.page = Text("", "muted", wraps=False)
        self.previous = buttons.icon_button(
            "arrow-left", self.tr("Previous inputs"), lambda: self._turn_page(-PAGE_SIZE)
        )
        self.next = buttons.icon_button(
            "arrow-right", self.tr("Next inputs"), lambda: self._turn_page(PAGE_SIZE)
        )
        follow = Text(self.tr("Follow the run"), "body", wraps=False)
        return layouts.wrap(
            Text(self.tr("Step"), "strong", wraps=False),
            self.step,
            self.total,
            4 * SPACE,
            layouts.row(self.follow, follow, spacing=2 * SPACE),
            layouts.STRETCH,
            self.page,
            self.previous,
            self.next,
        )

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        self._is_updating = True
        batch = self.state.batch
        self.follow.setChecked(self.state.is_following)
        self.step.setEnabled(batch is not None)
        if batch is not None:
            self.step.setRange(1, batch.steps)
            if not self.step.hasFocus() or self.state.is_following:
                self.step.setValue(batch.step)
            self.total.setText(self.tr("of {0}").format(numbers.count(batch.steps)))
            self._show_page(batch)
        else:
            self._show_status()
        self.legend.setVisible(batch is not None)
        self.stack.setCurrentIndex(0 if batch is not None else 1)
        self._is_updating = False

    def _show_page(self, batch: BatchShown) -> None:
        count = len(batch.rows)
        self._first_index = min(self._first_index, (count - 1) // PAGE_SIZE * PAGE_SIZE)
        last = min(self._first_index + PAGE_SIZE, count)
        template = self.tr("Inputs {0}–{1} of {2}")
        self.page.setText(template.format(self._first_index + 1, last, numbers.count(count)))
        self.previous.setEnabled(self._first_index > 0)
        self.next.setEnabled(last < count)
        for index, card in enumerate(self.cards, start=self._first_index):
            card.setVisible(index < count)
            if index < count:
                card.show_input(index, batch.rows[index])
        self.legend.setText(self._legend_text(batch))

    def _legend_text(self, batch: BatchShown) -> str:
        counts: Counter[str] = Counter(item.shown_as for row in batch.rows for item in row.targets)
        real = sum(row.length for row in batch.rows)
        padding = sum(len(row.tokens) - row.length for row in batch.rows)
        parts = [
            self.tr("{0} tokens, plus {1} padding tokens that are skipped").format(
                *map(numbers.count, (real, padding))
            )
        ]
        parts += [
            f"{STYLES[name][1]} {target_text(name)}: {numbers.count(counts[name])}"
            for name in STYLES
            if counts[name]
        ]
        return "   ·   ".join(parts)

    def _show_status(self) -> None:
        refusal, working = self.state.refusal, self.state.working
        self.page.setText("")
        self.total.setText("")
        self.previous.setEnabled(False)
        self.next.setEnabled(False)
        if refusal is not None:
            self.empty.title.setText(refusal.problem)
            self.empty.text.setText(refusal.advice)
            return
        self.empty.title.setText(self.tr("Rebuilding the batch…"))
        self.empty.text.setText(working.stage if working is not None else "")

    # ── actions ──────────────────────────────────────────────────────────────────────────────

    def _on_step(self, step: int) -> None:
        if not self._is_updating:
            self.state.show_step(step)

    def _on_follow(self, on: bool) -> None:
        if not self._is_updating:
            self.state.set_following(on)

    def _turn_page(self, offset: int) -> None:
        self._first_index = max(0, self._first_index + offset)
        self._show()


class InputCard(Card):
    """An input with its target and its tokens."""

    def __init__(self) -> None:
        super().__init__("", padding=4 * SPACE)
        self.title = OneLine("", "strong")
        self.counts = Text("", "muted", wraps=False)
        self.tokens = BatchTokens()
        row = layouts.row((self.title, 1), self.counts, spacing=3 * SPACE)
        layouts.extend(self.body, row, self.tokens)

    def show_input(self, index: int, row: BatchRow) -> None:
        title = self.tr("Input {0}").format(numbers.count(index + 1))
        self.title.setText(f"{title}: {translated(row.expected)}" if row.expected else title)
        texts = [self.tr("%Ln token(s)", "", row.length)]
        if row.targets:
            texts.append(self.tr("%Ln to predict", "", len(row.targets)))
        self.counts.setText(", ".join(texts))
        self.tokens.show_input(row)


MAX_TOKEN_CHARACTERS = 40
PADDING = 1.5 * SPACE  # around the text of a chip
RADIUS = 4.0
STYLES = {  # colour and mark of each kind of target
    "mask": (Role.ACCENT, "▪"),
    "random": (Role.WARN, "⇄"),
    "kept": (Role.GOOD, "="),
    "label": (Role.ACCENT, "›"),
}


def target_text(shown_as: str) -> str:
    """The treatment of a target token."""
    texts = {
        "mask": tr("masked"),
        "random": tr("replaced by a random token"),
        "kept": tr("kept unchanged"),
        "label": tr("label"),
    }
    return texts[shown_as]


@dataclass(frozen=True)
class _Chip:
    box: QRectF
    text: str
    text_below: str = ""
    position: int = -1  # -1: the padding


class BatchTokens(QWidget):
    """Tokens as chips in lines, with a tooltip for each."""

    def __init__(self) -> None:
        super().__init__()
        self._input: BatchRow | None = None
        self._targets: dict[int, Target] = {}
        self.chips: list[_Chip] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName(self.tr("Tokens of the input"))

    def show_input(self, row: BatchRow) -> None:
        self._input = row
        self._targets = {item.position: item for item in row.targets}
        self.setAccessibleDescription(self._accessible_text(row))
        self._update_chips()
        self.updateGeometry()
        self.update()

    # ── size ─────────────────────────────────────────────────────────────────────────────────

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        chips = self._layout_chips(width)
        return round(chips[-1].box.top() + self._line_height()) if chips else 0

    def sizeHint(self) -> QSize:
        width = max(self.width(), 80 * SPACE)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(40 * SPACE), round(self._line_height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_chips()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange or is_theme_change(event):
            self._update_chips()
            self.update()

    def _update_chips(self) -> None:
        self.chips = self._layout_chips(self.width())

    def _layout_chips(self, width: int) -> list[_Chip]:
        row = self._input
        if row is None:
            return []
        normal, small = QFontMetricsF(mono_font()), QFontMetricsF(_small_font())
        texts = [(_one_line(token), self._text_below(n)) for n, token in enumerate(row.tokens)]
        items = [(text, below, n) for n, (text, below) in enumerate(texts[: row.length])]
        if padding := len(row.tokens) - row.length:
            items.append((f"{padding} × {texts[-1][0]}", "", -1))
        chips: list[_Chip] = []
        x, y = 1.0, 1.0
        for text, below, position in items:
            w = max(normal.horizontalAdvance(text), small.horizontalAdvance(below)) + 2 * PADDING
            if x > 1 and x + w > width - 1:
                x, y = 1.0, y + self._line_height()
            chips.append(_Chip(QRectF(x, y, w, self._chip_height()), text, below, position))
            x += w + SPACE
        return chips

    def _text_below(self, position: int) -> str:
        item = self._targets.get(position)
        return "" if item is None else f"{STYLES[item.shown_as][1]} {_one_line(item.expected)}"

    def _chip_height(self) -> float:
        return QFontMetricsF(mono_font()).height() + 1.5 * SPACE

    def _line_height(self) -> float:
        height_below = QFontMetricsF(_small_font()).height() if self._targets else 0
        return self._chip_height() + 2 * SPACE + height_below + SPACE

    # ── painting ─────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(event.rect()).adjusted(0, -self._line_height(), 0, 0)
        for chip in self.chips:
            if chip.box.intersects(area):
                self._paint(painter, chip)

    def _paint(self, painter: QPainter, chip: _Chip) -> None:
        row, item = self._input, self._targets.get(chip.position)
        assert row is not None
        box = chip.box.adjusted(0.5, 0.5, -0.5, -0.5)
        if chip.position < 0:
            painter.setPen(QPen(colour(Role.MUTED, 0.6), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, RADIUS, RADIUS)
            self._draw(painter, mono_font(), Role.MUTED, chip.box, chip.text)
            return
        segment_role = SEGMENTS[row.segments[chip.position] % len(SEGMENTS)]
        is_mask = item is not None and item.shown_as == "mask"
        role = segment_role if item is None else STYLES[item.shown_as][0]
        is_special = item is None and _is_special(row.tokens[chip.position])
        painter.setPen(QPen(colour(role, 0.9), 1) if item or is_special else Qt.PenStyle.NoPen)
        painter.setBrush(colour(role) if is_mask else colour(role, 0.06 if is_special else 0.14))
        painter.drawRoundedRect(box, RADIUS, RADIUS)
        text_role = Role.ON_ACCENT if is_mask else Role.MUTED if is_special else Role.TEXT
        self._draw(painter, mono_font(), text_role, chip.box, chip.text)
        self._paint_segment(painter, chip, segment_role)
        if chip.text_below:
            metrics = QFontMetricsF(_small_font())
            box_below = QRectF(chip.box.left(), chip.box.bottom() + 7, chip.box.width(), 0)
            box_below.setHeight(metrics.height())
            self._draw(painter, _small_font(), Role.TEXT, box_below, chip.text_below)

    def _paint_segment(self, painter: QPainter, chip: _Chip, role: Role) -> None:
        assert self._input is not None
        painter.setPen(QPen(colour(role), 1.5))
        for line in range(1 + self._input.segments[chip.position] % len(SEGMENTS)):
            y = chip.box.bottom() + 2 + 3 * line
            painter.drawLine(QPointF(chip.box.left() + 1, y), QPointF(chip.box.right() - 1, y))

    def _draw(self, painter: QPainter, font: QFont, role: Role, box: QRectF, text: str) -> None:
        painter.setFont(font)
        painter.setPen(colour(role))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    # ── texts ────────────────────────────────────────────────────────────────────────────────

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            pos = QPointF(event.pos())
            chip = next((c for c in self.chips if c.box.adjusted(0, 0, 0, 20).contains(pos)), None)
            if chip is None:
                QToolTip.hideText()
            else:
                text = tooltip(self.describe(chip.position))
                QToolTip.showText(event.globalPos(), text, self, chip.box.toRect())
            return True
        return super().event(event)

    def describe(self, position: int) -> str:
        """Description of a token, or of the padding (-1)."""
        row = self._input
        assert row is not None
        if position < 0:
            return self.tr("Padding: the model skips it.")
        segment = self.tr("segment A") if row.segments[position] == 0 else self.tr("segment B")
        text = self.tr("“{0}”, id {1}, position {2}, {3}.").format(
            _one_line(row.tokens[position]), row.ids[position], position + 1, segment
        )
        item = self._targets.get(position)
        if item is None:
            return text
        target = self.tr("Target: “{0}”, {1}.").format(
            _one_line(item.expected), target_text(item.shown_as)
        )
        return f"{text} {target}"

    def _accessible_text(self, row: BatchRow) -> str:
        parts = []
        for position, token in enumerate(row.tokens[: row.length]):
            item = self._targets.get(position)
            text = _one_line(token)
            if item is not None:
                text += f" ({target_text(item.shown_as)}: {_one_line(item.expected)})"
            parts.append(text)
        return " ".join(parts)


def _one_line(text: str) -> str:
    """A token as one short line with visible control characters."""
    line = visible(text[: MAX_TOKEN_CHARACTERS + 1]).replace("\n", "⏎")
    return f"{line[:MAX_TOKEN_CHARACTERS]}…" if len(text) > MAX_TOKEN_CHARACTERS else line


def _is_special(token: str) -> bool:
    return len(token) > 2 and token[0] in "[<" and token[-1] in "]>"


def _small_font() -> QFont:
    return mono_font(mono_font().pointSizeF() * 0.82)
