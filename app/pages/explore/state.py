"""The state that all panels of Explore share: the inputs, and what is selected in them.

One text or pair through one model, or through two to compare; or two texts through one model, the
second of them pinned. The selection (token, target token, layer, head) holds for all panels; token
indices refer to the first input.
"""

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from app.library import ModelEntry
from app.pages.explore.model_input import ModelInput, Span, TextInput, TokenAnchor, edit_input
from app.pages.explore.set_work import ChosenTexts
from app.timers import debounced
from engine.phrases import join

T = TypeVar("T")
TYPING_PAUSE_MS = 150  # from the last key until a question is asked


class ExploreState(QObject):
    """The inputs, `first` and `second`, and the selection.

    Signals:
        tokens_changed: the tokens of an input, or which of them are masked.
        settled: typing has paused and all tokens are known, so questions can be asked.
        model_changed: another first model, or none, or another step of its training.
        sides_changed: a comparison began, changed or ended.
        picked_changed: index of the selected token, -1 for none.
        target_changed: index of the target (key) token, -1 for none.
        hovered_changed: index of the token under the mouse, -1 for none.
        head_changed: layer and head, from 0; a panel whose model has fewer uses its last.
        heads_off_changed: heads were switched off or on, or their replacement changed.
        label_changed: another class is explained.
        choices_changed: a row with other choices is shown.
        problem_changed: why there are no tokens, or “”.
        model_requested: a panel asks for the model in this folder.
        input_requested: a panel asks to show this TextInput.
        vectors_requested: a panel asks to import word vectors.
        vectors_chosen: compare in the word vectors in this folder.
        comparison_requested: a panel asks for a second model.
        chosen_changed: another set of texts.
        page_hidden: unsaved input should be saved.
    """

    tokens_changed = Signal()
    settled = Signal()
    model_changed = Signal()
    sides_changed = Signal()
    picked_changed = Signal(int)
    target_changed = Signal(int)
    hovered_changed = Signal(int)
    head_changed = Signal(int, int)
    heads_off_changed = Signal()
    label_changed = Signal()
    choices_changed = Signal()
    problem_changed = Signal(str)
    model_requested = Signal(object)
    input_requested = Signal(object)
    vectors_requested = Signal()
    vectors_chosen = Signal(object)
    comparison_requested = Signal()
    chosen_changed = Signal()
    page_hidden = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.first, self.second = ModelInput(0, self), ModelInput(1, self)
        self.both = (self.first, self.second)
        self.pinned: TextInput | None = None  # the second input, if it has another text
        self.is_exact = False
        self.is_browsing_snapshots = False  # stepping through the snapshots of a run
        self.picked = self.target = self.hovered = -1
        self.layer = self.head = 0
        self.label: str | None = None  # class to explain; "": the predicted one, None: none
        self.choices: tuple[str, ...] = ()  # for multiple choice
        self.chosen: ChosenTexts | None = None
        self.means_texts: ChosenTexts | None = None  # averaged to replace heads that are off
        self._picked_anchor: TokenAnchor | None = None
        self._target_anchor: TokenAnchor | None = None
        self._maxima: dict[tuple[str, TextInput], float] = {}
        self._is_updating = False  # both inputs are being set
        self._pause = debounced(self, TYPING_PAUSE_MS, self._settle)
        for side in self.both:
            side.tokens_changed.connect(self._on_tokens)
            side.problem_changed.connect(self._on_problem)
        self.first.model_changed.connect(self.model_changed)

    @property
    def sides(self) -> tuple[ModelInput, ...]:
        """The inputs in use: the second one only while comparing."""
        return self.both if self.is_compared else self.both[:1]

    @property
    def is_compared(self) -> bool:
        return self.second.model is not None

    @property
    def is_ablated(self) -> bool:
        """True if the first model is compared with itself with all heads."""
        is_same = self.first.checkpoint == self.second.checkpoint and self.pinned is None
        return is_same and bool(self.first.heads_off)

    @property
    def side_titles(self) -> tuple[str, str]:
        """Headings of the two models."""
        if self.is_ablated:
            return self.tr("Ablated"), self.tr("Intact")
        return self.tr("First model"), self.tr("Second model")

    @property
    def difference_title(self) -> str:
        """Names of the two models, the subtracted one last."""
        return self.tr("Ablated − intact") if self.is_ablated else self.tr("Second − first")

    def in_order(self, first: T, second: T) -> tuple[T, T]:
        """Results of the two sides, of which the first is subtracted from the second."""
        return (second, first) if self.is_ablated else (first, second)

    @property
    def is_settled(self) -> bool:
        """True if typing has paused and all tokens are known, or known to be missing."""
        is_pending = any(not side.is_tokenized and not side.problem for side in self.sides)
        return self.first.is_tokenized and not is_pending and not self._pause.isActive()

    def on_side(self, side: int, index: int) -> int:
        """Index of the token of input `side` that matches a token of the first input, or -1."""
        shown = self.both[side]
        if side == 0 or not 0 <= index < len(self.first.tokens):
            return index
        if shown.texts != self.first.texts:
            return -1
        return shown.counterpart(self.first.tokens[index])

    def from_side(self, side: int, index: int) -> int:
        """The reverse of `on_side`."""
        shown = self.both[side]
        if side == 0 or not 0 <= index < len(shown.tokens):
            return index
        if shown.texts != self.first.texts:
            return -1
        return self.first.counterpart(shown.tokens[index])

    # ── models ───────────────────────────────────────────────────────────────────────────────

    def choose_model(self, model: ModelEntry | None) -> None:
        """Choose the first model; the selection is cleared."""
        if model == self.first.model:
            return
        self._picked_anchor = self._target_anchor = None
        self.pick(-1)
        self.pick_target(-1)
        if self.is_ablated:
            self.compare(None)
        self._switch_all_on()
        self.is_browsing_snapshots = False
        self._maxima.clear()
        self.first.choose_model(model)

    def step_to(self, model: ModelEntry) -> None:
        """Show the same model at another training step.

        Tokens and selection stay, and so do the results until there are new ones.
        """
        is_ablated = self.is_ablated
        self.first.step_to(model)
        if is_ablated:
            self.second.step_to(self._with_all_heads(model))
        self.is_browsing_snapshots = True
        self.model_changed.emit()
        if is_ablated:
            self.sides_changed.emit()
        self._emit_if_settled()

    def running_max(self, name: str, value: float) -> float:
        """The largest value of a quantity over the training steps shown so far; else the value.

        Scales end there, so that steps can be compared.
        """
        if not self.is_browsing_snapshots:
            return value
        key = (name, self.first.input)
        self._maxima[key] = max(value, self._maxima.get(key, value))
        return self._maxima[key]

    def compare(self, model: ModelEntry | None, pinned: TextInput | None = None) -> None:
        """Compare with a second model or a pinned input; None ends the comparison."""
        if (model, pinned) == (self.second.model, self.pinned):
            return
        if model is None:
            self._switch_all_on()
        self.pinned = pinned if model is not None else None
        self.second.set_input(self.pinned or self.first.input)
        self.second.choose_model(model)
        self.sides_changed.emit()
        self.tokens_changed.emit()
        self._settle_after_typing()

    def switch_head(self, layer: int, head: int) -> None:
        """Switch a head of the first model off, or on again.

        Without another comparison, it is compared with the same model with all heads.
        """
        off = set(self.first.heads_off) ^ {(layer, head)}
        if not off and self.is_ablated:
            self.compare(None)  # which switches it on
        else:
            self.first.heads_off = tuple(sorted(off))
            if self.first.model is not None and not self.is_compared:
                self.compare(self._with_all_heads(self.first.model))
            self.heads_off_changed.emit()
        self._emit_if_settled()

    def _with_all_heads(self, model: ModelEntry) -> ModelEntry:
        return replace(model, name=self.tr("{0} (intact)").format(model.name))

    def replace_heads(self, means: Path | None, texts: ChosenTexts | None) -> None:
        """Replace heads that are off by their means over these texts; None: by zero."""
        if means != self.first.head_means:
            self.first.head_means, self.means_texts = means, texts
            if self.first.heads_off:
                self.heads_off_changed.emit()
                self._emit_if_settled()

    def _switch_all_on(self) -> None:
        self.first.head_means = self.means_texts = None
        if self.first.heads_off:
            self.first.heads_off = ()
            self.heads_off_changed.emit()

    # ── text and masks ───────────────────────────────────────────────────────────────────────

    def set_texts(self, text: str, pair: str | None = None) -> None:
        """Read another text or pair; masks of unedited words stay."""
        self.set_input(edit_input(self.first.input, text, pair))

    def set_input(self, new: TextInput) -> None:
        if new == self.first.input:
            return
        if new.texts != self.first.input.texts:
            self._pause.start()
        self._set_inputs(new)

    def toggle_mask(self, index: int, only_token: bool = False) -> None:
        """Mask or unmask the word of a token; with `only_token`, just the token.

        Special tokens stay as they are.
        """
        if not self.first.is_tokenized or not 0 <= index < len(self.first.tokens):
            return
        token = self.first.tokens[index]
        if token.special or self.first.is_typed_mask(index):
            return
        token_span = token.start, token.end
        span = token_span if only_token else self.first.word_span(index)
        masks = list(self.first.input.masks)
        spans = masks[token.segment]
        covering = {mask for mask in spans if _contains(mask, token_span)}
        if covering:
            masks[token.segment] = spans - covering
        else:
            others = frozenset(mask for mask in spans if not _contains(span, mask))
            masks[token.segment] = others | {span}
        self._pause.stop()
        self._set_inputs(TextInput(self.first.text, self.first.pair, (masks[0], masks[1])))

    def unmask_all(self) -> None:
        if any(self.first.input.masks):
            self._pause.stop()
            self._set_inputs(TextInput(self.first.text, self.first.pair))

    # ── selection ────────────────────────────────────────────────────────────────────────────

    def pick(self, index: int) -> None:
        """Select a token, -1 for none."""
        if self.first.is_tokenized:
            self._picked_anchor = self.first.anchor(index)
        if index != self.picked:
            self.picked = index
            self.picked_changed.emit(index)

    def pick_target(self, index: int) -> None:
        """Select the target (key) token, -1 for none."""
        if self.first.is_tokenized:
            self._target_anchor = self.first.anchor(index)
        if index != self.target:
            self.target = index
            self.target_changed.emit(index)

    def hover(self, index: int) -> None:
        """Set the token under the mouse, -1 for none."""
        if index != self.hovered:
            self.hovered = index
            self.hovered_changed.emit(index)

    def pick_head(self, layer: int, head: int) -> None:
        if (layer, head) != (self.layer, self.head):
            self.layer, self.head = layer, head
            self.head_changed.emit(layer, head)

    def choose_label(self, label: str | None) -> None:
        """Choose the class to explain; “”: the predicted one, None: none."""
        if label != self.label:
            self.label = label
            self.label_changed.emit()

    def offer_choices(self, choices: tuple[str, ...]) -> None:
        """Set the choices of a multiple-choice model; the user can edit them."""
        self.choices = choices
        self.choices_changed.emit()

    def choose_texts(self, chosen: ChosenTexts | None) -> None:
        if chosen != self.chosen:
            self.chosen = chosen
            self.chosen_changed.emit()

    def set_exact(self, exact: bool) -> None:
        """Require exact answers, or allow faster ones that agree."""
        if exact != self.is_exact:
            self.is_exact = exact
            self._emit_if_settled()

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def _set_inputs(self, new: TextInput) -> None:
        """Set both inputs, unless the second is pinned, as one change."""
        old = self.first.input
        self._picked_anchor = self._picked_anchor and self._picked_anchor.move(old, new)
        self._target_anchor = self._target_anchor and self._target_anchor.move(old, new)
        self._is_updating = True
        self.first.set_input(new)
        if self.pinned is None:
            self.second.set_input(new)
        self._is_updating = False
        if new.texts == old.texts:
            self._on_tokens()

    def _on_tokens(self) -> None:
        if self._is_updating:
            return
        if self.first.is_tokenized:
            valid = self.first.valid_masks(self.first.input.masks)
            if valid != self.first.input:
                self._set_inputs(valid)  # which comes back here
                return
            self.pick(self.first.find(self._picked_anchor))
            self.pick_target(self.first.find(self._target_anchor))
        self.tokens_changed.emit()
        self._settle_after_typing()

    def _on_problem(self) -> None:
        self.problem_changed.emit(join(" ", (s.problem for s in self.sides if s.problem)))
        self._settle_after_typing()

    def _settle_after_typing(self) -> None:
        if not self._pause.isActive():
            self._settle()

    def _settle(self) -> None:
        self._pause.stop()
        self._emit_if_settled()

    def _emit_if_settled(self) -> None:
        if self.is_settled:
            self.settled.emit()


def _contains(outer: Span, inner: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
