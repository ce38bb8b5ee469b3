"""Figure of the words with their effects."""

import numpy as np
from PySide6.QtCore import QSize, QSizeF
from PySide6.QtGui import QFont, QPainter

from app.pages.explore.captions import source
from app.pages.explore.panels.attribution.state import AttributionState
from app.pages.explore.panels.attribution.texts import METHODS, explained_text, note
from app.resources import mono_font
from app.translation import in_language
from app.widgets.charts.figure import Figure, Table, paper_font, print_color
from app.widgets.text.word_effects import MOST_WORDS, paint_words, place_words
from engine.messages.explore.attribution import Attributed
from engine.messages.explore.occlusion import WordEffect

WIDE = 760  # px


def figure_of(state: AttributionState) -> Figure | None:
    """The effects of one side; None until all are computed."""
    answer, asked, model = state.answer, state.answered, state.side.model
    if answer is None or asked is None or not state.is_complete or not answer.words:
        return None
    words = answer.words[:MOST_WORDS]
    fonts, most = (_mono(), paper_font(10)), state.largest
    boxes = place_words(words, WIDE, fonts)

    def paint(painter: QPainter, _size: QSizeF) -> None:
        paint_words(painter, words, boxes, print_color, fonts, most)

    name = model.name if model is not None else ""
    method = in_language(METHODS[asked.method])
    return Figure(
        name=f"attributions-{asked.method.replace('_', '-')}",
        title=f"{name}: {explained_text(answer, asked.head)} · {method}",
        caption=f"{note(answer, asked)} {source(state.study, state.side.number)}",
        size=QSize(WIDE, round(boxes[-1].bottom()) + 2),
        paint=paint,
        array=np.array([word.effect for word in answer.words], dtype=np.float32),
        table=lambda: table_of(answer),
    )


def table_of(answer: Attributed) -> Table:
    """One row per word, then per token if the method scores tokens; counted from 1."""
    rows: list[tuple[object, ...]] = [
        ("word", n, word.text, word.segment, word.effect) for n, word in _counted(answer.words)
    ]
    if answer.effects:
        rows += [
            ("token", n, token.text, token.segment, effect)
            for n, (token, effect) in enumerate(
                zip(answer.tokens, answer.effects, strict=True), start=1
            )
        ]
    return Table(("of", "number", "text", "segment", "effect"), rows)


def _counted(words: tuple[WordEffect, ...]) -> list[tuple[int, WordEffect]]:
    return list(enumerate(words, start=1))


def _mono() -> QFont:
    font = mono_font()
    font.setPixelSize(13)
    return font
