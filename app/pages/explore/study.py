"""The one thing that all panels share: what is read, and what of it is picked.

One text or pair through one model, or through two side by side; or two texts through one model, of
which the second is pinned. What is picked, a token, a layer, a head and a target, holds for all
panels; tokens are counted in the first side.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.library import ModelEntry
from app.pages.explore.set_work import ChosenTexts
from app.pages.explore.side import Input, Mark, Side, Stretch, edited
from app.timers import debounced
from engine.messages.explore.text import Token
from engine.phrases import join
from engine.tokenizers.tokenizer import Tokenizer

TYPING_PAUSE_MS = 150  # ms without a key before anything is asked


class Study(QObject):
    """What is read. Its properties tell of the first side; `sides` has one or two.

    Signals:
        tokens_changed: the tokens of a side, or which of them are masked.
        settled: the texts are at rest and their tokens are known: now is the time to ask.
        model_changed: another model on the first side, or none, or another step of its training.
        sides_changed: there is something to compare with, or no more, or it is another.
        picked_changed: the number of the picked token, -1 for none.
        target_changed: likewise for the other token of a pair: the one that the picked attends to.
        pointed_changed: likewise for the token under the mouse.
        head_changed: layer and head, from 0; a panel whose model has fewer takes its last.
        heads_off_changed: a head was switched off or on, or something else is in its place.
        label_changed: another class is to be explained.
        choices_changed: a row with other choices is looked at.
        problem_changed: the sentence that says why there are no tokens, or nothing.
        model_wanted: a panel asks for the model in this folder.
        input_wanted: a panel asks to show this Input.
        chosen_changed: other texts are chosen to be worked on together.
        left: the user leaves the page: the moment to keep what would be lost.
    """

    tokens_changed = Signal()
    settled = Signal()
    model_changed = Signal()
    sides_changed = Signal()
    picked_changed = Signal(int)
    target_changed = Signal(int)
    pointed_changed = Signal(int)
    head_changed = Signal(int, int)
    heads_off_changed = Signal()
    label_changed = Signal()
    choices_changed = Signal()
    problem_changed = Signal(str)
    model_wanted = Signal(object)
    input_wanted = Signal(object)
    chosen_changed = Signal()
    left = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.is_exact = False
        self.picked = -1
        self.target = -1
        self.pointed = -1
        self._marks: dict[str, Mark | None] = {"picked": None, "target": None}
        self.layer = 0
        self.head = 0
        self.label: str | None = None  # class to be explained; "": the predicted one, None: none
        self.choices: tuple[str, ...] = ()  # of the row that is looked at, for multiple choice
        self.chosen: ChosenTexts | None = None
        self.means_of: ChosenTexts | None = None  # texts of the means in the place of heads
        self.pinned: Input | None = None  # what the second side reads, if not the same text
        self.both = (Side(0, self), Side(1, self))  # the second without a model: not compared
        self._first, self._second = self.both
        self.is_over_training = False  # whether one moves through the snapshots of a run
        self._held: dict[tuple[str, Input], float] = {}  # where scales end, meanwhile
        self._is_giving = False
        self._compares_heads = False  # the second side is the same model with all heads
        self._pause = debounced(self, TYPING_PAUSE_MS, self._settle)
        for side in self.both:
            side.tokens_changed.connect(self._on_tokens)
            side.problem_changed.connect(self._on_problem)
        self._first.model_changed.connect(self.model_changed)

    # ── what is read ─────────────────────────────────────────────────────────────────────────

    @property
    def sides(self) -> tuple[Side, ...]:
        """The first side, and the second where something is compared."""
        return self.both if self._second.model is not None else self.both[:1]

    @property
    def is_compared(self) -> bool:
        return len(self.sides) > 1

    @property
    def model(self) -> ModelEntry | None:
        return self._first.model

    @property
    def checkpoint(self) -> Path | None:
        return self._first.checkpoint

    @property
    def input(self) -> Input:
        return self._first.input

    @property
    def texts(self) -> tuple[str, ...]:
        return self._first.texts

    @property
    def text(self) -> str:
        return self._first.text

    @property
    def pair(self) -> str | None:
        return self._first.pair

    @property
    def tokens(self) -> tuple[Token, ...]:
        return self._first.tokens

    @property
    def cut(self) -> bool:
        return self._first.cut

    @property
    def masked(self) -> tuple[int, ...]:
        return self._first.masked

    @property
    def mask(self) -> str:
        return self._first.mask

    @property
    def heads_off(self) -> tuple[tuple[int, int], ...]:
        return self._first.heads_off

    @property
    def ablation(self) -> dict[str, Any]:
        return self._first.ablation

    @property
    def tokenizer(self) -> Tokenizer | None:
        return self._first.tokenizer

    @property
    def task(self) -> str | None:
        return self._first.task

    @property
    def is_settled(self) -> bool:
        waits = any(not side.is_known and not side.problem for side in self.sides)
        return self._first.is_known and not waits and not self._pause.isActive()

    def has_head(self, name: str) -> bool:
        return self._first.has_head(name)

    def is_masked(self, number: int) -> bool:
        return self._first.is_masked(number)

    def is_typed_mask(self, number: int) -> bool:
        return self._first.is_typed_mask(number)

    def seen(self, number: int) -> str:
        return self._first.seen(number)

    def is_unknown(self, number: int) -> bool:
        return self._first.is_unknown(number)

    def typed(self, number: int) -> str:
        return self._first.typed(number)

    def word(self, number: int) -> tuple[int, ...]:
        return self._first.word(number)

    def on_side(self, side: int, number: int) -> int:
        """A token of the first side on another: that of the same characters, or -1."""
        shown = self.both[side]
        if side == 0 or not 0 <= number < len(self.tokens):
            return number
        return shown.counterpart(self.tokens[number]) if shown.texts == self.texts else -1

    def from_side(self, side: int, number: int) -> int:
        """A token of a side on the first one, likewise."""
        shown = self.both[side]
        if side == 0 or not 0 <= number < len(shown.tokens):
            return number
        return self._first.counterpart(shown.tokens[number]) if shown.texts == self.texts else -1

    # ── what the user does ───────────────────────────────────────────────────────────────────

    def choose_model(self, model: ModelEntry | None) -> None:
        """Look through another model; its tokens may be others."""
        if model != self.model:
            self._marks = dict.fromkeys(self._marks)
            self.pick(-1)
            self.pick_target(-1)
            self._switch_all_on()
            if self._compares_heads:
                self.compare(None)
            self.is_over_training = False
            self._held.clear()
            self._first.choose_model(model)

    def step_to(self, model: ModelEntry) -> None:
        """Look through the same model at another step of its training.

        The tokens stay, and so does all that is selected, and what is shown until there is more.
        """
        self._first.step_to(model)
        if self._compares_heads:
            self._second.step_to(self._with_all_heads(model))
        self.is_over_training = True
        self.model_changed.emit()
        if self._compares_heads:
            self.sides_changed.emit()
        if self.is_settled:
            self.settled.emit()

    def held(self, name: str, value: float) -> float:
        """The largest value of a name so far, while one moves through a training; else the value.

        Where a scale ends: as far as any step needed it, so that steps can be compared.
        """
        if not self.is_over_training:
            return value
        key = (name, self.input)
        self._held[key] = max(value, self._held.get(key, value))
        return self._held[key]

    def compare(self, model: ModelEntry | None, pinned: Input | None = None) -> None:
        """Put a second model beside the first, or a pinned input; None takes it away."""
        if (model, pinned) == (self._second.model, self.pinned):
            return
        self._compares_heads = False
        if model is None:
            self._switch_all_on()
        self.pinned = pinned if model is not None else None
        self._second.look_at(self.pinned or self.input)
        self._second.choose_model(model)
        self.sides_changed.emit()
        self.tokens_changed.emit()
        self._settle_if_at_rest()

    def switch_head(self, layer: int, head: int) -> None:
        """Switch a head of the first side off, or on again.

        Where nothing else is compared, the same model with all heads is put beside it.
        """
        off = set(self._first.heads_off) ^ {(layer, head)}
        if not off and self._compares_heads:
            self.compare(None)  # which switches it on
        else:
            self._first.heads_off = tuple(sorted(off))
            if self._first.model is not None and not self.is_compared:
                self.compare(self._with_all_heads(self._first.model))
                self._compares_heads = True
            self.heads_off_changed.emit()
        if self.is_settled:
            self.settled.emit()

    def _with_all_heads(self, model: ModelEntry) -> ModelEntry:
        return replace(model, name=self.tr("{0} (all heads)").format(model.name))

    def replace_heads(self, means: Path | None, texts: ChosenTexts | None) -> None:
        """Put the means over these texts in the place of the heads that are off; None: zero."""
        if means != self._first.head_means:
            self._first.head_means, self.means_of = means, texts
            if self._first.heads_off:
                self.heads_off_changed.emit()
                if self.is_settled:
                    self.settled.emit()

    def _switch_all_on(self) -> None:
        self._first.head_means = self.means_of = None
        if self._first.heads_off:
            self._first.heads_off = ()
            self.heads_off_changed.emit()

    def set_texts(self, text: str, pair: str | None = None) -> None:
        """Read another text or pair; lone surrogates, which JSON cannot hold, are replaced."""
        self.look_at(edited(self.input, text, pair))

    def look_at(self, new: Input) -> None:
        """Read another input with its masked words."""
        if new == self.input:
            return
        if new.texts != self.input.texts:
            self._pause.start()
        self._give(new)

    def toggle_mask(self, number: int, alone: bool = False) -> None:
        """Mask the word of a token, or the token `alone`; or unmask what masks it.

        Special tokens stay as they are.
        """
        if not self._first.is_known or not 0 <= number < len(self.tokens):
            return
        token = self.tokens[number]
        if token.special or self.is_typed_mask(number):
            return
        place = token.start, token.end
        word = place if alone else self._first.stretch(number)
        masks = list(self.input.masks)
        here = masks[token.segment]
        hiding = {mask for mask in here if _holds(mask, place)}
        if hiding:
            masks[token.segment] = here - hiding
        else:
            apart = frozenset(mask for mask in here if not _holds(word, mask))
            masks[token.segment] = apart | {word}
        self._pause.stop()
        self._give(Input(self.text, self.pair, (masks[0], masks[1])))

    def unmask_all(self) -> None:
        """Unmask every word."""
        if any(self.input.masks):
            self._pause.stop()
            self._give(Input(self.text, self.pair))

    def set_exact(self, exact: bool) -> None:
        """Whether answers must be exact, or may come from numbers that agree and are faster."""
        if exact != self.is_exact:
            self.is_exact = exact
            if self.is_settled:
                self.settled.emit()

    def pick(self, number: int) -> None:
        if self._first.is_known:
            self._marks["picked"] = self._first.mark(number)
        if number != self.picked:
            self.picked = number
            self.picked_changed.emit(number)

    def pick_target(self, number: int) -> None:
        if self._first.is_known:
            self._marks["target"] = self._first.mark(number)
        if number != self.target:
            self.target = number
            self.target_changed.emit(number)

    def pick_head(self, layer: int, head: int) -> None:
        if (layer, head) != (self.layer, self.head):
            self.layer, self.head = layer, head
            self.head_changed.emit(layer, head)

    def choose_label(self, label: str | None) -> None:
        """Let a class be explained; “” is whatever is predicted, None nothing."""
        if label != self.label:
            self.label = label
            self.label_changed.emit()

    def offer_choices(self, choices: tuple[str, ...]) -> None:
        """Let a model for multiple choice choose from these, which can be edited."""
        self.choices = choices
        self.choices_changed.emit()

    def choose_texts(self, chosen: ChosenTexts | None) -> None:
        """Let panels that work on many texts work on these."""
        if chosen != self.chosen:
            self.chosen = chosen
            self.chosen_changed.emit()

    def point(self, number: int) -> None:
        if number != self.pointed:
            self.pointed = number
            self.pointed_changed.emit(number)

    # ── what changes ─────────────────────────────────────────────────────────────────────────

    def _give(self, new: Input) -> None:
        """Both sides read the same, unless the second is pinned; they are told of as one."""
        only_masks = new.texts == self.texts
        for name, mark in self._marks.items():
            self._marks[name] = mark and mark.moved(self.input, new)
        self._is_giving = True
        self._first.look_at(new)
        if self.pinned is None:
            self._second.look_at(new)
        self._is_giving = False
        if only_masks:
            self._on_tokens()

    def _on_tokens(self) -> None:
        if self._is_giving:
            return
        if self._first.is_known:
            left = self._first.maskable(self.input.masks)
            if left != self.input:
                self._give(left)  # which comes back here
                return
            self.pick(self._first.find(self._marks["picked"]))
            self.pick_target(self._first.find(self._marks["target"]))
        self.tokens_changed.emit()
        self._settle_if_at_rest()

    def _on_problem(self) -> None:
        self.problem_changed.emit(join(" ", (s.problem for s in self.sides if s.problem)))
        self._settle_if_at_rest()

    def _settle_if_at_rest(self) -> None:
        if not self._pause.isActive():
            self._settle()

    def _settle(self) -> None:
        self._pause.stop()
        if self.is_settled:
            self.settled.emit()


def _holds(outer: Stretch, inner: Stretch) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
