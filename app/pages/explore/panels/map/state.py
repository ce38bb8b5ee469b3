"""Map of the chosen texts at one layer of the first model."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.explore.model_input import TextInput, clean_text
from app.pages.explore.set_work import ChosenTexts, SetWork, StartWorker
from app.pages.explore.state import ExploreState
from engine.data.datasets.text_sets import rows_of, typed_pairs
from engine.files.home import Home
from engine.files.regular_file import check_regular
from engine.messages.explore.text_set import PlaceTexts, Pooling, SetAnswer, TextsPlaced

Colouring = Literal["label", "prediction", "error"]
MAX_COLOURS = 7  # labels with a colour of their own


class MapState(QObject):
    """The points and their colours.

    Signals:
        changed: the points, their colours, or the progress.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, home: Home, start_worker: StartWorker) -> None:
        super().__init__(explore)
        self.explore, self._home = explore, home
        self.work = SetWork(start_worker, self)
        self.answer: TextsPlaced | None = None
        self.of: ChosenTexts | None = None
        self.points = np.zeros((0, 2), np.float32)
        self.height = -1  # −1: the last
        self.pooling: Pooling = "mean"
        self.method: Literal["pca", "tsne"] = "pca"
        self.colouring: Colouring = "label"
        self.rows: Sequence[tuple[str, str | None]] = ()
        self.inside: tuple[int, ...] = ()  # indices in the lasso
        self._is_choosing = False
        self._reading: background.Job | None = None
        self.work.told.connect(self._on_told)
        self.work.changed.connect(self.changed)
        explore.model_changed.connect(self._forget)
        explore.heads_off_changed.connect(self._forget)

    @property
    def heights(self) -> int:
        """Number of layers with the embeddings."""
        model = self.explore.first.model
        info = model.info if model is not None else None
        return info.layers + 1 if info is not None else 1

    @property
    def shown_height(self) -> int:
        last = self.heights - 1
        return last if self.height < 0 or self.pooling == "pooled" else min(self.height, last)

    def place(self) -> None:
        """Compute the map, or continue."""
        chosen = self.explore.chosen
        if chosen is not None:
            self._start(chosen)

    def set(
        self,
        height: int | None = None,
        pooling: Pooling | None = None,
        method: Literal["pca", "tsne"] | None = None,
    ) -> None:
        """Change the projection; known vectors are projected at once."""
        before = self.height, self.pooling, self.method
        self.height = self.height if height is None else height
        self.pooling, self.method = pooling or self.pooling, method or self.method
        if before == (self.height, self.pooling, self.method):
            return
        if self.of is not None:
            self._start(self.of)
        self.changed.emit()

    def colour_by(self, colouring: Colouring) -> None:
        self.colouring = colouring
        self.changed.emit()

    def names(self) -> tuple[str, ...]:
        """Category of each point; “” for none."""
        answer = self.answer
        if answer is None:
            return ()
        if self.colouring == "label":
            return answer.labels
        if self.colouring == "prediction":
            return answer.predictions
        pairs = zip(answer.labels, answer.predictions, strict=True)
        right, wrong = self.tr("right"), self.tr("wrong")
        return tuple("" if not a or not b else right if a == b else wrong for a, b in pairs)

    def legend(self) -> list[str]:
        """Names with a colour, most frequent first."""
        counts = Counter(name for name in self.names() if name)
        return [name for name, _ in counts.most_common(MAX_COLOURS)]

    def select(self, points: Sequence[int]) -> None:
        """Make the points of a lasso the chosen texts; none: all of the map."""
        if self.of is None:
            return
        self.inside = tuple(points)
        rows = self.of.texts.rows
        numbers = tuple(points) if rows is None else tuple(rows[n] for n in points)
        texts = self.of.texts.model_copy(update={"rows": numbers or rows})
        self.explore.choose_texts(ChosenTexts(texts, self.of.name, len(numbers) or self.of.count))
        self.changed.emit()

    def show_input(self, point: int) -> None:
        """Show a text on the page."""
        if point < len(self.rows):
            text, pair = self.rows[point]
            pair = None if pair is None else clean_text(pair)
            self.explore.input_wanted.emit(TextInput(clean_text(text), pair))

    def _start(self, chosen: ChosenTexts) -> None:
        checkpoint = self.explore.first.checkpoint
        if checkpoint is None:
            return
        if chosen != self.of:
            self._clear()
            self.of, texts = chosen, chosen.texts
            self._reading = background.run(
                self, lambda: typed_pairs(rows_of(texts)), self._on_rows, lambda _: None
            )
        self.work.start(
            PlaceTexts(
                checkpoint=checkpoint,
                texts=chosen.texts,
                kept=self._home.cache / "texts",
                **self.explore.first.ablation,
                height=self.height,
                pooling=self.pooling,
                method=self.method,
            )
        )

    def _on_rows(self, rows: list[tuple[str, str | None]]) -> None:
        self._reading, self.rows = None, rows
        self.changed.emit()

    def _on_told(self, answer: SetAnswer) -> None:
        if isinstance(answer, TextsPlaced):
            self.points = np.load(check_regular(answer.file))
            answer.file.unlink(missing_ok=True)
            if self.answer is None and not any(answer.labels) and any(answer.predictions):
                self.colouring = "prediction"
            self.answer = answer
            self.changed.emit()

    def _clear(self) -> None:
        self.answer, self.of, self.rows, self.inside = None, None, (), ()
        self.points = np.zeros((0, 2), np.float32)
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _forget(self) -> None:
        self._clear()
        self.work.forget()
