"""The panels of the workbench, and the one table of them."""

from collections.abc import Callable

from app.pages.explore.panel import PanelDescription
from app.pages.explore.panels.attention.panel import panel as attention
from app.pages.explore.panels.attribution.panel import panel as attribution
from app.pages.explore.panels.difference.panel import panel as difference
from app.pages.explore.panels.heads.panel import panel as heads
from app.pages.explore.panels.history.panel import panel as history
from app.pages.explore.panels.map.panel import panel as map_of_texts
from app.pages.explore.panels.predictions.panel import panel as predictions
from app.pages.explore.panels.templates.panel import panel as templates
from app.pages.explore.panels.texts.panel import panel as texts
from app.pages.explore.panels.tokens.panel import panel as tokens
from app.pages.explore.panels.vectors.panel import panel as vectors
from app.pages.explore.panels.words.panel import panel as words

PANELS: tuple[Callable[[], PanelDescription], ...] = (
    tokens,
    words,
    attention,
    predictions,
    attribution,
    vectors,
    templates,
    texts,
    heads,
    difference,
    map_of_texts,
    history,
)
FRONT = "words"  # the panel that is in front at first
