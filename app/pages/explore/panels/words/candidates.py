"""Whole words at a masked position: the user's words scored, and a beam search."""

from collections.abc import Sequence

from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from app.pages.explore.captions import source
from app.pages.explore.panels.words.state import WordsState
from app.pages.explore.state import TYPING_PAUSE_MS
from app.theme import SPACE
from app.timers import debounced
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.charts.bars import Bar, bars_figure, percentage
from app.widgets.charts.figure import Figure, Table
from app.widgets.page import EmptyState, Stack
from app.widgets.tables import NumbersTable
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.numbers import decimal, sign
from engine.messages.explore.candidates import Candidate, CandidatesFound

MAX_DRAWN = 12  # rows of a figure


class CandidatesView(QWidget):
    def __init__(self, state: WordsState) -> None:
        super().__init__()
        self.state = state
        self.queries = *state.score_queries, *state.search_queries
        self.title = OneLine("", "strong")
        self.typed = QLineEdit()
        self.typed.setPlaceholderText(self.tr("Your words, separated by commas"))
        self.typed.setAccessibleName(self.tr("Your words"))
        self.user_table = NumbersTable(self.tr("Your words, scored"), 1)
        self.search_table = NumbersTable(self.tr("Most likely words"), 1)
        self.automatic = QCheckBox(self.tr("Search automatically"))
        self.run = buttons.plain(self.tr("S&earch"), state.search, "search")
        self.user_note, self.search_note = Text("", "small"), Text("", "small")
        self._pause = debounced(self, TYPING_PAUSE_MS, self._on_typed)
        self.typed.textEdited.connect(lambda _: self._pause.start())
        self.typed.returnPressed.connect(self._on_typed)
        self.automatic.toggled.connect(state.set_automatic_search)
        self.empty = EmptyState(
            "eye-off",
            self.tr("Mask a word to score your own candidates"),
            self.tr("Double-click a word above. Words of several tokens are scored as a whole."),
            buttons.primary(self.tr("Mas&k a word"), state.mask_example, "eye-off"),
        )
        self.stack = Stack(self._tables(), self.empty)
        layouts.column(self.stack, parent=self)

    def _tables(self) -> QWidget:
        left = layouts.column(self.typed, (self.user_table, 1), self.user_note)
        head = layouts.row(
            Text(self.tr("Most likely words"), "strong", wraps=False),
            layouts.STRETCH,
            self.automatic,
            self.run,
        )
        right = layouts.column(head, (self.search_table, 1), self.search_note)
        both = layouts.row((left, 1), (right, 1), spacing=6 * SPACE)
        return layouts.page(self.title, (both, 1), spacing=2 * SPACE)

    def _on_typed(self) -> None:
        self._pause.stop()
        self.state.score_words(tuple(self.typed.text().split(",")))

    def show_state(self) -> None:
        state = self.state
        span = state.masked_span()
        self.stack.setCurrentIndex(1 if span is None else 0)
        if span is None:
            return
        count = span[1] - span[0] + 1
        text = self.tr("In place of “{0}” (%Ln token(s))", "", count)
        self.title.setText(text.format(token_text(state.masked_text())))
        self.user_table.show_rows(*self._user_rows())
        self.user_note.setText(self._user_note())
        self.search_table.show_rows(*self._search_rows())
        self.search_note.setText(self._search_note())
        self.run.setEnabled(not state.searches_automatically)

    # ── the user's words ─────────────────────────────────────────────────────────────────────

    def _user_rows(self) -> tuple[list[str], list[list[str]]]:
        explore, compared = self.state.explore, self.state.explore.is_compared
        header = [self.tr("Word"), self.tr("Probability"), self.tr("Log-probability")]
        if compared:
            header += [explore.side_titles[1], explore.difference_title]
        rows = []
        for candidate, other in self._ranked():
            row = [display(candidate), probability_text(candidate), log_probability_text(candidate)]
            if compared:
                change = difference(*explore.in_order(candidate, other))
                row += [probability_text(other), change]
            rows.append(row)
        return header, rows

    def _ranked(self) -> list[tuple[Candidate, Candidate | None]]:
        """The user's words with the second model's scores, most likely first, unscored last."""
        others = {candidate.text: candidate for candidate in self.state.scored_candidates(1)}
        pairs = [(word, others.get(word.text)) for word in self.state.scored_candidates()]
        return sorted(pairs, key=lambda pair: (bool(pair[0].problem), -pair[0].log_probability))

    def _user_note(self) -> str:
        query = self.state.score_queries[0]
        if query.problem:
            return query.problem
        if not self.state.user_words:
            return self.tr("Type words to see the probability of each.")
        if query.is_waiting:
            return self.tr("Running the model …")
        return self.tr(
            "Joint probability of a word’s tokens, predicted from left to right with one "
            "mask per token. Log-probabilities are natural logarithms."
        )

    # ── search ───────────────────────────────────────────────────────────────────────────────

    def _search_rows(self) -> tuple[list[str], list[list[str]]]:
        header = [self.tr("Tokens"), self.tr("Probability"), self.tr("Log-probability")]
        answers = [
            self.state.search_queries[side.index].get_answer(CandidatesFound)
            for side in self.state.explore.sides
        ]
        rows = []
        for index, answer in enumerate(answers):
            if answer is None:
                continue
            if len(answers) > 1:
                rows.append([f"— {self.state.explore.both[index].model_name} —", "", ""])
            rows += [
                [token_names(word), probability_text(word), log_probability_text(word)]
                for word in answer.candidates
            ]
            if answer.actual is not None:
                typed = self.tr("typed: {0}").format(token_names(answer.actual))
                rows.append(
                    [typed, probability_text(answer.actual), log_probability_text(answer.actual)]
                )
        return header, rows

    def _search_note(self) -> str:
        query = self.state.search_queries[0]
        if query.problem:
            return query.problem
        if query.is_waiting:
            return self.tr("Searching …")
        if query.answer is None:
            return self.tr("Beam search over all masks of this word, on request.")
        return self.tr("Beam search with 20 beams.")

    def figure(self) -> Figure | None:
        explore = self.state.explore
        scored = [pair for pair in self._ranked() if not pair[0].problem]
        result = self.state.search_queries[0].get_answer(CandidatesFound)
        if self.state.masked_span() is None or not (scored or result):
            return None
        columns, rows = [], list[list[object]]()
        if scored:
            bars = []
            for candidate, other in scored[:MAX_DRAWN]:
                second = None if other is None or other.problem else other.probability
                bars.append(Bar(candidate.text, candidate.probability, second=second))
            columns.append((self.tr("Your words"), bars))
            rows += [["own", *table_row(candidate, other)] for candidate, other in scored]
        if result is not None:
            best = [
                Bar(token_names(candidate), candidate.probability)
                for candidate in result.candidates
            ]
            columns.append((self.tr("Found by beam search"), best))
            rows += [["found", *table_row(candidate, None)] for candidate in result.candidates]
        word = token_text(self.state.masked_text())
        caption = self.tr(
            "Joint probability in place of “{0}”: the product over a word’s tokens, which are "
            "predicted from left to right; the tokens after the predicted one are masked."
        ).format(word)
        titles = [f"log-probability, {title.lower()}" for title in explore.side_titles]
        header = ("list", "word", "tokens", *titles)
        return bars_figure(
            columns,
            "candidates",
            self.tr("Candidates for “{0}”").format(word),
            f"{caption} {source(explore)}",
            Table(header, rows),
            maximum=1.0,
            is_paired=explore.is_compared,
        )


