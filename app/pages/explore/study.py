"""The one text, model and selection that all panels share.

The text is tokenised here, without the explorer, so the strip of tokens is there at once. Masks are
kept as stretches of characters: they stay with their words while the text around them is edited.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from PySide6.QtCore import QObject, QTimer, Signal

from app import background
from app.library import ModelEntry
from engine.data.tokenizer import Encoding, Tokenizer
from engine.errors import StudioError
from engine.messages import Token
from engine.spec.task import HeadKind

TYPING_PAUSE = 150  # ms without a key before anything is asked
LONGEST = 512  # tokens that the explorer looks at
MOST_CHARACTERS = 10_000  # of a text; more than any model here reads, and quick to lay out

HEADS: tuple[HeadKind, ...] = get_args(HeadKind)
Stretch = tuple[int, int]  # characters from, to


class Study(QObject):
    """What is looked at.

    Signals:
        tokens_changed: the tokens, or which of them are masked.
        settled: the text is at rest and its tokens are known: now is the time to ask.
        model_changed: another model, or none.
        picked_changed: the number of the picked token, -1 for none.
        pointed_changed: likewise for the token under the mouse.
        problem_changed: the sentence that says why there are no tokens, or nothing.
    """

    tokens_changed = Signal()
    settled = Signal()
    model_changed = Signal()
    picked_changed = Signal(int)
    pointed_changed = Signal(int)
    problem_changed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model: ModelEntry | None = None
        self.texts: tuple[str, ...] = ("",)  # one, or two
        self.tokens: tuple[Token, ...] = ()
        self.cut = False
        self.picked = -1
        self.pointed = -1
        self._masks: tuple[set[Stretch], ...] = (set(), set())  # of each text
        self._words: dict[tuple[int, int], list[int]] = {}  # tokens of each segment's words
        self._tokenizer: Tokenizer | None = None
        self._work: background.Job | None = None
        self._known = False  # whether the tokens are those of the texts
        self._pause = QTimer(self, singleShot=True, interval=TYPING_PAUSE)
        self._pause.timeout.connect(self._settle)

    # ── what is asked about ──────────────────────────────────────────────────────────────────

    @property
    def checkpoint(self) -> Path | None:
        return self.model.path if self.model else None

    @property
    def text(self) -> str:
        return self.texts[0]

    @property
    def pair(self) -> str | None:
        return self.texts[1] if len(self.texts) > 1 else None

    @property
    def masked(self) -> tuple[int, ...]:
        """Numbers of the tokens that are hidden; those typed as a mask are not among them."""
        return tuple(n for n in range(len(self.tokens)) if self.is_masked(n))

    @property
    def mask(self) -> str:
        """What is typed for a mask in this model's texts."""
        tokenizer = self._tokenizer
        return "[MASK]" if tokenizer is None else tokenizer.piece(tokenizer.mask)

    @property
    def is_settled(self) -> bool:
        return self._known and not self._pause.isActive()

    @property
    def head(self) -> HeadKind | None:
        """What the model was fine-tuned to answer; None where it was not, or there is no model."""
        return next((kind for kind in HEADS if self.has_head(kind)), None)

    def has_head(self, name: str) -> bool:
        """Whether the model has “masked words”, “classes”, …; False while there is no model."""
        return bool(self.model and self.model.info and name in self.model.info.task_heads)

    def is_masked(self, number: int) -> bool:
        token = self.tokens[number]
        stretches = self._masks[token.segment] if token.segment < 2 else set()
        return not token.special and any(
            start <= token.start and token.end <= end for start, end in stretches
        )

    def is_typed_mask(self, number: int) -> bool:
        return self._tokenizer is not None and self.tokens[number].id == self._tokenizer.mask

    def is_unknown(self, number: int) -> bool:
        return self._tokenizer is not None and self.tokens[number].id == self._tokenizer.unknown

    def typed(self, number: int) -> str:
        """The characters that a token stands for; of a special one its name."""
        token = self.tokens[number]
        if token.special or token.segment >= len(self.texts):
            return token.text
        return self.texts[token.segment][token.start : token.end]

    def word(self, number: int) -> tuple[int, ...]:
        """The numbers of all tokens of this token's word; of a special token itself alone."""
        return tuple(self._words.get(self._key(number), (number,)))

    # ── what the user does ───────────────────────────────────────────────────────────────────

    def choose_model(self, model: ModelEntry | None) -> None:
        """Look through another model; its tokens may be others."""
        if model == self.model:
            return
        self.model, self._tokenizer, self.tokens = model, None, ()
        self._known = False
        self.pick(-1)
        self.model_changed.emit()
        self.tokens_changed.emit()
        if self._work is not None:
            self._work.cancel()
        if model is not None:
            path = model.path
            self._work = background.run(
                self, lambda: Tokenizer.from_folder(path), self._on_tokenizer, self._on_failed
            )

    def set_texts(self, text: str, pair: str | None = None) -> None:
        """Look at another text or pair; lone surrogates, which JSON cannot hold, are replaced."""
        new = tuple(cleaned(each) for each in (text, pair) if each is not None)
        if new == self.texts:
            return
        for segment, masks in enumerate(self._masks):
            old = self.texts[segment] if segment < len(self.texts) else ""
            moved = shifted(masks, old, new[segment] if segment < len(new) else "")
            masks.clear()
            masks.update(moved)
        self.texts = new
        self._known = False
        self._pause.start()
        self._tokenise()

    def toggle_mask(self, number: int) -> None:
        """Hide the whole word of a token, or show it again; special tokens stay as they are."""
        if not self._known or not 0 <= number < len(self.tokens):
            return
        if self.tokens[number].special or self.is_typed_mask(number):
            return
        stretch = self._stretch(self.word(number))
        self._masks[self.tokens[number].segment].symmetric_difference_update({stretch})
        self.tokens_changed.emit()
        self._settle()

    def unmask_all(self) -> None:
        """Show every hidden word again."""
        if any(self._masks):
            for masks in self._masks:
                masks.clear()
            self.tokens_changed.emit()
            self._settle()

    def pick(self, number: int) -> None:
        if number != self.picked:
            self.picked = number
            self.picked_changed.emit(number)

    def point(self, number: int) -> None:
        if number != self.pointed:
            self.pointed = number
            self.pointed_changed.emit(number)

    # ── tokens ───────────────────────────────────────────────────────────────────────────────

    def _on_tokenizer(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokenise()

    def _tokenise(self) -> None:
        """Off the window's thread; only the newest text's tokens are taken."""
        tokenizer, model = self._tokenizer, self.model
        if tokenizer is None or model is None:
            return
        if self._work is not None:
            self._work.cancel()
        text, pair = self.text, self.pair
        longest = min(model.info.positions, LONGEST) if model.info else LONGEST
        self._work = background.run(
            self, lambda: tokenizer.encode(text, pair, longest), self._on_tokens, self._on_failed
        )

    def _on_tokens(self, encoded: Encoding) -> None:
        self._work = None
        self.tokens, self.cut, self._known = encoded.tokens, encoded.cut, True
        self._words = {}
        for number in range(len(self.tokens)):
            self._words.setdefault(self._key(number), []).append(number)
        for segment, masks in enumerate(self._masks):  # a word that grew is another word
            whole = {self._stretch(w) for (of, _), w in self._words.items() if of == segment}
            masks.intersection_update(whole)
        if self.picked >= len(self.tokens):
            self.pick(-1)
        self.problem_changed.emit("")
        self.tokens_changed.emit()
        if not self._pause.isActive():
            self._settle()

    def _on_failed(self, error: BaseException) -> None:
        self._work = None
        if not isinstance(error, StudioError):
            raise error
        self.problem_changed.emit(str(error))

    def _settle(self) -> None:
        self._pause.stop()
        if self._known:
            self.settled.emit()

    def _key(self, number: int) -> tuple[int, int]:
        """Segment and word of a token; a special token is alone."""
        token = self.tokens[number]
        return token.segment, -1 - number if token.word is None else token.word

    def _stretch(self, numbers: Sequence[int]) -> Stretch:
        return self.tokens[numbers[0]].start, self.tokens[numbers[-1]].end


def shifted(stretches: set[Stretch], old: str, new: str) -> set[Stretch]:
    """Stretches of `old` where they stand in `new`; those that an edit touched are gone."""
    if old == new or not stretches:
        return set(stretches)
    least = min(len(old), len(new))
    before = next((n for n in range(least) if old[n] != new[n]), least)
    rest = least - before
    after = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    moved = len(new) - len(old)
    kept = {(start, end) for start, end in stretches if end <= before}
    return kept | {
        (start + moved, end + moved) for start, end in stretches if start >= len(old) - after
    }


def cleaned(text: str) -> str:
    """At most so many characters as the page takes, and none that JSON cannot carry."""
    return text[:MOST_CHARACTERS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
