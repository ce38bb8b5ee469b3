"""Typed texts or the texts of a data set, and the model's scores."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background, library
from app.library import DataEntry
from app.pages.explore.model_input import clean_text
from app.pages.explore.set_work import ChosenTexts, SetWork, StartWorker
from app.pages.explore.state import ExploreState
from app.pages.explore.text_set_state import TypedRow, show_row
from engine.config.dataset import SPLITS, SplitName, StoredData
from engine.config.tasks import TASKS
from engine.data.columns.fit import matching_target
from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import load_rows, typed_pairs
from engine.errors import StudioError
from engine.files.home import Home
from engine.messages.explore.text_set import (
    MAX_TEXTS,
    ScoreTexts,
    SetAnswer,
    TextScore,
    TextSet,
    TextsScored,
    TypedText,
)

MAX_TYPED = 2_000  # lines


class TextsState(QObject):
    """Texts and scores of the first model.

    Signals:
        sources_changed: the available data sets.
        changed: the texts, their scores or the error changed.
    """

    sources_changed = Signal()
    changed = Signal()

    def __init__(self, explore: ExploreState, home: Home, start_worker: StartWorker) -> None:
        super().__init__(explore)
        self.explore, self._home = explore, home
        self.work = SetWork(start_worker, self)
        self.sources: tuple[DataEntry, ...] = ()
        self.source: DataEntry | None = None  # None: typed texts
        self.part: SplitName = "validation"
        self._line_count = 0  # typed
        self.problem = ""
        self.texts: TextSet | None = None  # all of them
        self.rows: list[TypedRow] = []  # text and second text, as typed
        self.labels: Sequence[str] = ()
        self.scores: list[TextScore] = []  # of the first rows, while more arrive
        self.loss = "task"
        self.selected: tuple[int, ...] = ()
        self.typed = ""  # one text per line
        self._reading: background.Job | None = None
        self._listing: background.Job | None = None
        self.work.answer_received.connect(self._on_answer_received)
        explore.chosen_changed.connect(self._on_chosen)
        explore.model_changed.connect(self._on_model)
        explore.heads_off_changed.connect(self._clear_scores)

    # ── input ────────────────────────────────────────────────────────────────────────────────

    @property
    def is_reading(self) -> bool:
        return self._reading is not None

    @property
    def name(self) -> str:
        if self.source is None or self.source.spec is None:
            return self.tr("the typed list")
        spec = self.source.spec
        return self.tr("{0}, version {1}, {2}").format(spec.name, spec.version, self.part)

    @property
    def all_texts(self) -> ChosenTexts | None:
        """All texts, regardless of the selection."""
        return ChosenTexts(self.texts, self.name, len(self.rows)) if self.texts else None

    def parts(self) -> dict[SplitName, int]:
        """Row counts of the data set's non-empty splits."""
        spec = self.source.spec if self.source is not None else None
        return {part: spec.rows[part] for part in SPLITS if spec.rows.get(part)} if spec else {}

    @property
    def is_truncated(self) -> bool:
        """True if the split or the typed list is longer than the limit."""
        if self.source is None:
            return self._line_count > MAX_TYPED
        return self.parts().get(self.part, 0) > MAX_TEXTS

    @property
    def losses(self) -> np.ndarray:
        """Losses of the scored texts, float64 [N]; NaN for a text without one."""
        return np.array([np.nan if score.loss is None else score.loss for score in self.scores])

    def read_sources(self) -> None:
        """List the data sets of the home, off the GUI thread."""
        home = self._home
        if self._listing is None:
            self._listing = background.run(self, lambda: library.datasets(home), self._on_sources)

    def use_typed(self) -> None:
        self.source = None
        self._read()

    def use_data(self, entry: DataEntry, part: SplitName | None = None) -> None:
        """Use a split of a data set; by default validation, else the last one."""
        self.source = entry
        splits = list(self.parts())
        default = "validation" if "validation" in splits or not splits else splits[-1]
        self.part = part if part in splits else default
        self._read()

    def use_part(self, part: SplitName) -> None:
        if self.source is not None and part != self.part:
            self.use_data(self.source, part)

    def set_typed(self, typed: str) -> None:
        """Set the texts, one per line; a tab separates the second text or the label."""
        if typed != self.typed:
            self.typed = typed
            if self.source is None:
                self._read()

    def score(self) -> None:
        """Predict all texts, or continue."""
        checkpoint = self.explore.first.checkpoint
        if self.texts is None or checkpoint is None:
            return
        self.scores = []
        self.work.start(
            ScoreTexts(
                checkpoint=checkpoint,
                texts=self.texts,
                cache=self._home.cache / "texts",
                **self.explore.first.ablation,
            )
        )

    def select(self, rows: Sequence[int]) -> None:
        """Select the rows that other panels work on; none: all."""
        new = tuple(sorted(rows))
        if new != self.selected:
            self.selected = new
            self._choose()
            self.changed.emit()

    def show_input(self, row: int) -> None:
        show_row(self.explore, self.rows[row])

    # ── updates ──────────────────────────────────────────────────────────────────────────────

    def _read(self) -> None:
        """Read the rows of the source, off the GUI thread."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        self.texts, self.rows, self.labels, self.selected = None, [], (), ()
        self.problem = ""
        self._clear_scores()
        texts = self._text_set()
        self._choose()
        if texts is not None:
            self._reading = background.run(
                self, lambda: (texts, *_load_rows(texts)), self._on_rows, self._on_failed
            )
        self.changed.emit()

    def _text_set(self) -> TextSet | None:
        if self.source is not None:
            data = StoredData(folder=self.source.folder, target=self._target())
            return TextSet(data=data, part=self.part)
        lines = [line.strip() for line in self.typed.splitlines() if line.strip()]
        self._line_count = len(lines)
        typed = tuple(_parse_line(line, self._reads_pairs) for line in lines[:MAX_TYPED])
        return TextSet(typed=typed) if typed else None

    def _target(self) -> str | None:
        """The label column of the data set with the labels of the model."""
        spec = self.source.spec if self.source is not None else None
        return None if spec is None else matching_target(spec, self.explore.first.labels)

    @property
    def _reads_pairs(self) -> bool:
        task = self.explore.first.task
        return task in TASKS and "pair" in TASKS[task].info.reads if task else False

    def _on_sources(self, entries: list[DataEntry]) -> None:
        self._listing = None
        self.sources = tuple(entry for entry in entries if entry.spec is not None)
        self.sources_changed.emit()

    def _on_rows(self, loaded: tuple[TextSet, list[TypedRow], list[str]]) -> None:
        self._reading = None
        self.texts, self.rows, self.labels = loaded
        self._choose()
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self._reading = None
        if not isinstance(error, StudioError):
            raise error
        self.problem = str(error)
        self.changed.emit()

    def _on_model(self) -> None:
        self._clear_scores()
        data = self.texts.data if self.texts is not None else None
        is_other = data is not None and data.target != self._target()
        if is_other or (self.source is None and self.typed):
            self._read()  # the label column, or the text after a tab, depends on the task
        self.changed.emit()

    def _on_chosen(self) -> None:
        """Follow a selection made in another panel, such as a lasso."""
        chosen, texts = self.explore.chosen, self.texts
        if chosen is not None and texts is None and chosen.texts.typed and not self.typed:
            self._show_typed(chosen.texts)
        if chosen is None or texts is None:
            return
        rows = chosen.texts.rows or ()
        is_of_these = chosen.texts.model_copy(update={"rows": None}) == texts
        if is_of_these and rows != self.selected:
            self.selected = rows
            self.changed.emit()

    def _show_typed(self, texts: TextSet) -> None:
        """Show texts that another panel has chosen as if they were typed here."""
        self.source, self.texts = None, texts
        self.typed = "\n".join(f"{text.text}\t{text.label}" for text in texts.typed)
        self.rows, self.labels = _load_rows(texts)
        self.changed.emit()

    def _clear_scores(self) -> None:
        self.scores = []
        self.work.clear()
        self.changed.emit()

    def _choose(self) -> None:
        texts = self.texts
        if texts is None:
            self.explore.choose_texts(None)
            return
        rows = self.selected or None
        chosen = texts.model_copy(update={"rows": rows})
        count = len(self.selected) or len(self.rows)
        self.explore.choose_texts(ChosenTexts(chosen, self.name, count))

    def _on_answer_received(self, answer: SetAnswer) -> None:
        if isinstance(answer, TextsScored):
            self.scores = [*self.scores[: answer.first], *answer.scores]
            self.loss = answer.loss
            self.changed.emit()


def _parse_line(line: str, reads_pairs: bool) -> TypedText:
    """Parse a line with tabs: text, second text, label; or text and label."""
    cells = [clean_text(cell.strip()) for cell in line.split("\t")]
    if len(cells) == 1:
        return TypedText(text=cells[0])
    if len(cells) == 2 and not reads_pairs:
        return TypedText(text=cells[0], label=cells[1])
    return TypedText(text=cells[0], pair=cells[1] or None, label=cells[2] if len(cells) > 2 else "")


def _load_rows(texts: TextSet) -> tuple[list[TypedRow], list[str]]:
    rows: Rows = load_rows(texts)
    labels = rows.labels
    return typed_pairs(rows), [] if labels is None else list(labels)