def table_row(candidate: Candidate, other: Candidate | None) -> Sequence[object]:
    second = "" if other is None or other.problem else other.log_probability
    return candidate.text, " ".join(candidate.tokens), candidate.log_probability, second


def token_names(candidate: Candidate) -> str:
    return " ".join(token_text(token) for token in candidate.tokens)


def display(candidate: Candidate) -> str:
    """A word with its tokens if there are several, or with its problem."""
    if candidate.problem:
        return f"{token_text(candidate.text)}: {translated(candidate.problem)}"
    return (
        token_text(candidate.text)
        if len(candidate.tokens) == 1
        else f"{token_text(candidate.text)} = {token_names(candidate)}"
    )


def probability_text(candidate: Candidate | None) -> str:
    """Format the probability; tiny ones in powers of ten."""
    if candidate is None or candidate.problem:
        return "–"
    probability = candidate.probability
    return percentage(probability) if probability >= 1e-4 else decimal(probability)


def log_probability_text(candidate: Candidate) -> str:
    return "–" if candidate.problem else decimal(candidate.log_probability, 2)


def difference(before: Candidate | None, after: Candidate | None) -> str:
    """Change of the log-probability."""
    if before is None or after is None or before.problem or after.problem:
        return "–"
    change = after.log_probability - before.log_probability
    return f"{sign(change)}{decimal(abs(change), 2)}"
