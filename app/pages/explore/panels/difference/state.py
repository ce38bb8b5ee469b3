"""Compare two models on the chosen texts.

Shapes: N texts, L layers, H heads.
"""

import numpy as np

from app.pages.explore.head_columns import MEASURES
from app.pages.explore.set_work import StartWorker
from app.pages.explore.state import ExploreState
from app.pages.explore.text_set_state import TextSetState
from app.translation import in_language
from app.widgets.text.numbers import decimal
from engine.files.home import Home
from engine.files.regular_file import check_regular
from engine.messages.explore.head_measures import KEYS
from engine.messages.explore.text_set import CompareModels, ModelsDiffered, SetAnswer

DIVERGENCE = "divergence"
COLUMNS = (DIVERGENCE, *KEYS)
DIGITS = 3
MIN_VECTORS = 2_000  # for a reliable CKA


class DifferenceState(TextSetState):
    """The comparison of two models, and the column on display."""

    def __init__(self, explore: ExploreState, home: Home, start_worker: StartWorker) -> None:
        super().__init__(explore, home, start_worker)
        self.answer: ModelsDiffered | None = None
        self.names = ("", "")  # of A and B
        self.column = DIVERGENCE
        self.arrays: dict[str, np.ndarray] = {}
        explore.sides_changed.connect(self._reset)

    @property
    def obstacle(self) -> str:
        """The reason why nothing can be compared, or “”."""
        first, second = self.explore.both
        if first.heads_off:
            return self.tr("Restore all heads: whole models are compared here.")
        is_same = self.explore.pinned is not None or second.checkpoint == first.checkpoint
        if self.explore.is_compared and is_same:
            return self.tr("Choose another model: these are two texts with the same model.")
        return ""

    def request_other(self) -> None:
        """Ask the page for a second model, if there is none."""
        if not self.explore.is_compared:
            self.explore.comparison_requested.emit()

    def compare(self) -> None:
        """Run both models over the texts, or continue."""
        explore, other = self.explore, self.explore.second
        chosen, first = explore.chosen, explore.first
        if chosen is None or first.checkpoint is None or other.checkpoint is None or self.obstacle:
            return
        self._clear()
        self.source = chosen
        self.names = first.model_name, other.model_name
        self._read_rows(chosen)
        self.work.start(
            CompareModels(
                checkpoint=first.checkpoint,
                other=other.checkpoint,
                texts=chosen.texts,
                cache=self._home.cache / "texts",
            )
        )

    @property
    def values(self) -> np.ndarray | None:
        """The displayed column, float64 [L, H]; None without results."""
        if DIVERGENCE not in self.arrays:
            return None
        if self.column == DIVERGENCE:
            return self.arrays[DIVERGENCE]
        shown: np.ndarray = self.arrays["columns"][..., KEYS.index(self.column)]
        return shown

    @property
    def is_signed(self) -> bool:
        return self.column != DIVERGENCE

    def show_column(self, key: str) -> None:
        if key != self.column:
            self.column = key
            self.changed.emit()

    def name(self, key: str) -> str:
        if key == DIVERGENCE:
            return self.tr("Divergence of attention")
        name = in_language(MEASURES[KEYS.index(key)].name)
        return self.tr("{0}: B − A").format(name)

    def meaning(self, key: str) -> str:
        if key == DIVERGENCE:
            return self.tr("Jensen–Shannon divergence of the attention weights, 0 to ln 2")
        return in_language(MEASURES[KEYS.index(key)].meaning)

    def describe(self, layer: int, head: int) -> str:
        values = self.values
        if values is None or layer >= values.shape[0] or head >= values.shape[1]:
            return ""
        return self.tr("Head {0}, {1}: {2}").format(
            f"{layer + 1}.{head + 1}", self.name(self.column), decimal(values[layer, head], DIGITS)
        )

    def most_changed_texts(self) -> list[int]:
        """Indices of the texts with a known KL, the most changed prediction first."""
        kl = self.arrays.get("kl", np.zeros(0))
        order = np.argsort(-np.nan_to_num(kl, nan=-np.inf), kind="stable")
        return [int(n) for n in order if np.isfinite(kl[n])]

    def _on_answer(self, answer: SetAnswer) -> None:
        if isinstance(answer, ModelsDiffered):
            with np.load(check_regular(answer.file)) as file:
                self.arrays = {name: file[name] for name in file.files}
            answer.file.unlink(missing_ok=True)
            self.answer = answer
            self.changed.emit()

    def _clear(self) -> None:
        super()._clear()
        self.answer, self.arrays = None, {}
