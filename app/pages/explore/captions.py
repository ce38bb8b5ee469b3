"""Captions of Explore's figures: model, text, masks and date."""

from PySide6.QtCore import QDate, Qt

from app.pages.explore.model_input import TextInput, head_list
from app.pages.explore.set_work import ChosenTexts
from app.pages.explore.state import ExploreState
from app.translation import tr

MAX_QUOTE = 300  # characters of a text in a caption
MAX_WORD = 40  # characters of a word in a caption
CONTEXT_CHARACTERS = 24  # on either side of a word


def source(explore: ExploreState, side: int = 0) -> str:
    """Model, text, masks and date: the last part of every caption."""
    shown = explore.both[side]
    parts = [tr("Model: {0}.").format(shown.model.name if shown.model else "–")]
    parts += [tr("Text: “{0}”").format(quote(text)) for text in shown.texts]
    if masked := masked_words(shown.input):
        parts.append(tr("Masked: {0}.").format(", ".join(f"“{word}”" for word in masked)))
    if shown.heads_off:
        parts.append(tr("Ablated heads: {0}.").format(head_list(shown.heads_off)))
        if explore.means_texts is not None and shown.head_means is not None:
            parts.append(head_means_caption(explore.means_texts))
    if shown.is_truncated:
        parts.append(tr("Truncated to the first {0} tokens.").format(len(shown.tokens)))
    parts.append(QDate.currentDate().toString(Qt.DateFormat.ISODate))
    return " ".join(parts)


def head_means_caption(texts: ChosenTexts) -> str:
    text = tr("Ablation: mean over %Ln text(s) of {0}.", texts.count)
    return text.format(texts.name)


def masked_words(text_input: TextInput) -> list[str]:
    return [
        quote(text_input.texts[segment][start:end])
        for segment, spans in enumerate(text_input.masks[: len(text_input.texts)])
        for start, end in sorted(spans)
    ]


def quote(text: str) -> str:
    """The start of a text on one line; long words are truncated so that lines can be wrapped."""
    words = text[: MAX_QUOTE + 1].split()
    line = " ".join(w if len(w) <= MAX_WORD else f"{w[:MAX_WORD]}…" for w in words)
    return line if len(text) <= MAX_QUOTE else f"{line[:MAX_QUOTE].removesuffix('…')}…"


def layer_title(layer: int) -> str:
    """Name of the embeddings (0) or of a layer (from 1)."""
    return tr("Layer {0}").format(layer) if layer else tr("Embeddings")


def format_mention(text: str, start: int, end: int, context: int = CONTEXT_CHARACTERS) -> str:
    """Format a mention with some characters of context: … poked it with a [stick] in …"""
    before, after = text[:start], text[end:]
    left = before if len(before) <= context else f"…{before[-context:]}"
    right = after if len(after) <= context else f"{after[:context]}…"
    return f"{left}[{text[start:end]}]{right}"
