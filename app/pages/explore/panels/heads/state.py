"""Statistics of the first model's heads on the chosen texts.

Shapes: L layers, H heads.
"""

from typing import Literal

import numpy as np
from PySide6.QtCore import Signal

from app.pages.explore.head_columns import MEASURES
from app.pages.explore.set_work import StartWorker
from app.pages.explore.state import ExploreState
from app.pages.explore.text_set_state import TextSetState
from app.translation import in_language
from app.widgets.text.numbers import decimal, percent
from app.widgets.text.run_texts import evaluation_title, metric_value
from engine.files.home import Home, free_folder
from engine.files.regular_file import check_regular
from engine.messages.explore.head_measures import POSITIONAL
from engine.messages.explore.text_set import (
    CountHeads,
    HeadsCounted,
    HeadsPruned,
    HeadsRemoved,
    HeadsWeighed,
    PruneHeads,
    RemoveHeads,
    Replacement,
    SetAnswer,
    WeighHeads,
)
from engine.messages.question import Answer, Refused

Method = Literal["patterns", "importance", "each", "prune"]
OFFSET, SHARE = "offset", "offset_share"
TO_HEAD, FROM_HEAD = "head dependent", "head governor"
IMPORTANCE, LOSS_OFF, PRUNED = "importance", "loss off", "pruned round"
DIGITS = 3
DEFAULT_MAX_FALL = 0.01  # of the metric
MAX_NOTE_ROUNDS = 3


