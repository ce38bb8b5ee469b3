"""Map of the chosen texts at one layer of the first model."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from app.pages.explore.set_work import ChosenTexts, StartWorker
from app.pages.explore.state import ExploreState
from app.pages.explore.text_set_state import TextSetState
from engine.files.home import Home
from engine.files.regular_file import check_regular
from engine.messages.explore.text_set import PlaceTexts, Pooling, SetAnswer, TextsPlaced

Colouring = Literal["label", "prediction", "error"]
MAX_LABELS = 28  # with a colour and shape of their own


class MapState(TextSetState):
    """The points and their colours."""

    def __init__(self, explore: ExploreState, home: Home, start_worker: StartWorker) -> None:
        super().__init__(explore, home, start_worker)
        self.answer: TextsPlaced | None = None
        self.points = np.zeros((0, 2), np.float32)
        self.layer = -1  # −1: the last
        self.pooling: Pooling = "mean"
        self.method: Literal["pca", "tsne"] = "pca"
        self.colouring: Colouring = "label"
        self.selected: tuple[int, ...] = ()  # indices in the lasso

    @property
    def layers(self) -> int:
        """Number of layers with the embeddings."""
        model = self.explore.first.model
        info = model.info if model is not None else None
        return info.layers + 1 if info is not None else 1

    @property
    def shown_layer(self) -> int:
        last = self.layers - 1
        return last if self.layer < 0 or self.pooling == "pooled" else min(self.layer, last)

    def compute(self) -> None:
        """Compute the map, or continue."""
        chosen = self.explore.chosen
        if chosen is not None:
            self._start(chosen)

    def set(
        self,
        layer: int | None = None,
        pooling: Pooling | None = None,
        method: Literal["pca", "tsne"] | None = None,
    ) -> None:
        """Change the projection; vectors that are already computed are projected immediately."""
        before = self.layer, self.pooling, self.method
        self.layer = self.layer if layer is None else layer
        self.pooling, self.method = pooling or self.pooling, method or self.method
        if before == (self.layer, self.pooling, self.method):
            return
        if self.source is not None:
            self._start(self.source)
        self.changed.emit()

    def colour_by(self, colouring: Colouring) -> None:
        self.colouring = colouring
        self.changed.emit()

    def categories(self) -> tuple[str, ...]:
        """Category of each point; “” for none."""
        answer = self.answer
        if answer is None:
            return ()
        if self.colouring == "label":
            return answer.labels
        if self.colouring == "prediction":
            return answer.predictions
        pairs = zip(answer.labels, answer.predictions, strict=True)
        right, wrong = self.tr("correct"), self.tr("wrong")
        return tuple("" if not a or not b else right if a == b else wrong for a, b in pairs)

    def legend(self) -> list[str]:
        """Categories with a colour and shape, most frequent first."""
        counts = Counter(name for name in self.categories() if name)
        return [name for name, _ in counts.most_common(MAX_LABELS)]

    def select(self, points: Sequence[int]) -> None:
        """Choose the texts of the points in a lasso; without points, all texts of the map."""
        if self.source is None:
            return
        self.selected = tuple(points)
        rows = self.source.texts.rows
        selected = tuple(points) if rows is None else tuple(rows[n] for n in points)
        texts = self.source.texts.model_copy(update={"rows": selected or rows})
        count = len(selected) or self.source.count
        self.explore.choose_texts(ChosenTexts(texts, self.source.name, count))
        self.changed.emit()

    def _start(self, chosen: ChosenTexts) -> None:
        if self.explore.first.checkpoint is None:
            return
        if chosen != self.source:
            self._clear()
            self.source = chosen
            self._read_rows(chosen)
        self.work.start(
            PlaceTexts(
                **self._question_fields(chosen),
                layer=self.layer,
                pooling=self.pooling,
                method=self.method,
            )
        )

    def _on_answer(self, answer: SetAnswer) -> None:
        if isinstance(answer, TextsPlaced):
            self.points = np.load(check_regular(answer.file))
            answer.file.unlink(missing_ok=True)
            if self.answer is None and not any(answer.labels) and any(answer.predictions):
                self.colouring = "prediction"
            self.answer = answer
            self.changed.emit()

    def _clear(self) -> None:
        super()._clear()
        self.answer, self.selected = None, ()
        self.points = np.zeros((0, 2), np.float32)
