"""What is explained, and how: one choice for both sides of a comparison."""

from typing import Any

from PySide6.QtCore import QObject, Signal

from app.pages.explore.side import Side, cleaned
from app.pages.explore.study import Study
from engine.config.tasks import head_of
from engine.messages.explore.attribution import Baseline, Method

ENDS = ("start", "end")  # of an answer


class Choice(QObject):
    """The class is that of the study, so that other panels show the same.

    Signals:
        changed: something else is explained, or in another way.
    """

    changed = Signal()

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        self.study = study
        self.method: Method = "occlusion"
        self.baseline: Baseline = "mask"
        self.token = ""  # at a mask; empty: the top prediction
        self.against = ""  # a class or a token; empty: nothing
        self.end = ENDS[0]
        self._wants_mask = False
        study.label_changed.connect(self.changed)
        study.model_changed.connect(self._on_model)

    def set(self, **what: Any) -> None:
        """Change `method`, `baseline`, `token`, `against` or `end`; texts are cleaned."""
        before = dict(vars(self))
        for name, value in what.items():
            setattr(self, name, cleaned(value.strip()) if isinstance(value, str) else value)
        if dict(vars(self)) != before:
            self.changed.emit()

    def explain_mask(self, wanted: bool) -> None:
        """Explain what is predicted at a mask, in a model that has a task as well."""
        if wanted != self._wants_mask:
            self._wants_mask = wanted
            self.against = ""
            self.changed.emit()

    def is_of_mask(self, side: Side) -> bool:
        """Whether a token at a mask is explained, and not a prediction of a task."""
        return side.has_head("mlm") and (self._wants_mask or not has_target(side))

    def labels(self, side: Side) -> tuple[str, ...]:
        """The classes, labels or tags of the model."""
        model = side.model
        return model.info.labels if model is not None and model.info is not None else ()

    def finds_spans(self, side: Side) -> bool:
        return side.task is not None and head_of(side.task).finds_spans

    def target(self, side: Side) -> dict[str, Any] | None:
        """The fields of a question about what is explained; None where there is nothing."""
        if self.is_of_mask(side):
            return self._mask(side)
        if not has_target(side):
            return None
        labels = self.labels(side)
        label = self.study.label or ""
        if self.finds_spans(side):
            return {"label": self.end}
        position = None
        if side.task is not None and head_of(side.task).reads_tokens:
            position = self.study.on_side(side.number, self.study.picked)
            if not 0 <= position < len(side.tokens) or side.tokens[position].special:
                position = None
        against = self.against if self.against in labels else ""
        return {
            "label": label if label in labels else "",
            "against": against,
            "position": position,
        }

    def _mask(self, side: Side) -> dict[str, Any] | None:
        """Of the selected masked token, or of the first."""
        places = [n for n in range(len(side.tokens)) if side.is_masked(n) or side.is_typed_mask(n)]
        if not places:
            return None
        picked = self.study.on_side(side.number, self.study.picked)
        return {
            "head": "mlm",
            "label": self.token,
            "against": self.against,
            "position": picked if picked in places else places[0],
        }

    def _on_model(self) -> None:
        """Classes of another model are others; those of another step of its training are not."""
        if self.study.is_over_training:
            return
        self.against = ""
        self._wants_mask = False
        self.changed.emit()


def has_target(side: Side) -> bool:
    """Whether the model has a task whose score can be explained here.

    Choices are typed where they are predicted, so those are explained there.
    """
    return side.task is not None and not head_of(side.task).scores_choices
