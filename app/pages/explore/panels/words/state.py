"""What the model expects at each hidden place."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.asking import Asking
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from engine.messages import Fill, Filled, Likely

TOP = 10
MOST_PLACES = 24  # that are shown; each is a card


@dataclass(frozen=True)
class Place:
    """One hidden token, what is likely there, and the piece that stood there if one did."""

    token: int
    likely: tuple[Likely, ...]
    actual: Likely | None

    @property
    def rank(self) -> int:
        """Which of the likely ones the actual piece is, from 1; 0 where it is none of them."""
        if self.actual is None:
            return 0
        labels = [one.label for one in self.likely]
        return labels.index(self.actual.label) + 1 if self.actual.label in labels else 0


class WordsState(QObject):
    """Signals:
    changed: the places, the reason why there are none, or whether an answer is awaited.
    """

    changed = Signal()

    def __init__(self, study: Study, explorer: Explorer) -> None:
        super().__init__(study)
        self.study = study
        self.asking = Asking(study, explorer, _question)
        self.asking.changed.connect(self.changed)

    @property
    def places(self) -> tuple[Place, ...]:
        """All hidden places, from left to right."""
        filled = self.asking.answer
        if not isinstance(filled, Filled):
            return ()
        return tuple(
            Place(guess.first, guess.ranked, actual if actual.label else None)
            for guess, actual in zip(filled.guesses, filled.actual, strict=True)
        )

    @property
    def milliseconds(self) -> float:
        filled = self.asking.answer
        return filled.milliseconds if isinstance(filled, Filled) else 0

    @property
    def is_causal(self) -> bool:
        """Whether the model guesses from the words to the left alone."""
        filled = self.asking.answer
        return isinstance(filled, Filled) and filled.causal

    @property
    def can_guess(self) -> bool:
        """Whether the model has a head for masked words; a model not looked at yet may have one."""
        model = self.study.model
        return model is None or model.info is None or self.study.has_head("masked words")


def _question(side: Side) -> Fill | None:
    """Nothing is asked where nothing can be guessed."""
    can_guess = side.model and (side.model.info is None or side.has_head("masked words"))
    hidden = side.masked or any(side.is_typed_mask(n) for n in range(len(side.tokens)))
    if side.checkpoint is None or not can_guess or not hidden:
        return None
    return Fill(
        checkpoint=side.checkpoint,
        text=side.text,
        pair=side.pair,
        masked=side.masked,
        top=TOP,
    )
