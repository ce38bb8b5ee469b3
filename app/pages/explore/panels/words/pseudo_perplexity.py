"""Pseudo-perplexity: every token in its context, as a strip and a table."""

import math

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QWidget

from app.pages.explore.captions import source
from app.pages.explore.panels.words.part import Part
from app.pages.explore.panels.words.state import Scoring, WordsState, same_token
from app.resources import mono_font
from app.theme import PICKED, SPACE, Role, colour, print_color
from app.widgets import buttons, layouts
from app.widgets.charts.bars import percentage
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.keys import clamp, horizontal_step
from app.widgets.page import scrolling
from app.widgets.tables import NumbersTable
from app.widgets.text import chips, numbers
from app.widgets.text.chips import AS_STORED, token_text
from app.widgets.text.labels import Text, font
from app.widgets.text.numbers import decimal
from engine.messages.explore.pseudo_perplexity import TokenScore
from engine.messages.explore.text import Token

ROW_GAP = 5 * SPACE  # below a row of tokens, for the ranks
PAPER_WIDTH = 760  # px


class ScoreStrip(QWidget):
    """Tokens tinted by their surprise, with ranks below.

    Signals:
        picked: index of a token that was clicked, or reached by an arrow key.
        resized: the height has changed.
    """

    picked = Signal(int)
    resized = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.tokens: tuple[Token, ...] = ()
        self.scores: dict[int, TokenScore] = {}
        self.chosen = -1
        self._boxes: list[QRectF] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Probability of each token"))

    def show_scores(
        self, tokens: tuple[Token, ...], scores: dict[int, TokenScore], chosen: int
    ) -> None:
        if (tokens, scores, chosen) == (self.tokens, self.scores, self.chosen):
            return
        self.tokens, self.scores, self.chosen = tokens, scores, chosen
        self._lay_out()
        self.update()
        self.resized.emit()

    def box(self, number: int) -> QRectF:
        return self._boxes[number]

    def sizeHint(self) -> QSize:
        return QSize(60 * SPACE, self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * SPACE, self.heightForWidth(self.width()))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        boxes = spread(self.tokens, QFontMetricsF(mono_font()), width)
        return round(boxes[-1].bottom() + ROW_GAP) if boxes else 0

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._lay_out()
            self.resized.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = horizontal_step(event)
        if not step or not self.tokens:
            super().keyPressEvent(event)
            return
        self.picked.emit(clamp(self.chosen + step, len(self.tokens) - 1))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        for number, box in enumerate(self._boxes):
            if box.contains(event.position()):
                self.picked.emit(number)

    def _lay_out(self) -> None:
        self._boxes = spread(self.tokens, QFontMetricsF(mono_font()), self.width())
        self.setFixedHeight(max(1, self.heightForWidth(self.width())))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number, (token, box) in enumerate(zip(self.tokens, self._boxes, strict=True)):
            if not box.intersects(QRectF(event.rect()).adjusted(0, -ROW_GAP, 0, 0)):
                continue
            score = self.scores.get(number)
            pen = (
                QPen(colour(PICKED), 1.5) if number == self.chosen else QPen(colour(Role.BORDER), 1)
            )
            painter.setPen(pen)
            tint = colour(Role.ACCENT, surprise(score)) if score else colour(Role.SURFACE)
            painter.setBrush(tint)
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
            painter.setPen(colour(Role.MUTED if token.special else Role.TEXT))
            painter.setFont(mono_font())
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter | AS_STORED, token_text(token.text))
            if score is not None:
                painter.setFont(font("small"))
                painter.setPen(colour(Role.MUTED))
                below = QRectF(box.center().x() - 30, box.bottom(), 60, ROW_GAP - 2)
                painter.drawText(below, Qt.AlignmentFlag.AlignCenter, f"#{score.rank}")
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(Role.ACCENT), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))


