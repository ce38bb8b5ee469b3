"""Layout of token chips: words in rows, the tokens of a word adjoining."""

from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from app.theme import SPACE
from app.widgets.text.labels import visible
from engine.messages.explore.text import Token

MAX_TOKEN_CHARACTERS = 40  # of a token, painted
PADDING = 1.5 * SPACE  # px on either side of the text
ROW_GAP = 2 * SPACE
AS_STORED = Qt.TextFlag.TextForceLeftToRight  # “##” stays before a right-to-left token


@lru_cache(maxsize=4_096)  # painters ask for the same tokens again and again
def token_text(text: str) -> str:
    """A token as one short line; invisible characters are written out."""
    shown = visible(text[: MAX_TOKEN_CHARACTERS + 1]).replace("\n", "⏎").replace("\t", "⇥")
    return f"{shown[:MAX_TOKEN_CHARACTERS]}…" if len(text) > MAX_TOKEN_CHARACTERS else shown


def continues_word(tokens: Sequence[Token], number: int) -> bool:
    """True if the token continues the word of the previous one."""
    if number == 0 or tokens[number].word is None:
        return False
    token, before = tokens[number], tokens[number - 1]
    return (token.word, token.segment) == (before.word, before.segment)


def chip_widths(tokens: Sequence[Token], metrics: QFontMetricsF) -> list[float]:
    """Painted width of each token in px; takes some milliseconds for hundreds of them."""
    known: dict[str, float] = {}
    widths = []
    for token in tokens:
        if token.text not in known:
            known[token.text] = metrics.horizontalAdvance(token_text(token.text)) + 2 * PADDING
        widths.append(known[token.text])
    return widths


def place_chips(
    tokens: Sequence[Token],
    metrics: QFontMetricsF,
    width: float,
    wide: Sequence[float] | None = None,
    height: float = 0.0,
) -> list[QRectF]:
    """The box of each token, in rows of at most `width`; a word stays in one row if it fits.

    `wide` are the `widths` of the tokens, if already known; `height` that of a box, by default
    of its text.
    """
    wide = chip_widths(tokens, metrics) if wide is None else wide
    joins = [continues_word(tokens, number) for number in range(len(tokens))]
    whole = _word_widths(wide, joins)
    height = height or metrics.height() + 2 * SPACE
    boxes: list[QRectF] = []
    x, y = 1.0, 1.0
    for own, of_word, joined in zip(wide, whole, joins, strict=True):
        x += 0 if joined or not boxes else 1.5 * SPACE
        needed = own if joined or of_word > width - 2 else of_word
        if x > 1 and x + needed > width:
            x, y = 1.0, y + height + ROW_GAP
        boxes.append(QRectF(x, y, own, height))
        x += own
    return boxes


def _word_widths(wide: Sequence[float], joins: Sequence[bool]) -> list[float]:
    """From each token to the end of its word."""
    whole = list(wide)
    for number in range(len(whole) - 2, -1, -1):
        if joins[number + 1]:
            whole[number] += whole[number + 1]
    return whole
