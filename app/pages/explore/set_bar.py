"""Panels that work on many texts: their top line, and what is shown before the first results."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.pages.explore.set_work import SAMPLE_ROWS, ChosenTexts, SetWork, sample_texts
from app.pages.explore.state import ExploreState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.page import EmptyState, Stack
from app.widgets.progress import ProgressLine
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.numbers import count


class SetBar(QWidget):
    """Button and progress. The button calls `start`; `obstacle` returns why it is disabled.

    If no texts are chosen, it chooses sample texts.
    """

    def __init__(
        self,
        work: SetWork,
        explore: ExploreState,
        text: str,
        start: Callable[[], object],
        obstacle: Callable[[], str] = lambda: "",
        all_texts: Callable[[], ChosenTexts | None] | None = None,
        prepare: Callable[[], object] = lambda: None,
        is_primary: bool = True,
    ) -> None:
        """`all_texts` returns the texts, if not the chosen ones; `prepare` is called first. A panel
        has one bar that is primary."""
        super().__init__()
        self._explore, self._start, self._prepare = explore, start, prepare
        self._texts = all_texts or (lambda: explore.chosen)
        self._work, self._text, self._obstacle = work, text, obstacle
        self.summary = OneLine("", "muted")
        make = buttons.primary if is_primary else buttons.plain
        self.run = make(text, self._on_press, "play" if is_primary else "save")
        self.progress = ProgressLine(text.replace("&", ""))
        self.progress.cancelled.connect(work.cancel)
        self.problem = Text("", "warn")
        self.line = layouts.row(self.run, (self.summary, 1), spacing=2 * SPACE)
        layouts.column(self.line, self.progress, self.problem, parent=self, spacing=SPACE)
        work.changed.connect(self.show_state)
        explore.chosen_changed.connect(self.show_state)
        explore.model_changed.connect(self.show_state)
        self.show_state()

    def _on_press(self) -> None:
        if self._texts() is None:
            self._explore.choose_texts(sample_texts())
        self._prepare()
        self._start()

    def show_state(self) -> None:
        work, chosen = self._work, self._texts()
        obstacle = self._obstacle() if chosen is not None else ""
        has_model = self._explore.first.checkpoint is not None
        self.run.setEnabled(has_model and not obstacle and not work.is_running)
        self.run.setVisible(not work.is_running)
        buttons.set_text(self.run, self.tr("Conti&nue") if work.is_interrupted else self._text)
        self.summary.setVisible(not work.is_running)
        self.summary.setText(self._summary())
        if work.is_running:
            self.progress.show_progress(
                work.done, work.total, translated(work.stage) or self._summary()
            )
        else:
            self.progress.end()
        self.problem.setText(work.problem or obstacle)
        self.problem.setVisible(bool(self.problem.text()))

    def _summary(self) -> str:
        chosen = self._texts()
        if chosen is None:
            return self.tr(
                "%Ln text(s) of the sample, or your own from the Texts panel", "", SAMPLE_ROWS
            )
        text = self.tr("%Ln text(s) of {0}", "", chosen.count).format(chosen.name)
        if self._work.is_interrupted:
            done = self.tr("{0} of {1} done").format(
                count(self._work.done), count(self._work.total)
            )
            return f"{text} · {done}"
        return text


class Results(Stack):
    """The results of a panel; before there are any, what they show."""

    def __init__(self, content: QWidget, icon: str, title: str, text: str) -> None:
        super().__init__()
        self.empty = EmptyState(icon, title, text)
        self.addWidget(self.empty)
        self.addWidget(content)

    def show_results(self, has_results: bool) -> None:
        self.setCurrentIndex(1 if has_results else 0)
