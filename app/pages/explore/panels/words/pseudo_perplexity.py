"""Pseudo-perplexity: every token in its context, as a strip and a table."""

import math
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from app.pages.explore.captions import source
from app.pages.explore.panels.words.state import Scoring, WordsState, same_token
from app.theme import SPACE, Role, print_color
from app.widgets import buttons, layouts
from app.widgets.charts.bars import percentage
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.page import scrolling
from app.widgets.tables import NumbersTable
from app.widgets.text import numbers
from app.widgets.text.chips import token_text
from app.widgets.text.labels import Text
from app.widgets.text.numbers import decimal, sign
from app.widgets.text.word_effects import TintedWord, WordRow, flow_words, paint_words
from engine.messages.explore.text import Token
from engine.messages.explore.token_scores import TokenScore

FIGURE_WIDTH = 760  # px


def is_causal(scoring: Scoring) -> bool:
    return scoring.last_part is not None and scoring.last_part.causal


def tint_opacity(score: TokenScore) -> float:
    """Opacity from 0 at probability 1 to the maximum at one in a million or less."""
    return min(1.0, -score.log_probability / math.log(1e6)) * 0.6


def tint_scores(tokens: Sequence[Token], scores: Mapping[int, TokenScore]) -> list[TintedWord]:
    """Tokens tinted by `tint_opacity`, with ranks below."""
    words = []
    for index, token in enumerate(tokens):
        score = scores.get(index)
        rank, opacity = (f"#{score.rank}", tint_opacity(score)) if score is not None else ("", 0.0)
        words.append(TintedWord(token_text(token.text), rank, Role.ACCENT, opacity, token.special))
    return words


class PseudoPerplexityView(QWidget):
    def __init__(self, state: WordsState) -> None:
        super().__init__()
        self.state, self.queries = state, [scoring.query for scoring in state.scorings]
        self.summary = Text("", "strong", wraps=False)
        self.hint = Text("", "small")
        self.automatic = QCheckBox(self.tr("Compute automatically"))
        self.run = buttons.plain(self.tr("&Compute"), self._on_run, "play")
        self.strip = WordRow(self.tr("Probability of each token"), selectable=True)
        self.table = NumbersTable(self.tr("Token scores"), 2)
        for scoring in state.scorings:
            self.automatic.toggled.connect(scoring.set_automatic)
        self.strip.word_picked.connect(state.explore.pick)
        self.table.row_picked.connect(self._on_row)
        head = layouts.row(self.summary, layouts.STRETCH, self.automatic, self.run)
        self.area = scrolling(self.strip)
        layouts.column(head, self.hint, self.area, (self.table, 1), parent=self, spacing=2 * SPACE)
        state.explore.picked_changed.connect(lambda _: self.show_state())

    def _fit(self) -> None:
        needed = self.strip.heightForWidth(max(1, self.area.viewport().width()))
        self.area.setFixedHeight(min(needed + 2, max(60, self.height() // 3)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # ── user actions ─────────────────────────────────────────────────────────────────────────

    def _on_run(self) -> None:
        is_running = any(scoring.is_running for scoring in self._scorings())
        for scoring in self._scorings():
            scoring.stop() if is_running else scoring.resume()

    def _on_row(self, row: int) -> None:
        scores = self.state.scorings[0].scores
        if row < len(scores):
            self.state.explore.pick(scores[row].position)

    # ── contents ─────────────────────────────────────────────────────────────────────────────

    def _scorings(self) -> list[Scoring]:
        return [self.state.scorings[side.index] for side in self.state.explore.sides]

    def show_state(self) -> None:
        explore, first = self.state.explore, self.state.scorings[0]
        is_running = any(scoring.is_running for scoring in self._scorings())
        is_complete = all(scoring.is_complete for scoring in self._scorings())
        self.run.setText(self.tr("&Stop") if is_running else self.tr("&Compute"))
        self.run.setEnabled(is_running or not is_complete)
        scores = {score.position: score for score in first.scores}
        self.strip.show_words(tint_scores(explore.first.tokens, scores), explore.picked)
        self._fit()
        self.table.show_rows(*self._rows())
        self.summary.setText("   ".join(self._summary(scoring) for scoring in self._scorings()))
        self.hint.setText(self._explanation(first))

    def _summary(self, scoring: Scoring) -> str:
        if scoring.query.refusal is not None:
            return scoring.query.refusal.problem
        if not scoring.scores:
            return self.tr("Running the model …") if scoring.is_running else self.tr("Not computed")
        name = self.tr("Perplexity") if is_causal(scoring) else self.tr("Pseudo-perplexity")
        text = f"{name} {decimal(scoring.perplexity, 2)}"
        if self.state.explore.is_compared:
            text = f"{scoring.side.model_name}: {text}"
        if not scoring.is_complete:
            done = numbers.count(len(scoring.scores))
            text += self.tr(" over {0} of {1} tokens so far").format(
                done, numbers.count(scoring.last_part.total if scoring.last_part else 0)
            )
        return text

    def _explanation(self, scoring: Scoring) -> str:
        if is_causal(scoring):
            return self.tr(
                "Each token is predicted from the tokens before it. Perplexity: exp of minus the "
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
            header += [explore.side_titles[1], explore.difference_title]
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
                before, after = explore.in_order(score, other)
                change = after.log_probability - before.log_probability
                row += [
                    percentage(math.exp(other.log_probability)),
                    f"{sign(change)}{decimal(abs(change), 2)}",
                ]
            rows.append(row)
        return header, rows

    def _pairs(self) -> list[tuple[TokenScore, TokenScore | None]]:
        """Each token's score with the second model's score of the same characters, if any."""
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
        words, fonts = tint_scores(tokens, scores), (print_font(13), print_font(10))
        boxes = flow_words(words, FIGURE_WIDTH, fonts)
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
            second = explore.side_titles[1].lower()
            header += [f"log-probability, {second}", f"rank, {second}"]
        return Figure(
            name="pseudo-perplexity",
            title=self._summary(scoring),
            caption=f"{self._explanation(scoring)} {source(explore)}",
            size=QSize(FIGURE_WIDTH, round(boxes[-1].bottom())),
            paint=lambda painter, _: paint_words(painter, words, boxes, print_color, fonts),
            table=lambda: Table(tuple(header), rows),
        )
