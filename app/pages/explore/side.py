"""One text or pair read by one model: its tokens, and which of them are masked.

The text is tokenised here, without the explorer, so the tokens are there at once. Masks are kept as
stretches of characters: they stay with their words while the text around them is edited, and hold
for every model that reads the same text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal

from app import background
from app.library import ModelEntry
from engine.errors import StudioError
from engine.messages.explore.text import TextQuestion, Token
from engine.tokenizers.tokenizer import Encoding, Tokenizer

MAX_TOKENS = 512  # that Explore reads
MAX_CHARACTERS = 10_000  # of a text; more than any model here reads, and quick to lay out

Asked = TypeVar("Asked", bound=TextQuestion)
Stretch = tuple[int, int]  # characters from, to


@dataclass(frozen=True)
class Input:
    """What is read: one text or two, and the spans of each that are masked."""

    text: str = ""
    pair: str | None = None
    masks: tuple[frozenset[Stretch], frozenset[Stretch]] = (frozenset(), frozenset())

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if self.pair is None else (self.text, self.pair)


@dataclass(frozen=True)
class Mark:
    """Which token is meant, whatever is typed before it: by its characters, or, of a special one,
    by its name and how many of the same name stand before it."""

    segment: int
    stretch: Stretch
    special: str = ""
    place: int = 0

    def moved(self, old: Input, new: Input) -> "Mark | None":
        """The same token in another text; None where an edit has touched it."""
        if self.special:
            return self
        if self.segment >= min(len(old.texts), len(new.texts)):
            return None
        before, after = old.texts[self.segment], new.texts[self.segment]
        found = shifted(frozenset({self.stretch}), before, after)
        return replace(self, stretch=next(iter(found))) if found else None


class Side(QObject):
    """What one model makes of the text.

    Signals:
        model_changed: another model, or none.
        input_changed: another text, or other words of it are masked.
        tokens_changed: the tokens are known, or gone, or a word was masked or unmasked.
        problem_changed: the sentence that says why there are no tokens, or nothing.
    """

    model_changed = Signal()
    input_changed = Signal()
    tokens_changed = Signal()
    problem_changed = Signal(str)

    def __init__(self, number: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.number = number  # 0, or 1 for what it is compared with
        self.model: ModelEntry | None = None
        self.input = Input()
        self.tokens: tuple[Token, ...] = ()
        self.cut = False
        self.problem = ""
        self.heads_off: tuple[tuple[int, int], ...] = ()  # layers and heads, from 0
        self.head_means: Path | None = None  # what is in their place; None: zero
        self.is_known = False  # whether the tokens are those of the texts
        self._words: dict[tuple[int, int], list[int]] = {}  # tokens of each segment's words
        self._tokenizer: Tokenizer | None = None
        self._work: background.Job | None = None

    # ── what is asked about ──────────────────────────────────────────────────────────────────

    @property
    def checkpoint(self) -> Path | None:
        return self.model.path if self.model else None

    @property
    def texts(self) -> tuple[str, ...]:
        return self.input.texts

    @property
    def text(self) -> str:
        return self.input.text

    @property
    def pair(self) -> str | None:
        return self.input.pair

    @property
    def masked(self) -> tuple[int, ...]:
        """Numbers of the tokens that are masked; those typed as a mask are not among them."""
        return tuple(n for n in range(len(self.tokens)) if self.is_masked(n))

    @property
    def mask(self) -> str:
        """What is typed for a mask in this model's texts."""
        tokenizer = self._tokenizer
        return "[MASK]" if tokenizer is None else tokenizer.token(tokenizer.mask)

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's, once it is read."""
        return self._tokenizer

    @property
    def task(self) -> str | None:
        """What the model was fine-tuned to answer; None where it was not, or there is no model."""
        return self.model.info.task if self.model and self.model.info else None

    def has_head(self, name: str) -> bool:
        """Whether the model has “mlm”, “nsp”, …; False while there is no model."""
        return bool(self.model and self.model.info and name in self.model.info.task_heads)

    @property
    def ablation(self) -> dict[str, Any]:
        """What every question says of the heads that are off."""
        means = self.head_means if self.heads_off else None
        return {"heads_off": self.heads_off, "head_means": means}

    def asked(self, kind: type[Asked], **more: Any) -> Asked | None:
        """The question of this kind about the texts; None while there is no model."""
        if self.checkpoint is None:
            return None
        return kind(
            checkpoint=self.checkpoint,
            text=self.text,
            pair=self.pair,
            masked=self.masked,
            **self.ablation,
            **more,
        )

    def is_masked(self, number: int) -> bool:
        if not any(self.input.masks):
            return False
        token = self.tokens[number]
        stretches = self.input.masks[token.segment] if token.segment < 2 else ()
        return not token.special and any(
            start <= token.start and token.end <= end for start, end in stretches
        )

    def is_typed_mask(self, number: int) -> bool:
        return self._tokenizer is not None and self.tokens[number].id == self._tokenizer.mask

    def is_unknown(self, number: int) -> bool:
        return self._tokenizer is not None and self.tokens[number].id == self._tokenizer.unknown

    def seen(self, number: int) -> str:
        """The token as the model sees it: of a masked one the mask."""
        return self.mask if self.is_masked(number) else self.tokens[number].text

    def mark(self, number: int) -> Mark | None:
        """By what the token is found again in another text; None for no token."""
        if not 0 <= number < len(self.tokens):
            return None
        token = self.tokens[number]
        if not token.special:
            return Mark(token.segment, (token.start, token.end))
        before = sum(t.special and t.text == token.text for t in self.tokens[:number])
        return Mark(token.segment, (0, 0), token.text, before)

    def find(self, mark: Mark | None) -> int:
        """The number of the token that is meant, or -1."""
        if mark is None:
            return -1
        if mark.special:
            same = (n for n, t in enumerate(self.tokens) if t.special and t.text == mark.special)
            return next((n for place, n in enumerate(same) if place == mark.place), -1)
        return next(
            (
                n
                for n, t in enumerate(self.tokens)
                if not t.special and (t.segment, t.start, t.end) == (mark.segment, *mark.stretch)
            ),
            -1,
        )

    def typed(self, number: int) -> str:
        """The characters that a token stands for; of a special one its name."""
        token = self.tokens[number]
        if token.special or token.segment >= len(self.texts):
            return token.text
        return self.texts[token.segment][token.start : token.end]

    def word(self, number: int) -> tuple[int, ...]:
        """The numbers of all tokens of this token's word; of a special token itself alone."""
        return tuple(self._words.get(self._key(number), (number,)))

    def counterpart(self, token: Token) -> int:
        """Which token here stands for the same characters as one of another model's, or -1."""
        best, shared = -1, -1
        for number, own in enumerate(self.tokens):
            if own.segment != token.segment or own.special != token.special:
                continue
            if token.special and own.text == token.text:
                return number
            common = min(own.end, token.end) - max(own.start, token.start)
            if not token.special and common > max(shared, 0):
                best, shared = number, common
        return best

    # ── what the user does ───────────────────────────────────────────────────────────────────

    def choose_model(self, model: ModelEntry | None) -> None:
        """Look through another model; its tokens may be others."""
        if model == self.model:
            return
        self.model, self._tokenizer, self.tokens = model, None, ()
        self.is_known = False
        self._tell_problem("")
        self.model_changed.emit()
        self.tokens_changed.emit()
        if self._work is not None:
            self._work.cancel()
        if model is not None:
            path = model.path
            self._work = background.run(
                self, lambda: Tokenizer.from_folder(path), self._on_tokenizer, self._on_failed
            )

    def step_to(self, model: ModelEntry) -> None:
        """Look through the same model at another step of its training: its tokens are the same."""
        self.model = model

    def look_at(self, new: Input) -> None:
        """Read another text, or mask other words of the same."""
        if new == self.input:
            return
        same_texts = new.texts == self.input.texts
        self.input = new
        if not same_texts:
            self.is_known = False
            self._tokenise()
        self.input_changed.emit()
        if same_texts:
            self.tokens_changed.emit()

    def stretch(self, number: int) -> Stretch:
        """The characters of the whole word of a token."""
        numbers = self.word(number)
        return self.tokens[numbers[0]].start, self.tokens[numbers[-1]].end

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
        longest = min(model.info.max_positions, MAX_TOKENS) if model.info else MAX_TOKENS
        self._work = background.run(
            self, lambda: tokenizer.encode(text, pair, longest), self._on_tokens, self._on_failed
        )

    def _on_tokens(self, encoded: Encoding) -> None:
        self._work = None
        self.tokens, self.cut, self.is_known = encoded.tokens, encoded.cut, True
        self._words = {}
        for number in range(len(self.tokens)):
            self._words.setdefault(self._key(number), []).append(number)
        self._tell_problem("")
        self.tokens_changed.emit()

    def maskable(self, masks: Sequence[frozenset[Stretch]]) -> Input:
        """The same texts with only those masks that still are a word or a token of one."""
        if not any(masks):
            return Input(self.text, self.pair)
        possible: tuple[set[Stretch], set[Stretch]] = (set(), set())
        for number, token in enumerate(self.tokens):
            if token.segment < 2:
                possible[token.segment].update({self.stretch(number), (token.start, token.end)})
        first, second = (frozenset(m) & p for m, p in zip(masks, possible, strict=True))
        return Input(self.text, self.pair, (first, second))

    def _on_failed(self, error: BaseException) -> None:
        self._work = None
        if not isinstance(error, StudioError):
            raise error
        self._tell_problem(str(error))

    def _tell_problem(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self.problem_changed.emit(problem)

    def _key(self, number: int) -> tuple[int, int]:
        """Segment and word of a token; a special token is alone."""
        token = self.tokens[number]
        return token.segment, -1 - number if token.word is None else token.word


def shifted(stretches: frozenset[Stretch], old: str, new: str) -> frozenset[Stretch]:
    """Stretches of `old` where they stand in `new`; those that an edit touched, or made part of a
    longer word, are gone."""
    if old == new or not stretches:
        return stretches
    least = min(len(old), len(new))
    before = next((n for n in range(least) if old[n] != new[n]), least)
    rest = least - before
    after = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    moved = len(new) - len(old)
    place = len(old) - after
    kept = {
        (start, end)
        for start, end in stretches
        if end < before or (end == before and not _is_inside(new, end))
    }
    return frozenset(kept) | {
        (start + moved, end + moved)
        for start, end in stretches
        if start > place or (start == place and not _is_inside(new, start + moved))
    }


def _is_inside(text: str, place: int) -> bool:
    """Whether a place is between two letters or digits."""
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


def edited(old: Input, text: str, pair: str | None) -> Input:
    """Another text in place of `old`; what is masked stays masked where it was not touched."""
    new = tuple(cleaned(each) for each in (text, pair) if each is not None)
    first, second = (
        shifted(
            masks,
            old.texts[segment] if segment < len(old.texts) else "",
            new[segment] if segment < len(new) else "",
        )
        for segment, masks in enumerate(old.masks)
    )
    return Input(new[0], new[1] if len(new) > 1 else None, (first, second))


def cleaned(text: str) -> str:
    """At most so many characters as the page takes, and none that JSON cannot carry."""
    return text[:MAX_CHARACTERS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
