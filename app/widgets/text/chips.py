"""Layout of token chips: words in rows, the tokens of a word adjoining."""

from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from app.theme import SPACE
from app.widgets.text.labels import visible
from engine.messages.explore.text import Token

MAX_TOKEN_CHARACTERS = 40
PADDING = 1.5 * SPACE  # px on either side of the text
ROW_GAP = 2 * SPACE
AS_STORED = Qt.TextFlag.TextForceLeftToRight  # “##” stays before a right-to-left token


@lru_cache(maxsize=4_096)  # the same tokens are painted repeatedly
def token_text(text: str) -> str:
    """A token as one short line; invisible characters are written out."""
    shown = visible(text[: MAX_TOKEN_CHARACTERS + 1]).replace("\n", "⏎").replace("\t", "⇥")
    return f"{shown[:MAX_TOKEN_CHARACTERS]}…" if len(text) > MAX_TOKEN_CHARACTERS else shown


def continues_word(tokens: Sequence[Token], index: int) -> bool:
    """True if the token continues the word of the previous one."""
    if index == 0 or tokens[index].word is None:
        return False
    token, before = tokens[index], tokens[index - 1]
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


def flow_chips(
    tokens: Sequence[Token],
    metrics: QFontMetricsF,
    width: float,
    widths: Sequence[float] | None = None,
    height: float = 0.0,
) -> list[QRectF]:
    """The box of each token, in rows of at most `width`; a word stays in one row if it fits.

    `widths`: the result of `chip_widths`, if already known. `height`: of each box, 0: of its text.
    """
    widths = chip_widths(tokens, metrics) if widths is None else widths
    joins = [continues_word(tokens, index) for index in range(len(tokens))]
    word_widths = _word_widths(widths, joins)
    height = height or metrics.height() + 2 * SPACE
    boxes: list[QRectF] = []
    x, y = 1.0, 1.0
    for chip_width, word_width, continues in zip(widths, word_widths, joins, strict=True):
        x += 0 if continues or not boxes else 1.5 * SPACE
        needed = chip_width if continues or word_width > width - 2 else word_width
        if x > 1 and x + needed > width:
            x, y = 1.0, y + height + ROW_GAP
        boxes.append(QRectF(x, y, chip_width, height))
        x += chip_width
    return boxes


def _word_widths(widths: Sequence[float], joins: Sequence[bool]) -> list[float]:
    """Width from each token to the end of its word."""
    word_widths = list(widths)
    for index in range(len(word_widths) - 2, -1, -1):
        if joins[index + 1]:
            word_widths[index] += word_widths[index + 1]
    return word_widths
