"""Third step: the base model: a checkpoint, or a new network of some size."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QStackedWidget,
    QWidget,
)

from app.library import ModelEntry
from app.pages.train.also import also_models
from app.pages.train.estimate_box import EstimateBox
from app.pages.train.estimate_texts import verdict, verdict_word
from app.pages.train.pickers import Pick, PickList
from app.pages.train.scratch_form import ScratchForm
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.facts import Facts
from app.widgets.page import Card, scrolling
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from app.widgets.text.run_texts import past_of, score_of
from engine.checkpoints.outline import outline, parameters


class BaseModelStep(QWidget):
    """Models or sizes on the left; facts and the verdict on the right.

    Signals:
        import_wanted: the user wants to bring in a model.
        get_wanted: the user wants one from elsewhere.
    """

    import_wanted = Signal()
    get_wanted = Signal()

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self.list = PickList(self.tr("Models"))
        self.list.picked.connect(self._on_picked)
        self.scratch = ScratchForm(state)
        self._left = QStackedWidget()
        self._left.addWidget(self._models())
        self._left.addWidget(scrolling(self.scratch))
        self._facts = Facts(self.tr("About this model"))
        self.about = Card(self.tr("About this model"))
        self.about.body.addWidget(self._facts)
        right = layouts.column(self.about, EstimateBox(state), layouts.STRETCH, spacing=4 * SPACE)
        layouts.row((self._left, 4), (right, 3), parent=self, spacing=5 * SPACE)
        state.lists.changed.connect(self._show)
        state.changed.connect(self._show)
        state.estimate.changed.connect(self._show)
        self._show()

    def focus(self) -> None:
        """Give the keyboard to the list of models, or to the sizes."""
        if self._state.choices.from_scratch:
            self.scratch.focus()
        else:
            self.list.setFocus()

    def _models(self) -> QWidget:
        whole = QWidget()
        column = layouts.column(parent=whole, spacing=2 * SPACE)
        head = layouts.row(
            (Text(self.tr("Models"), "heading"), 1),
            buttons.plain(self.tr("&Import…"), self.import_wanted.emit, "import"),
            buttons.plain(self.tr("&Get a model…"), self.get_wanted.emit, "plus"),
        )
        self._none = Text(self.tr("No models yet. Import one to fine-tune it."), "muted")
        column.addLayout(head)
        column.addWidget(self._none)
        column.addWidget(self.list, 1)
        self.also = also_models(self._state)
        column.addWidget(self.also)
        return whole

    def _show(self) -> None:
        choices = self._state.choices
        self._left.setCurrentIndex(1 if choices.from_scratch else 0)
        entries = self._state.lists.models
        self._none.setVisible(entries is not None and not entries)
        chosen = choices.model.path if choices.model else None
        self.list.show_picks([self._pick(entry) for entry in entries or ()], chosen)
        self._facts.show_facts(self._what())

    def _pick(self, entry: ModelEntry) -> Pick:
        if entry.info is None:
            return Pick(entry.path, entry.name, "", reason=entry.problem)
        info = entry.info
        facts = [  # cut in the middle, where most are the same
            self._origin(entry),
            score_of(entry),
            self.tr("{0} layers × {1}").format(info.layers, info.hidden_size),
            self.tr("{0} parameters").format(numbers.short(info.parameters)),
            *past_of(entry),
        ]
        chosen = self._state.choices.model
        estimate = self._state.estimate.found if chosen and chosen.path == entry.path else None
        return Pick(
            entry.path,
            entry.name,
            " · ".join(fact for fact in facts if fact),
            verdict=verdict_word(estimate) if estimate else "",
            warns=estimate is not None and verdict(estimate) != "fits",
        )

    def _origin(self, entry: ModelEntry) -> str:
        match entry.origin:
            case "included":
                return self.tr("included with BERT Studio")
            case "imported":
                return self.tr("imported")
            case "elsewhere":
                return self.tr("used in place")
            case "run":
                best, other = self.tr("best checkpoint"), self.tr("latest checkpoint")
                return best if entry.best else other

    def _on_picked(self, path: object) -> None:
        for entry in self._state.lists.models or ():
            if entry.path == path:
                self._state.choose_model(entry)

    def _what(self) -> list[tuple[str, str]]:
        spec = self._state.choices.network
        if spec is None:
            return [(self.tr("Model"), self.tr("none chosen"))]
        facts = [
            (self.tr("Layers"), numbers.count(spec.layers)),
            (self.tr("Hidden size"), numbers.count(spec.hidden_size)),
            (self.tr("Attention heads"), self.tr("{0} per layer").format(spec.heads)),
            (self.tr("Vocabulary"), self.tr("%Ln token(s)", "", spec.vocab_size)),
            (self.tr("Max. positions"), self.tr("%Ln token(s)", "", spec.max_positions)),
        ]
        choices = self._state.choices
        info = choices.model.info if choices.model else None
        if choices.from_scratch or info is None:
            count = parameters(outline(spec, ("masked words",)))
        else:
            count = info.parameters
            case = self.tr("uncased") if info.lowercase else self.tr("cased")
            facts.append((self.tr("Case"), case))
        facts.append((self.tr("Parameters"), numbers.short(count)))
        return facts
