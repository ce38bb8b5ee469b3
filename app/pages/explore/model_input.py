"""The text or text pair that one model reads: its tokens, and which of them are masked.

The window tokenizes without the worker, so tokens appear immediately. Masks are character spans:
they stay with their words while the text around them is edited, and apply to every model that reads
the same text.
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

MAX_TOKENS = 512  # longer inputs are truncated
MAX_CHARACTERS = 10_000  # per text; more than any model here reads, and quick to lay out

QuestionKind = TypeVar("QuestionKind", bound=TextQuestion)
Span = tuple[int, int]  # first character, and the one after the last


@dataclass(frozen=True)
class TextInput:
    """One text or two, and the masked spans of each."""

    text: str = ""
    pair: str | None = None
    masks: tuple[frozenset[Span], frozenset[Span]] = (frozenset(), frozenset())

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if self.pair is None else (self.text, self.pair)


@dataclass(frozen=True)
class TokenAnchor:
    """Identifies a token across edits of the text before it.

    An ordinary token is identified by its characters, a special one by its name and its rank among
    the tokens of that name.
    """

    segment: int
    span: Span
    special: str = ""
    rank: int = 0

    def move(self, old: TextInput, new: TextInput) -> "TokenAnchor | None":
        """The same token in another text; None if the edit touched it."""
        if self.special:
            return self
        if self.segment >= min(len(old.texts), len(new.texts)):
            return None
        before, after = old.texts[self.segment], new.texts[self.segment]
        spans = shift_spans(frozenset({self.span}), before, after)
        return replace(self, span=next(iter(spans))) if spans else None


class ModelInput(QObject):
    """A text, the model that reads it, and its tokens.

    Signals:
        model_changed: another model, or none.
        input_changed: another text, or other masks.
        tokens_changed: the tokens are known, or cleared, or a word was masked or unmasked.
        problem_changed: why there are no tokens, or “”.
    """

    model_changed = Signal()
    input_changed = Signal()
    tokens_changed = Signal()
    problem_changed = Signal(str)

    def __init__(self, index: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.index = index  # 0, or 1 for the compared model
        self.model: ModelEntry | None = None
        self.input = TextInput()
        self.tokens: tuple[Token, ...] = ()
        self.is_truncated = False
        self.problem = ""
        self.heads_off: tuple[tuple[int, int], ...] = ()  # layers and heads, from 0
        self.head_means: Path | None = None  # replaces their outputs; None: zero
        self.is_tokenized = False  # `tokens` belong to the current texts
        self.tokenizer: Tokenizer | None = None  # None until it is loaded
        self._words: dict[tuple[int, int], list[int]] = {}  # token indices by segment and word
        self._work: background.Job | None = None

    # ── model and text ───────────────────────────────────────────────────────────────────────

    @property
    def checkpoint(self) -> Path | None:
        return self.model.path if self.model else None

    @property
    def model_name(self) -> str:
        """The name of the model, with the heads that are ablated in it."""
        name = self.model.name if self.model else ""
        if not self.heads_off:
            return name
        return self.tr("{0} (ablated: {1})").format(name, head_list(self.heads_off))

    @property
    def labels(self) -> tuple[str, ...]:
        """Classes, labels or tags of the model."""
        return self.model.info.labels if self.model and self.model.info else ()

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
        """Indices of masked tokens, without typed mask tokens."""
        return tuple(n for n in range(len(self.tokens)) if self.is_masked(n))

    @property
    def all_masked(self) -> tuple[int, ...]:
        """Indices of all tokens that the model reads as a mask, in order."""
        return tuple(
            n for n in range(len(self.tokens)) if self.is_masked(n) or self.is_typed_mask(n)
        )

    @property
    def unknown(self) -> tuple[int, ...]:
        """Indices of tokens that the vocabulary lacks."""
        return tuple(n for n in range(len(self.tokens)) if self.is_unknown(n))

    @property
    def mask(self) -> str:
        tokenizer = self.tokenizer
        if tokenizer is None or tokenizer.mask_id is None:
            return "[MASK]"
        return tokenizer.token(tokenizer.mask)

    @property
    def task(self) -> str | None:
        """The task that the model was fine-tuned for; None without one, or without a model."""
        return self.model.info.task if self.model and self.model.info else None

    def has_head(self, name: str) -> bool:
        """True if the model has the head “mlm”, “nsp”, …; False without a model."""
        return bool(self.model and self.model.info and name in self.model.info.task_heads)

    @property
    def ablation(self) -> dict[str, Any]:
        """Question fields that switch heads off."""
        means = self.head_means if self.heads_off else None
        return {"heads_off": self.heads_off, "head_means": means}

    def question(self, kind: type[QuestionKind], **more: Any) -> QuestionKind | None:
        """A question of this kind about the texts; None without a model."""
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

    def choose_model(self, model: ModelEntry | None) -> None:
        if model == self.model:
            return
        self.model, self.tokenizer, self.tokens = model, None, ()
        self.is_tokenized = False
        self._set_problem("")
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
        """Switch to the same model at another training step, with the same tokens."""
        self.model = model

    def set_input(self, new: TextInput) -> None:
        """Read another text, or mask other words of the same text."""
        if new == self.input:
            return
        same_texts = new.texts == self.input.texts
        self.input = new
        if not same_texts:
            self.is_tokenized = False
            self._tokenize()
        self.input_changed.emit()
        if same_texts:
            self.tokens_changed.emit()

    def valid_masks(self, masks: Sequence[frozenset[Span]]) -> TextInput:
        """The same texts; only masks that still cover a word or one of its tokens are kept."""
        if not any(masks):
            return TextInput(self.text, self.pair)
        possible: tuple[set[Span], set[Span]] = (set(), set())
        for index, token in enumerate(self.tokens):
            if token.segment < 2:
                possible[token.segment].update({self.word_span(index), (token.start, token.end)})
        first, second = (frozenset(m) & p for m, p in zip(masks, possible, strict=True))
        return TextInput(self.text, self.pair, (first, second))

    # ── tokens ───────────────────────────────────────────────────────────────────────────────

    def is_masked(self, index: int) -> bool:
        if not any(self.input.masks):
            return False
        token = self.tokens[index]
        spans = self.input.masks[token.segment] if token.segment < 2 else ()
        return not token.special and any(
            start <= token.start and token.end <= end for start, end in spans
        )

    def is_typed_mask(self, index: int) -> bool:
        return self.tokenizer is not None and self.tokens[index].id == self.tokenizer.mask_id

    def is_unknown(self, index: int) -> bool:
        return self.tokenizer is not None and self.tokens[index].id == self.tokenizer.unknown

    def model_token(self, index: int) -> str:
        """The token that the model reads: the mask token if it is masked."""
        return self.mask if self.is_masked(index) else self.tokens[index].text

    def source_text(self, index: int) -> str:
        """The characters of a token, or the name of a special token."""
        token = self.tokens[index]
        if token.special or token.segment >= len(self.texts):
            return token.text
        return self.texts[token.segment][token.start : token.end]

    def word_tokens(self, index: int) -> tuple[int, ...]:
        """Indices of all tokens of this token's word; a special token is a separate word."""
        return tuple(self._words.get(self._word_key(index), (index,)))

    def word_span(self, index: int) -> Span:
        """The characters of the whole word of a token."""
        indices = self.word_tokens(index)
        return self.tokens[indices[0]].start, self.tokens[indices[-1]].end

    def anchor(self, index: int) -> TokenAnchor | None:
        if not 0 <= index < len(self.tokens):
            return None
        token = self.tokens[index]
        if not token.special:
            return TokenAnchor(token.segment, (token.start, token.end))
        before = sum(t.special and t.text == token.text for t in self.tokens[:index])
        return TokenAnchor(token.segment, (0, 0), token.text, before)

    def find(self, anchor: TokenAnchor | None) -> int:
        """The index of the token with this anchor, or -1."""
        if anchor is None:
            return -1
        if anchor.special:
            same = [n for n, t in enumerate(self.tokens) if t.special and t.text == anchor.special]
            return same[anchor.rank] if anchor.rank < len(same) else -1
        target = (anchor.segment, *anchor.span)
        for index, token in enumerate(self.tokens):
            if not token.special and (token.segment, token.start, token.end) == target:
                return index
        return -1

    def counterpart(self, token: Token) -> int:
        """Index of the token that shares most characters with another model's token, or -1."""
        best, shared = -1, -1
        for index, candidate in enumerate(self.tokens):
            if candidate.segment != token.segment or candidate.special != token.special:
                continue
            if token.special and candidate.text == token.text:
                return index
            common = min(candidate.end, token.end) - max(candidate.start, token.start)
            if not token.special and common > max(shared, 0):
                best, shared = index, common
        return best

    def _word_key(self, index: int) -> tuple[int, int]:
        """Segment and word; a special token has a separate key."""
        token = self.tokens[index]
        return token.segment, -1 - index if token.word is None else token.word

    # ── tokenizing ───────────────────────────────────────────────────────────────────────────

    def _on_tokenizer(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._tokenize()

    def _tokenize(self) -> None:
        """Tokenize in the background; a newer text cancels it."""
        tokenizer, model = self.tokenizer, self.model
        if tokenizer is None or model is None:
            return
        if self._work is not None:
            self._work.cancel()
        text, pair = self.text, self.pair
        max_length = min(model.info.max_length, MAX_TOKENS) if model.info else MAX_TOKENS
        self._work = background.run(
            self, lambda: tokenizer.encode(text, pair, max_length), self._on_tokens, self._on_failed
        )

    def _on_tokens(self, encoded: Encoding) -> None:
        self._work = None
        self.tokens, self.is_truncated, self.is_tokenized = encoded.tokens, encoded.truncated, True
        self._words = {}
        for index in range(len(self.tokens)):
            self._words.setdefault(self._word_key(index), []).append(index)
        self._set_problem("")
        self.tokens_changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self._work = None
        if not isinstance(error, StudioError):
            raise error
        self._set_problem(str(error))

    def _set_problem(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            self.problem_changed.emit(problem)


def shift_spans(spans: frozenset[Span], old: str, new: str) -> frozenset[Span]:
    """Move spans of `old` to their characters in `new`.

    Drops spans that the edit touched, or made part of a longer word.
    """
    if old == new or not spans:
        return spans
    shorter = min(len(old), len(new))
    before = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    rest = shorter - before
    after = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    shift = len(new) - len(old)
    edit_end = len(old) - after
    return frozenset(
        (start, end)
        for start, end in spans
        if end < before or (end == before and not _is_inside_word(new, end))
    ) | frozenset(
        (start + shift, end + shift)
        for start, end in spans
        if start > edit_end or (start == edit_end and not _is_inside_word(new, start + shift))
    )


def _is_inside_word(text: str, position: int) -> bool:
    return 0 < position < len(text) and text[position - 1].isalnum() and text[position].isalnum()


def edit_input(old: TextInput, text: str, pair: str | None) -> TextInput:
    """Replace the texts; masks that the edit did not touch stay."""
    new = tuple(clean_text(part) for part in (text, pair) if part is not None)
    first, second = (
        shift_spans(
            masks,
            old.texts[segment] if segment < len(old.texts) else "",
            new[segment] if segment < len(new) else "",
        )
        for segment, masks in enumerate(old.masks)
    )
    return TextInput(new[0], new[1] if len(new) > 1 else None, (first, second))


def head_list(heads: Sequence[tuple[int, int]]) -> str:
    """Format heads as “layer.head”, counted from 1: 2.2, 3.1."""
    return ", ".join(f"{layer + 1}.{head + 1}" for layer, head in heads)


def clean_text(text: str) -> str:
    """Truncate to MAX_CHARACTERS and replace lone surrogates, which JSON cannot hold."""
    return text[:MAX_CHARACTERS].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