class HeadsState(TextSetState):
    """The statistics, and the column on display.

    Signals:
        saved: the folder of a model without the pruned heads.
        not_saved: a Refused with the reason.
        column_changed: another column is shown as colours.
    """

    saved = Signal(object)
    not_saved = Signal(object)
    column_changed = Signal()

    def __init__(self, explore: ExploreState, home: Home, start_worker: StartWorker) -> None:
        super().__init__(explore, home, start_worker)
        self._start_worker = start_worker
        self.method: Method = "patterns"
        self.counted: HeadsCounted | None = None
        self.weighed: HeadsWeighed | None = None
        self.pruned: HeadsPruned | None = None
        self.replacement: Replacement = "zero"
        self.max_fall = DEFAULT_MAX_FALL  # of the metric while pruning
        self.is_saving = False
        self._replaced_by: Replacement = "zero"  # what replaced each head
        self.column = SHARE
        self._columns: dict[str, np.ndarray] = {}  # float64 [3, L, H] each

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of the table; those computed on request or from head annotations come first."""
        first = (PRUNED, LOSS_OFF, IMPORTANCE, SHARE, TO_HEAD, FROM_HEAD)
        front = [key for key in first if key in self._columns]
        return (*front, *(key for key in self._columns if key not in (*front, OFFSET)))

    @property
    def is_signed(self) -> bool:
        """True if 0 is the middle of the displayed column's scale."""
        return self.column == LOSS_OFF

    @property
    def answer(self) -> HeadsCounted | HeadsWeighed | HeadsPruned | None:
        """The answer behind the displayed column."""
        if self.column == PRUNED:
            return self.pruned
        return self.weighed if self.column in (IMPORTANCE, LOSS_OFF) else self.counted

    def interval(self, key: str) -> np.ndarray:
        """Mean and both ends of its interval, float64 [3, L, H]."""
        return self._columns[key]

    def value(self, key: str, layer: int, head: int) -> float | None:
        """The mean of a column; None if it is missing or not finite."""
        value = float(self.interval(key)[0, layer, head]) if key in self._columns else np.nan
        return value if np.isfinite(value) else None

    @property
    def size(self) -> tuple[int, int]:
        shape = next(iter(self._columns.values())).shape if self._columns else (3, 0, 0)
        return shape[1], shape[2]

    def choose_method(self, method: Method) -> None:
        """Choose what the button computes; other numbers remain."""
        if method != self.method:
            self.method = method
            self.work.clear()

    def replace_by(self, replacement: Replacement) -> None:
        """Set the replacement of a head that is switched off."""
        if replacement != self.replacement:
            self.replacement = replacement
            self.work.clear()

    def allow_fall(self, fraction: float) -> None:
        """Set by how much the metric may fall while pruning, e.g. 0.01."""
        if fraction != self.max_fall:
            self.max_fall = fraction
            self.work.clear()

    def count(self) -> None:
        """Compute the chosen statistics, or continue."""
        chosen, checkpoint = self.explore.chosen, self.explore.first.checkpoint
        if chosen is None or checkpoint is None:
            return
        if chosen != self.source:
            self._clear()
        self.source = chosen
        fields = self._question_fields(chosen)
        if self.method == "patterns":
            self.work.start(CountHeads(**fields))
        elif self.method == "prune":
            self.work.start(PruneHeads(**fields, max_fall=self.max_fall))
        else:
            each_head = self.method == "each"
            replacement: Replacement = self.replacement if each_head else "zero"
            self.work.start(WeighHeads(**fields, each_head=each_head, replacement=replacement))

    @property
    def can_save(self) -> bool:
        """True if heads were pruned and nothing is being saved."""
        pruned = self.pruned
        has_pruned = pruned is not None and pruned.is_final and bool(pruned.pruned)
        return has_pruned and not self.is_saving and self.explore.first.model is not None

    def save(self) -> None:
        pruned, model = self.pruned, self.explore.first.model
        if not self.can_save or pruned is None or model is None:
            return
        name = self.tr("{0} with {1} heads pruned").format(model.name, len(pruned.pruned))
        self.is_saving = True
        self._start_worker(
            RemoveHeads(
                checkpoint=model.path,
                heads=pruned.pruned,
                into=free_folder(self._home.models, name),
            ),
            self._on_saved,
            self._on_not_saved,
            owner=self,
        )
        self.changed.emit()

    def show_column(self, key: str) -> None:
        if key != self.column and key in self.keys:
            self.column = key
            self.column_changed.emit()

    def name(self, key: str) -> str:
        names = {measure.key: in_language(measure.name) for measure in MEASURES} | {
            IMPORTANCE: self.tr("Importance"),
            LOSS_OFF: self.tr("Loss when ablated"),
            PRUNED: self.tr("Pruned in round"),
            TO_HEAD: self.tr("Word → its head"),
            FROM_HEAD: self.tr("Head → its word"),
        }
        return names.get(key) or self.tr("Lift {0}").format(key.removeprefix("tag "))

    def meaning(self, key: str) -> str:
        importance = self.tr("Mean of |∂L/∂ξ|, ξ being the factor of the head: a first estimate")
        loss_off = self.tr("Increase of the mean loss when the head is ablated (zero)")
        if self._replaced_by == "mean":
            loss_off = self.tr("Increase of the mean loss when the head is ablated (mean)")
        meanings = {measure.key: in_language(measure.meaning) for measure in MEASURES} | {
            IMPORTANCE: importance,
            LOSS_OFF: loss_off,
            PRUNED: self.tr("The round in which the head was pruned; the others are kept"),
        }
        if key in meanings:
            return meanings[key]
        if key == TO_HEAD:
            text = self.tr("Fraction of words whose largest weight is on their head in the file")
        elif key == FROM_HEAD:
            text = self.tr(
                "Fraction of words that get the largest weight of their head in the file"
            )
        else:
            return self.tr("Attention to this tag divided by the fraction of tokens that have it")
        fixed = self.counted.fixed if self.counted is not None else None
        if fixed is None:
            return text
        best = self.tr("the best fixed offset, {0}, has {1}").format(
            f"{fixed[0]:+d}", percent(fixed[1])
        )
        return f"{text}; {best}"

    def pattern(self, layer: int, head: int) -> str:
        """Name of a positional head's pattern, or “”."""
        if SHARE not in self._columns:
            return ""
        value = float(self.interval(SHARE)[0, layer, head])
        if not value >= POSITIONAL:
            return ""
        offset = int(self.interval(OFFSET)[0, layer, head])
        names = {
            -1: self.tr("previous token ({0})"),
            0: self.tr("itself ({0})"),
            1: self.tr("next token ({0})"),
        }
        fraction = percent(value, 0)
        if offset in names:
            return names[offset].format(fraction)
        return self.tr("offset {1} ({0})").format(fraction, f"{offset:+d}")

    def describe(self, key: str, layer: int, head: int) -> str:
        """Describe a number, e.g. Head 2.1, Entropy: 1.234 (95 %: 1.201 to 1.266)."""
        mean, low, high = self.interval(key)[:, layer, head].tolist()
        if key == PRUNED:
            name = f"{layer + 1}.{head + 1}"
            if not np.isfinite(mean):
                return self.tr("Head {0}: kept").format(name)
            return self.tr("Head {0}: pruned in round {1}").format(name, int(mean))
        text = self.tr("Head {0}, {1}: {2}").format(
            f"{layer + 1}.{head + 1}", self.name(key), decimal(mean, DIGITS)
        )
        if not np.isfinite(low):
            return text
        ends = self.tr("(95 %: {0} to {1})").format(decimal(low, DIGITS), decimal(high, DIGITS))
        return f"{text} {ends}"

    def cell(self, key: str, layer: int, head: int) -> str:
        value = float(self.interval(key)[0, layer, head])
        if key == PRUNED:
            return str(int(value)) if np.isfinite(value) else self.tr("kept")
        return f"{value:.{DIGITS}f}"

    def pruning_summary(self) -> str:
        """The metric with all heads and after the last rounds, and how many heads can be pruned."""
        pruned = self.pruned
        if pruned is None or not pruned.rounds:
            return ""
        metric, (baseline, *rounds) = pruned.metric, pruned.rounds
        title = evaluation_title(metric)
        parts = [
            self.tr("{0} with all heads: {1}.").format(
                title[:1].upper() + title[1:], metric_value(metric, baseline.figure)
            )
        ]
        heads = 0
        for number, step in enumerate(rounds, start=1):
            heads += len(step.heads)
            text = self.tr("Round {0}, {1} heads pruned: {2}.")
            line = text.format(number, heads, metric_value(metric, step.figure))
            parts = [parts[0], *parts[1:][-MAX_NOTE_ROUNDS + 1 :], line]
        if pruned.is_final:
            layers, all_heads = self.size
            parts.append(
                self.tr("{0} of {1} heads can be pruned.").format(
                    len(pruned.pruned), layers * all_heads
                )
            )
        return " ".join(parts)

    def _on_saved(self, answer: Answer) -> None:
        self.is_saving = False
        if isinstance(answer, HeadsRemoved):
            self.saved.emit(answer.folder)
        self.changed.emit()

    def _on_not_saved(self, refusal: Refused) -> None:
        self.is_saving = False
        self.not_saved.emit(refusal)
        self.changed.emit()

    def _on_pruned(self, answer: HeadsPruned) -> None:
        """Store the round of each pruned head as a column; NaN for kept heads."""
        model = self.explore.first.model
        if model is None or model.info is None:
            return
        values = np.full((3, model.info.layers, model.info.heads), np.nan)
        can_go = set(answer.pruned)
        for number, step in enumerate(answer.rounds):
            for layer, head in can_go.intersection(step.heads):
                values[0, layer, head] = number
        is_first = PRUNED not in self._columns
        self._columns[PRUNED], self.pruned = values, answer
        if is_first:
            self.column = PRUNED
        self.changed.emit()

    def _on_answer(self, answer: SetAnswer) -> None:
        if isinstance(answer, HeadsPruned):
            self._on_pruned(answer)
            return
        if not isinstance(answer, HeadsCounted | HeadsWeighed):
            return
        values = np.load(check_regular(answer.file))
        answer.file.unlink(missing_ok=True)
        is_first = answer.columns[-1] not in self._columns
        self._columns |= {name: values[..., n] for n, name in enumerate(answer.columns)}
        if isinstance(answer, HeadsCounted):
            self.counted = answer
        else:
            self.weighed, self._replaced_by = answer, self.replacement
        if is_first:
            self.column = SHARE if isinstance(answer, HeadsCounted) else answer.columns[-1]
        self.changed.emit()

    def _clear(self) -> None:
        super()._clear()
        self.counted = self.weighed = self.pruned = None
        self._columns = {}
