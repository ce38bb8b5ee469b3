"""The page of imported word vectors: their facts, how words are looked up, and deletion."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.library import VectorsEntry
from app.pages.models.texts import vectors_facts
from app.studio import Studio
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.facts import Facts
from app.widgets.page import Card, Page
from app.widgets.text.labels import Text


class VectorsPage(Page):
    """The page of imported word vectors.

    Signals:
        closed: return to the list.
        delete_requested: the button was pressed.
    """

    closed = Signal()
    delete_requested = Signal()

    def __init__(
        self, studio: Studio, vectors: VectorsEntry, parent: QWidget | None = None
    ) -> None:
        super().__init__(vectors.name, "", parent, scrolls=True, max_width=880)
        self.set_title(vectors.name, self.tr("Word vectors, the same in every text"))
        self.vectors = vectors
        self.back = self.add_back(self.tr("Back"), self.closed.emit)
        self.delete = buttons.plain(self.tr("De&lete…"), self.delete_requested.emit, "trash-2")
        show = {"panel": "vectors", "vectors": vectors.path}
        self.explore = buttons.primary(
            self.tr("Open in E&xplore"),
            partial(studio.navigate.emit, "explore", show),
            "microscope",
        )
        self.explore.setEnabled(vectors.facts is not None)
        layouts.extend(self.action_row, self.delete, self.explore)
        card = Card(self.tr("Details"))
        self.facts = Facts(self.tr("Details"))
        card.body.addWidget(self.facts)
        self.facts.show_facts(vectors_facts(vectors))
        remarks = vectors.facts.remarks() if vectors.facts is not None else ()
        texts = [Text(translated(remark), selectable=True) for remark in remarks]
        if vectors.problem:
            texts.append(Text(vectors.problem, "bad", selectable=True))
        layouts.extend(self.body, card, *texts, layouts.STRETCH)
        self.body.setSpacing(3 * SPACE)
