"""Target and method of the attributions."""

from typing import Any

from PySide6.QtCore import QObject, Signal

from app.pages.explore.model_input import ModelInput, clean_text
from app.pages.explore.state import ExploreState
from engine.config.tasks import get_head
from engine.messages.explore.attribution import Attribute, Baseline, Method

ENDS = ("start", "end")  # of an answer span


class Choice(QObject):
    """Target and method of the attributions; all panels share the chosen class.

    Signals:
        changed: the target, method or baseline changed.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState) -> None:
        super().__init__(explore)
        self.explore = explore
        self.method: Method = "occlusion"
        self.baseline: Baseline = "mask"
        self.token = ""  # token at a mask; empty: the top prediction
        self.against = ""  # a class or token to contrast with; empty: none
        self.end = ENDS[0]
        self._mask_requested = False
        explore.label_changed.connect(self.changed)
        explore.model_changed.connect(self._on_model)

    def set(self, **values: Any) -> None:
        """Set `method`, `baseline`, `token`, `against` or `end`; texts are cleaned."""
        before = dict(vars(self))
        for name, value in values.items():
            setattr(self, name, clean_text(value.strip()) if isinstance(value, str) else value)
        if dict(vars(self)) != before:
            self.changed.emit()

    def request_mask(self, on: bool) -> None:
        """Explain the prediction at a mask in a model that also has a task head."""
        if on != self._mask_requested:
            self._mask_requested = on
            self.against = ""
            self.changed.emit()

    def explains_mask(self, side: ModelInput) -> bool:
        """True if a token at a mask is explained, not the prediction of a task head."""
        return side.has_head("mlm") and (self._mask_requested or not has_target(side))

    def finds_spans(self, side: ModelInput) -> bool:
        return side.task is not None and get_head(side.task).finds_spans

    def question(self, side: ModelInput) -> Attribute | None:
        """The attribution to compute; None if there is nothing to explain."""
        target = self.target(side)
        if target is None:
            return None
        return side.question(Attribute, method=self.method, baseline=self.baseline, **target)

    def target(self, side: ModelInput) -> dict[str, Any] | None:
        """Target fields of a question; None if there is nothing to explain."""
        if self.explains_mask(side):
            return self._mask_target(side)
        if not has_target(side):
            return None
        labels = side.labels
        label = self.explore.label or ""
        if self.finds_spans(side):
            return {"label": self.end}
        position = None
        if side.task is not None and get_head(side.task).reads_tokens:
            position = self.explore.on_side(side.index, self.explore.picked)
            if not 0 <= position < len(side.tokens) or side.tokens[position].special:
                position = None
        against = self.against if self.against in labels else ""
        return {"label": label if label in labels else "", "against": against, "position": position}

    def _mask_target(self, side: ModelInput) -> dict[str, Any] | None:
        positions = side.all_masked
        if not positions:
            return None
        picked = self.explore.on_side(side.index, self.explore.picked)
        return {
            "head": "mlm",
            "label": self.token,
            "against": self.against,
            "position": picked if picked in positions else positions[0],
        }

    def _on_model(self) -> None:
        if self.explore.is_browsing_snapshots:
            return
        self.against = ""
        self._mask_requested = False
        self.changed.emit()


def has_target(side: ModelInput) -> bool:
    """True if the model has a task head whose score can be explained here.

    Multiple choice is explained in the panel where its choices are typed; the score of a span
    depends on two words.
    """
    head = None if side.task is None else get_head(side.task)
    return head is not None and not head.scores_choices and not head.labels_spans
