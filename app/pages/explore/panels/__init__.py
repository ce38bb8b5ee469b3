"""The table of the workbench's panels."""

from collections.abc import Callable

from app.pages.explore.panel import PanelDescription
from app.pages.explore.panels.attention.view import panel as attention
from app.pages.explore.panels.attribution.view import panel as attribution
from app.pages.explore.panels.difference.view import panel as difference
from app.pages.explore.panels.heads.view import panel as heads
from app.pages.explore.panels.history.view import panel as history
from app.pages.explore.panels.map.view import panel as map_of_texts
from app.pages.explore.panels.predictions.view import panel as predictions
from app.pages.explore.panels.templates.view import panel as templates
from app.pages.explore.panels.texts.view import panel as texts
from app.pages.explore.panels.tokens.view import panel as tokens
from app.pages.explore.panels.vectors.view import panel as vectors
from app.pages.explore.panels.words.view import panel as words

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
DEFAULT_PANEL = "words"  # in front at first
