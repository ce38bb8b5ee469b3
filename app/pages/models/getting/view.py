"""Shelf and hub search: list on the left, details on the right."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.hub import ask_consent, file_list, plan_text
from app.pages.models.getting import texts
from app.pages.models.getting.state import GettingState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, dialogs, layouts
from app.widgets.card_list import ITEM
from app.widgets.dialogs import Choice
from app.widgets.entries import Entry, EntryList
from app.widgets.facts import Facts
from app.widgets.forms.controls import ComboBox, SearchField
from app.widgets.page import Card, Page, scrolling
from app.widgets.progress import ProgressLine
from app.widgets.text.labels import Text
from engine.hub.shelf import GROUPS
from engine.messages.hub import Planned
from engine.messages.question import Refused


class GettingPage(Page):
    """The page to get a model.

    Signals:
        closed: return to the list of models.
        fetched: the folder of a finished download, and the model's name.
    """

    closed = Signal()
    fetched = Signal(Path, str)

    def __init__(self, state: GettingState, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent)
        self.state = state
        self.set_title(
            self.tr("Get a model"),
            self.tr("A curated list of encoders. No server is contacted until you press a button."),
        )
        self.back = self.add_back(self.tr("Back to all models"), self._leave)
        self._chosen = ""
        self.progress = ProgressLine(self.tr("Get a model"), in_bytes=True)
        self.progress.cancelled.connect(state.cancel)
        self.problem = _Problem()
        layouts.extend(self.body, self._search_bar(), self.progress, self.problem)
        self.list = EntryList(self.tr("Models to get"))
        self.list.opened.connect(self._choose)
        self.list.selectionModel().currentChanged.connect(lambda *_: self._on_current())
        self.search_field.returnPressed.connect(self.list.setFocus)
        self.results_note = Text("", "muted")
        left = layouts.column(self.results_note, (self.list, 1), spacing=2 * SPACE)
        row = layouts.row((left, 4), (self._details(), 3), spacing=5 * SPACE)
        self.body.addLayout(row, 1)
        state.changed.connect(self._show)
        state.planned.connect(self._confirm_download)
        state.fetched.connect(self.fetched)
        self._show()

    def _search_bar(self) -> QHBoxLayout:
        self.search_field = SearchField(
            self.tr("Search name, language, use"), self.tr("Search models to get"), has_icon=True
        )
        self.search_field.textChanged.connect(self._on_search_text)
        self.group = ComboBox(self.tr("Group"))
        self.group.addItem(self.tr("All groups"), "")
        for key, title in GROUPS.items():
            self.group.addItem(translated(title), key)
        self.group.currentIndexChanged.connect(lambda _: self._show())
        self.search_hub = buttons.plain(self.tr("Search the &hub"), self._search, "search")
        return layouts.row((self.search_field, 1), self.group, self.search_hub, spacing=2 * SPACE)

    def _details(self) -> QWidget:
        self.name = Text("", "heading")
        self.address = Text("", "mono", selectable=True)
        self.facts = Facts(self.tr("About this model"))
        self.get = buttons.primary(self.tr("&Get this model…"), self._get, "import")
        self.offline_hint = Text("", "small", selectable=True)
        card = Card()
        left = Qt.AlignmentFlag.AlignLeft
        layouts.extend(
            card.body, self.name, self.address, self.facts, (self.get, 0, left), self.offline_hint
        )
        self.details_card = card
        return scrolling(layouts.page(card, layouts.STRETCH))

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def arrive(self, group: str = "") -> None:
        """Show a group of the shelf, “” for all, and read the machine."""
        self.state.read_machine()
        if group:
            self.group.setCurrentIndex(self.group.findData(group))
        self.search_field.setFocus()

    def _show(self) -> None:
        state = self.state
        if state.working is not None:
            working = state.working
            self.progress.show_progress(working.done, working.total, translated(working.stage))
        else:
            self.progress.end()
        self.problem.show_problem(state.problem)
        entries = self._entries()
        keys = [entry.key for entry in entries]
        if self._chosen not in keys:
            self._chosen = str(keys[0]) if keys else ""
        self.list.show_entries(entries)
        self.list.mark_chosen(self._chosen)
        self.results_note.setText(self._results_note())
        self.results_note.setVisible(not entries or state.results is not None)
        self._show_details()

    def _entries(self) -> list[Entry]:
        """The hub's results after a search, otherwise the matching entries of the shelf."""
        if self.state.results is not None:
            return [texts.result_card(model) for model in self.state.results]
        words, group = self.search_field.text().casefold().split(), self.group.currentData()
        cards = [
            (texts.entry_card(self.state, entry), entry)
            for entry in self.state.entries
            if not group or entry.group == group
        ]
        return [
            card
            for card, entry in cards
            if all(word in f"{card.sentence()} {entry.name}".casefold() for word in words)
        ]

    def _results_note(self) -> str:
        if self.state.results is not None:
            return self.tr("%Ln model(s) found on the hub.", "", len(self.state.results))
        return self.tr("No matching models in this list. Search the hub for these words.")

    def _show_details(self) -> None:
        entry = next((item for item in self.state.entries if item.name == self._chosen), None)
        hit = next((item for item in self.state.results or () if item.name == self._chosen), None)
        self.details_card.setVisible(bool(self._chosen))
        if self.state.results is None and entry is not None:
            self.name.setText(entry.title)
            self.facts.show_facts(texts.shelf_facts(self.state, entry))
        elif hit is not None:
            self.name.setText(hit.name.rpartition("/")[2])
            self.facts.show_facts(texts.result_facts(hit))
        self.address.setText(self._chosen)
        self.get.setEnabled(not self.state.is_busy and (hit is None or hit.is_loadable))
        self.offline_hint.setText(
            self.tr(
                "If you are offline: on another machine, save config.json, the weights "
                "(model.safetensors) and the tokenizer files of {0}; then drop their folder, or a "
                ".zip of it, on this window."
            ).format(self._chosen)
        )

    # ── actions ──────────────────────────────────────────────────────────────────────────────

    def _on_search_text(self) -> None:
        if self.state.results is not None:
            self.state.clear_search()
        else:
            self._show()

    def _on_current(self) -> None:
        """Select with the arrow keys, as with a click."""
        index = self.list.currentIndex()
        if index.isValid():
            self._choose(index.data(ITEM).key)

    def _choose(self, key: object) -> None:
        if str(key) != self._chosen:
            self._chosen = str(key)
            self.list.mark_chosen(key)
            self._show_details()

    def _search(self) -> None:
        query = self.search_field.text().strip()
        if query:
            self._ask_consent(lambda: self.state.search(query))
        else:
            self.search_field.setFocus()

    def _get(self) -> None:
        name = self._chosen
        self._ask_consent(lambda: self.state.plan(name))

    def _ask_consent(self, act: Callable[[], object]) -> None:
        ask_consent(self, self.state.settings, act)

    def _confirm_download(self, plan: Planned) -> None:
        """Show the files with sizes and free space, then download."""
        cost = Facts(self.tr("On this machine"))
        if plan.cost is not None:
            cost.show_facts(texts.cost_facts(self.state.machine, plan.cost))
        fits = plan.needed <= plan.disk_free
        choices = [Choice("download", self.tr("&Download"), "primary")] if fits else []
        dialogs.ask(
            self,
            self.tr("Download {0}?").format(plan.name),
            plan_text(plan),
            [*choices, Choice("cancel", self.tr("Cancel"))],
            lambda key: self.state.download(plan) if key == "download" else None,
            [
                cost,
                file_list(plan.files, self.tr("Files to download")),
                *(Text(translated(note), "warn") for note in plan.notes),
            ],
        )

    def _leave(self) -> None:
        self.state.cancel()
        self.closed.emit()


class _Problem(Card):
    def __init__(self) -> None:
        super().__init__(padding=4 * SPACE)
        self.problem = Text("", "strong", selectable=True)
        self.advice = Text("", selectable=True)
        self.body.setSpacing(SPACE)
        self.body.addWidget(self.problem)
        self.body.addWidget(self.advice)
        self.hide()

    def show_problem(self, problem: Refused | None) -> None:
        self.setVisible(problem is not None)
        if problem is not None:
            self.problem.setText(problem.problem)
            self.advice.setText(problem.advice)
