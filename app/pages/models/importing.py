"""Import in progress and its report, which stays until the user leaves it."""

from collections.abc import Sequence

from PySide6.QtCore import QStringListModel, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QListView, QToolButton, QWidget

from app.pages.models.state import ModelsState
from app.pages.models.texts import size_text, vectors_text
from app.resources import icon, mono_font
from app.theme import SPACE, Role
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.page import Card, Page, clear
from app.widgets.progress import ProgressLine
from app.widgets.text import numbers
from app.widgets.text.labels import Text, TextView, visible
from engine.messages.importing import Imported
from engine.messages.question import Refused
from engine.messages.word_vectors import VectorsImported

MAX_NAMES = 5_000  # tensors named in a list


class ImportPage(Page):
    """The page of an import.

    Signals:
        closed: return to the list.
        import_requested: choose another folder.
        vectors_requested: choose another file of word vectors.
        opened: path of the imported model or word vectors.
        tune_requested: path of the imported model, to fine-tune it.
    """

    closed = Signal()
    import_requested = Signal()
    vectors_requested = Signal()
    opened = Signal(object)
    tune_requested = Signal(object)

    def __init__(self, state: ModelsState, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent, scrolls=True, max_width=880)
        self._state = state
        self.back = self.add_back(self.tr("Back to all models"), self.closed.emit)
        self.progress = ProgressLine(self.tr("Import a model"))
        self.progress.cancelled.connect(state.cancel_import)
        self.progress.cancelled.connect(self.closed)
        self._outcome = layouts.column(spacing=4 * SPACE)
        layouts.extend(self.body, self.progress, self._outcome, layouts.STRETCH)
        self.sections: list[Section] = []
        state.importing_changed.connect(self._show)

    def _show(self) -> None:
        state = self._state
        name = state.source.name if state.source else ""
        if state.is_importing and state.working is not None:
            working = state.working
            self.set_title(self.tr("Importing “{0}”").format(name), str(state.source))
            self.progress.show()
            self.progress.show_progress(working.done, working.total, working.stage)
        else:
            self.progress.end()
        if state.is_importing or self._outcome.count():
            clear(self._outcome)
        if isinstance(state.imported, VectorsImported):
            self._show_vectors(state.imported)
        elif state.imported is not None:
            self._show_report(name, state.imported)
        elif state.problem is not None:
            self._show_problem(name, state.problem)

    def _show_report(self, name: str, imported: Imported) -> None:
        info, report = imported.info, imported.report
        self.set_title(
            self.tr("“{0}” was imported").format(imported.folder.name),
            f"{size_text(info)} · "
            + self.tr("{0} parameters").format(numbers.large_count(info.parameters)),
        )
        for note in report.notes:
            self._outcome.addWidget(Text(note, "warn", selectable=True))
        self.sections = [
            Section(
                self.tr("%Ln tensor(s) loaded", "", len(report.loaded)),
                self.tr("Found both in the file and in the network."),
                report.loaded,
            ),
            Section(
                self.tr(
                    "%Ln tensor(s) missing in the file, newly initialised", "", len(report.missing)
                ),
                self.tr("The file does not contain them, so they start from random values."),
                report.missing,
            ),
            Section(
                self.tr("%Ln tensor(s) not used", "", len(report.unexpected)),
                self.tr("The file contains them, but this network does not use them."),
                report.unexpected,
            ),
        ]
        for section in self.sections:
            self._outcome.addWidget(section)
        open_button = buttons.primary(
            self.tr("Open the model"), lambda: self.opened.emit(imported.folder), "arrow-right"
        )
        tune_button = buttons.plain(
            self.tr("&Fine-tune it"),
            lambda: self.tune_requested.emit(imported.folder),
            "graduation-cap",
        )
        other_button = buttons.plain(self.tr("Import another…"), self.import_requested.emit)
        self._add_buttons(open_button, tune_button, other_button)

    def _show_vectors(self, imported: VectorsImported) -> None:
        self.set_title(
            self.tr("“{0}” was imported").format(imported.folder.name), vectors_text(imported.facts)
        )
        for remark in imported.facts.remarks():
            self._outcome.addWidget(Text(translated(remark), selectable=True))
        open_button = buttons.primary(
            self.tr("Open the word vectors"),
            lambda: self.opened.emit(imported.folder),
            "arrow-right",
        )
        other_button = buttons.plain(self.tr("Import another…"), self.vectors_requested.emit)
        self._add_buttons(open_button, other_button)

    def _show_problem(self, name: str, problem: Refused) -> None:
        self.set_title(self.tr("“{0}” could not be imported").format(name), str(self._state.source))
        card = Card()
        card.body.addWidget(Text(problem.problem, "strong", selectable=True))
        if problem.advice:
            card.body.addWidget(Text(problem.advice, selectable=True))
        card.body.addWidget(Text(self.tr("Your home folder was not changed."), "muted"))
        if problem.details:
            lines = (line[:2_000] for line in problem.details[:20_000].splitlines())
            details = TextView(self.tr("Details"), "\n".join(lines), height=40 * SPACE)
            card.body.addWidget(details)
        self._outcome.addWidget(card)
        if self._state.is_of_vectors:
            retry = self.tr("Choose another file…"), self.vectors_requested.emit
        else:
            retry = self.tr("Choose another folder…"), self.import_requested.emit
        retry_button = buttons.primary(*retry, "folder-open")
        self._add_buttons(retry_button)

    def _add_buttons(self, first: QWidget, *others: QWidget) -> None:
        self._outcome.addLayout(layouts.row(first, *others, layouts.STRETCH, spacing=2 * SPACE))
        first.setFocus()


class Section(Card):
    """Heading with a count that expands a list of names."""

    def __init__(self, title: str, help_text: str, names: Sequence[str]) -> None:
        super().__init__(padding=3 * SPACE)
        self.toggle = QToolButton()
        self.toggle.setText(title)
        self.toggle.setAccessibleName(title)
        self.toggle.setAccessibleDescription(help_text)
        self.toggle.setIconSize(buttons.text_icon_size())
        self.toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toggle.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.toggle.setCheckable(True)
        self.toggle.setEnabled(bool(names))
        self.toggle.toggled.connect(self._on_toggled)
        self.list = QListView()
        self.list.setAccessibleName(title)
        self.list.setUniformItemSizes(True)
        self.list.setFont(mono_font())
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setFixedHeight(min(len(names), 8) * 7 * SPACE + 3 * SPACE)
        shown = [visible(name[:300]) for name in names[:MAX_NAMES]]
        if len(names) > MAX_NAMES:
            shown.append(self.tr("and %Ln more", "", len(names) - MAX_NAMES))
        self.list.setModel(QStringListModel(shown, self))
        self.body.setSpacing(SPACE)
        layouts.extend(self.body, self.toggle, Text(help_text, "small"), self.list)
        self._on_toggled(False)

    def _on_toggled(self, is_open: bool) -> None:
        self.list.setVisible(is_open)
        self.toggle.setIcon(icon("chevron-down" if is_open else "chevron-right", Role.MUTED))