def spread(tokens: tuple[Token, ...], metrics: QFontMetricsF, width: float) -> list[QRectF]:
    """Boxes of the tokens, with room for ranks below each row."""
    boxes = chips.place_chips(tokens, metrics, width)
    if not boxes:
        return []
    step = boxes[0].height() + chips.ROW_GAP
    moved = []
    for box in boxes:
        row = round((box.top() - boxes[0].top()) / step)
        moved.append(box.translated(0, row * (ROW_GAP - chips.ROW_GAP)))
    return moved


def surprise(score: TokenScore) -> float:
    """Opacity from 0 at probability 1 to the maximum at one in a million or less."""
    return min(1.0, -score.log_probability / math.log(1e6)) * 0.6


class PseudoPerplexity(Part):
    """Strip, table and perplexity."""

    def __init__(self, state: WordsState) -> None:
        super().__init__(state, state.scorings)
        self.summary = Text("", "strong", wraps=False)
        self.more = Text("", "small")
        self.automatic = QCheckBox(self.tr("Compute automatically"))
        self.go = buttons.plain(self.tr("&Compute"), self._on_go, "play")
        self.strip = ScoreStrip()
        self.table = NumbersTable(self.tr("Token scores"), 2)
        self.automatic.toggled.connect(self._on_automatic)
        self.strip.picked.connect(state.explore.pick)
        self.table.row_picked.connect(self._on_row)
        head = layouts.row(self.summary, layouts.STRETCH, self.automatic, self.go)
        self.area = scrolling(self.strip)
        self.strip.resized.connect(self._fit)
        layouts.column(head, self.more, self.area, (self.table, 1), parent=self, spacing=2 * SPACE)
        state.explore.picked_changed.connect(lambda _: self.show_state())

    def _fit(self) -> None:
        """Give the strip the height it needs, at most a third of the part."""
        self.area.setFixedHeight(min(self.strip.height() + 2, max(60, self.height() // 3)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # ── what the user does ───────────────────────────────────────────────────────────────────

    def _on_go(self) -> None:
        runs = any(scoring.is_running for scoring in self._shown())
        for scoring in self._shown():
            scoring.stop() if runs else scoring.resume()

    def _on_automatic(self, on: bool) -> None:
        for scoring in self.state.scorings:
            scoring.set_automatic(on)

    def _on_row(self, row: int) -> None:
        positions = self.state.scorings[0].scores
        if row < len(positions):
            self.state.explore.pick(positions[row].position)

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def _shown(self) -> list[Scoring]:
        return [self.state.scorings[side.index] for side in self.state.explore.sides]

    def show_state(self) -> None:
        explore, first = self.state.explore, self.state.scorings[0]
        runs = any(scoring.is_running for scoring in self._shown())
        is_complete = all(scoring.is_complete for scoring in self._shown())
        self.go.setText(self.tr("&Stop") if runs else self.tr("&Compute"))
        self.go.setEnabled(runs or not is_complete)
        scores = {score.position: score for score in first.scores}
        self.strip.show_scores(explore.first.tokens, scores, explore.picked)
        self.table.show_rows(*self._rows())
        self.summary.setText("   ".join(self._summary(scoring) for scoring in self._shown()))
        self.more.setText(self._explained(first))

    def _summary(self, scoring: Scoring) -> str:
        refusal = scoring.refusal
        if refusal is not None:
            return refusal.problem
        if not scoring.scores:
            return self.tr("Running the model …") if scoring.is_running else self.tr("Not computed")
        name = self.tr("Perplexity") if scoring.causal else self.tr("Pseudo-perplexity")
        model = scoring.side.model
        text = f"{name} {decimal(scoring.perplexity, 2)}"
        if self.state.explore.is_compared and model is not None:
            text = f"{model.name}: {text}"
        if not scoring.is_complete:
            done = numbers.count(len(scoring.scores))
            text += self.tr(" over {0} of {1} tokens so far").format(
                done, numbers.count(scoring.total)
            )
        return text

    def _explained(self, scoring: Scoring) -> str:
        if scoring.causal:
            return self.tr(
                "Each token is predicted from those before it. Perplexity: exp of minus the "
                "mean log-probability."
            )
        return self.tr(
            "Each token is masked in turn while all others are shown. Pseudo-perplexity: "
            "exp of minus the mean log-probability (Salazar et al. 2020). #1 is the "
            "model’s top prediction; the stronger the colour, the less likely the token."
        )

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        explore, compared = self.state.explore, self.state.explore.is_compared
        header = [
            self.tr("Token"),
            self.tr("Top prediction"),
            self.tr("Probability"),
            self.tr("Rank"),
            self.tr("Log-probability"),
        ]
        if compared:
            header += [self.tr("Second model"), self.tr("Difference")]
        rows = []
        for score, other in self._pairs():
            row = [
                f"{score.position + 1:>3}  {token_text(explore.first.tokens[score.position].text)}",
                f"{token_text(score.top.label)}  {percentage(score.top.probability)}",
                percentage(math.exp(score.log_probability)),
                numbers.count(score.rank),
                decimal(score.log_probability, 2),
            ]
            if compared and other is None:
                row += ["–", "–"]
            elif other is not None:
                apart = other.log_probability - score.log_probability
                sign = "+" if apart > 0 else "−" if apart < 0 else "±"
                row += [
                    percentage(math.exp(other.log_probability)),
                    f"{sign}{decimal(abs(apart), 2)}",
                ]
            rows.append(row)
        return header, rows

    def _pairs(self) -> list[tuple[TokenScore, TokenScore | None]]:
        """Every token's score with the second model's, if one token has the same characters."""
        explore, first = self.state.explore, self.state.scorings[0].scores
        first = tuple(score for score in first if score.position < len(explore.first.tokens))
        if not explore.is_compared:
            return [(score, None) for score in first]
        others = {score.position: score for score in self.state.scorings[1].scores}
        second = explore.second
        return [
            (score, others.get(same_token(second, explore.first.tokens[score.position])))
            for score in first
        ]

    def figure(self) -> Figure | None:
        pairs, explore, scoring = self._pairs(), self.state.explore, self.state.scorings[0]
        if not pairs:
            return None
        tokens, scores = explore.first.tokens, {score.position: score for score, _ in pairs}
        face = paper_font(13)
        boxes = spread(tokens, QFontMetricsF(face), PAPER_WIDTH)

        def paint(painter: QPainter, _: object) -> None:
            for number, (token, box) in enumerate(zip(tokens, boxes, strict=True)):
                score = scores.get(number)
                painter.setPen(print_color(Role.BORDER))
                painter.setBrush(print_color(Role.ACCENT, surprise(score) if score else 0.0))
                painter.drawRoundedRect(box, 4, 4)
                painter.setFont(face)
                painter.setPen(print_color(Role.TEXT))
                middle = Qt.AlignmentFlag.AlignCenter | AS_STORED
                painter.drawText(box, middle, token_text(token.text))
                if score is not None:
                    painter.setFont(paper_font(10))
                    below = QRectF(box.center().x() - 30, box.bottom(), 60, ROW_GAP - 2)
                    painter.drawText(below, middle, f"#{score.rank}")

        header = [
            "position",
            "token",
            "log-probability",
            "rank",
            "top prediction",
            "its probability",
        ]
        rows = [
            [
                s.position + 1,
                tokens[s.position].text,
                s.log_probability,
                s.rank,
                s.top.label,
                s.top.probability,
                *(() if o is None else (o.log_probability, o.rank)),
            ]
            for s, o in pairs
        ]
        if explore.is_compared:
            header += ["log-probability, second model", "rank, second model"]
        return Figure(
            name="pseudo-perplexity",
            title=self._summary(scoring),
            caption=f"{self._explained(scoring)} {source(explore)}",
            size=QSize(PAPER_WIDTH, round(boxes[-1].bottom() + ROW_GAP)),
            paint=paint,
            table=lambda: Table(tuple(header), rows),
        )
