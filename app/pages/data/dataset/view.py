"""Page of one data set: rows on the left, description on the right."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QSplitter, QStackedLayout, QTableView, QWidget

from app.library import ModelEntry
from app.pages.data.cells import size_columns
from app.pages.data.dataset.agreement.part import AgreementPart
from app.pages.data.dataset.cards import DetailsCard, LabelsCard, LengthsCard
from app.pages.data.dataset.checks.card import ChecksCard
from app.pages.data.dataset.checks.state import ChecksState
from app.pages.data.dataset.editing.part import MARK_WIDTH, EditingPart
from app.pages.data.dataset.exporting import ExportRows, ask_to_export
from app.pages.data.dataset.packets.part import PacketPart
from app.pages.data.dataset.splitting import ask_for_split
from app.pages.data.dataset.state import DatasetState, Order, Query
from app.pages.data.dataset.table import LEAD_COLUMNS, RowsModel
from app.pages.data.texts import summary_line
from app.studio import Studio
from app.theme import SPACE, px
from app.timers import debounced
from app.translation import in_language, translated
from app.using import applying_view, estimating_view
from app.using.applying_state import ApplyingState
from app.using.estimating_state import EstimatingState
from app.widgets import buttons, dialogs, layouts
from app.widgets.buttons import Segments
from app.widgets.context_menu import context_menu, menu_action
from app.widgets.dialogs import Choice
from app.widgets.forms.controls import ComboBox, SearchField
from app.widgets.help import HelpButton, set_help
from app.widgets.page import EmptyState, Page, scrolling
from app.widgets.table_menu import selected_rows
from app.widgets.tables import RowsTable, apply_style
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import Text, TextView, one_line, tooltip, visible
from app.widgets.text.tagged import ChipDelegate
from engine.config.dataset import SPLITS, Mapping
from engine.data.checks import CHECKS
from engine.data.checks.check import Finding, Fix
from engine.data.columns.fit import likely_task
from engine.runs.lineage import data_key

SEARCH_PAUSE_MS = 250  # from the last keystroke to the search
SIDE_WIDTH = 92 * SPACE  # px
MAX_ROW_CHARACTERS = 20_000  # of the selected row
SORT_KEYS = "Ctrl+Shift+S"


class DatasetView(Page):
    """The page of one version of a data set.

    Signals:
        closed: return to the list.
        delete_requested: delete this version.
        undo_requested: return to the parent version.
        deleted_requested: the parent version, and its rows missing here.
    """

    closed = Signal()
    delete_requested = Signal()
    undo_requested = Signal()
    deleted_requested = Signal(Path, object)

    def __init__(self, studio: Studio, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent)
        self.state = DatasetState(studio, folder, self)
        self._studio = studio
        self.back = self.add_back(self.tr("Back"), self.closed.emit)
        self.changes = buttons.plain(self.tr("Chan&ges"), icon="history")
        self.undo = buttons.plain(self.tr("Undo &version…"), self.undo_requested.emit, "undo-2")
        self.lineage = buttons.icon_button(
            "git-branch",
            self.tr("Lineage: sources and results"),
            partial(studio.navigate.emit, "runs", {"lineage": data_key(folder)}),
        )
        self.export = buttons.plain(self.tr("Exp&ort…"), self._on_export, "save")
        self.delete = buttons.plain(self.tr("De&lete…"), self.delete_requested.emit, "trash-2")
        self.train = buttons.primary("", self._on_train, "play")
        self.code = buttons.plain(self.tr("Label these te&xts…"), icon="tag")
        layouts.extend(
            self.action_row,
            *(self.lineage, self.changes, self.undo, self.export, self.delete),
            *(self.code, self.train),
        )
        for button in (self.changes, self.undo, self.export, self.code, self.train):
            button.hide()
        self.set_title(folder.parent.name, self.tr("Opening…"))
        self.splitter = QSplitter()
        self.body.addWidget(self.splitter, 1)
        self.checks_state = ChecksState(studio, self.state)
        self._finding: Finding | None = None  # finding whose rows are shown
        self._is_listing = False  # a fixed list of rows is shown
        self._orders: tuple[Order, ...] = ()  # of the shown rows
        self._models: list[ModelEntry] = []  # fine-tuned
        self._row_to_show: int | None = None  # selected once it is listed
        self._add_rows()
        self._add_side()
        self.splitter.setStretchFactor(0, 1)
        self.splitter.setStretchFactor(1, 0)
        self.splitter.setSizes([1, SIDE_WIDTH])  # the rows get the rest
        self.splitter.setHandleWidth(5 * SPACE)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.hide()
        self.problem = EmptyState("triangle-alert", self.tr("This data set cannot be read"), "")
        self.problem.hide()
        self.body.addWidget(self.problem, 1)
        self.state.opened.connect(self._on_opened)
        self.state.rows_changed.connect(self._on_rows_changed)
        self.state.reordered.connect(lambda *_: self._show_count())
        self.state.sorting.connect(self._on_sorting)
        self.state.start()

    def set_models(self, models: Sequence[ModelEntry]) -> None:
        """Set the models whose tokenizers can count tokens."""
        self._models = [m for m in models if m.info is not None and m.info.task is not None]
        self.lengths.set_models(list(models))
        self.editing.card.set_models(models)

    def show_source(self, state: str) -> None:
        """Show the state of the source, as returned by `source_state`; “” while unknown."""
        if self.state.dataset is not None:
            self.details.show_spec(self.state.spec, self.state.folder, state)

    def _on_export(self) -> None:
        """Ask for a format, rows and a file, and write them with their edits."""
        state, dataset = self.state, self.state.dataset
        if dataset is not None and self.table.model() is not None:
            selected = state.indices[selected_rows(self.table)]
            rows = ExportRows(dataset, state.indices, selected, dict(self.editing.state.rows))
            ask_to_export(self, self._studio.notices, rows)

    def _on_estimate(self) -> None:
        if not self._has_edits():
            state = EstimatingState(self.state.folder)
            self.estimating = estimating_view.open_dialog(state, self._studio.notices, self)

    # ── parts, each added to the page before it is filled, which is faster ───────────────────

    def _add_rows(self) -> None:
        widget = QWidget()
        self.splitter.addWidget(widget)
        head = layouts.wrap(spacing=3 * SPACE)
        column = layouts.column(
            head, self._make_finding_line(widget), parent=widget, spacing=3 * SPACE
        )
        self._stack = QStackedLayout()
        self.search = SearchField(self.tr("Search rows"))
        self.splits = Segments([self.tr("All"), *map(split_title, SPLITS)], self.tr("Split"))
        self.splits.choose(0)
        self.count = Text("", "muted", wraps=False)
        self.stop_sorting = buttons.icon_button(
            "x", self.tr("Cancel sorting"), self.state.stop_sorting
        )
        self.stop_sorting.hide()
        layouts.extend(
            head,
            (self.search, 1),
            self.splits,
            layouts.row(self.count, self.stop_sorting, HelpButton("editing"), spacing=2 * SPACE),
        )
        set_help(widget, "editing")
        self.table = RowsTable(widget)
        apply_style(self.table, self.tr("Rows of the data set"))
        self.table.setItemDelegate(ChipDelegate(self.table))
        context_menu(self.table).add(self._row_actions)
        self.table.verticalHeader().hide()
        self._make_sortable()
        self.editing = EditingPart(self._studio, self.state, self.table, self)
        self.editing.review.changed.connect(self._on_review)
        self.editing.rows_requested.connect(self.show_listed)
        self.editing.target_shown.connect(self._order_cards)
        self.code.clicked.connect(self.editing.code_texts)
        self.changes.clicked.connect(self.editing.review.show_changes)
        self.editing.state.changed.connect(self._show_row)
        self.editing.state.changed.connect(self._show_undo)
        self.empty = EmptyState(
            "search",
            self.tr("No matching rows"),
            self.tr("Try a shorter search, another split or all labels."),
            buttons.plain(self.tr("&Show all rows"), self._show_all),
        )
        self._stack.addWidget(self.table)
        self._stack.addWidget(self.empty)
        self.row_text = TextView(self.tr("Selected row"), mono=False, height=26 * SPACE)
        self.row_text.setPlaceholderText(self.tr("Select a row to read it in full."))
        self.editing.add_around(column, self._stack, self.row_text)
        pause = debounced(self, SEARCH_PAUSE_MS, self._search)
        self.search.textChanged.connect(pause.start)
        self.search.returnPressed.connect(self._search)
        self.splits.chosen.connect(lambda _: self._search())

    def _make_sortable(self) -> None:
        """Sort by the column whose header is clicked or focused."""
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        header.setSortIndicatorShown(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.sectionClicked.connect(self._on_header)
        self._sort_shortcut = QShortcut(QKeySequence(SORT_KEYS), self.table)
        self._sort_shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
        self._sort_shortcut.activated.connect(
            lambda: self._on_header(self.table.currentIndex().column())
        )
        text = self.tr("Click a column header to sort, or press {0} in the column.")
        keys = self._sort_shortcut.key().toString(QKeySequence.SequenceFormat.NativeText)
        self.table.setAccessibleDescription(text.format(keys))

    def _make_finding_line(self, parent: QWidget) -> QWidget:
        """A line that names the finding or the list whose rows are shown."""
        self.finding_line = QWidget(parent)
        self.finding_text = Text("", "strong")
        self.deleted_rows = buttons.quiet(self.tr("Show &deleted rows"), self._show_deleted)
        layouts.row(
            (self.finding_text, 1),
            self.deleted_rows,
            buttons.quiet(self.tr("&Show all rows"), self._show_all),
            parent=self.finding_line,
        )
        self.deleted_rows.hide()
        self.finding_line.hide()
        return self.finding_line

    def _add_side(self) -> None:
        inner = QWidget()
        area = scrolling(inner)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.splitter.addWidget(area)
        self.checks = ChecksCard(self.checks_state, inner)
        self.checks.rows_requested.connect(self._show_finding)
        self.checks.fix_requested.connect(self._ask_to_fix)
        self.labels = LabelsCard(inner)
        self.lengths = LengthsCard(self.state, inner)
        self.details = DetailsCard(inner)
        self.details.split_requested.connect(self._ask_to_split)
        self.checks_state.changed.connect(
            lambda: self.details.split.setEnabled(not self.checks_state.is_fixing)
        )
        self.agreement = AgreementPart(self._studio, self.state, self.editing, self.table)
        self.agreement.rows_requested.connect(self.show_listed)
        self.packets = PacketPart(
            self._studio, self.state, self.editing, self.checks_state, self._has_edits, self
        )
        self._cards = layouts.column(
            self.checks,
            self.labels,
            self.agreement.card,
            self.editing.codebook,
            self.editing.card,
            self.packets.card,
            self.editing.curve,
            self.lengths,
            self.details,
            layouts.STRETCH,
            parent=inner,
            spacing=4 * SPACE,
            margins=(0, 0, 3 * SPACE, 0),
        )
        self.labels.chosen.connect(lambda _: self._search())
        self.labels.estimate_requested.connect(self._on_estimate)
        self.labels.target.picked.connect(self.state.choose_target)
        self.state.target_chosen.connect(self._on_target)

    def _order_cards(self) -> None:
        """Show the codebook first while its rows are coded, else after the labels."""
        editing, is_coded = self.editing, self.editing.state.codebook is not None
        cards = [self.packets.card, editing.card, editing.codebook]  # the last one on top
        if self.state.spec.packet is not None:
            cards = [*cards[1:], cards[0]]
        for card in cards:
            self._cards.removeWidget(card)
            place = 0 if is_coded else self._cards.indexOf(self.labels) + 1
            self._cards.insertWidget(place, card)
        has_labels = bool(self.state.spec.mapping.label_columns)
        self.code.setVisible(not has_labels and editing.state.can_edit)
        editing.codebook.setVisible(has_labels and editing.state.can_edit)

    # ── state ────────────────────────────────────────────────────────────────────────────────

    def _on_opened(self) -> None:
        problem = self.state.problem
        if problem is not None:
            self.set_title(self.state.folder.parent.name)
            self.problem.text.setText(problem.phrase)
            self.problem.show()
            return
        spec = self.state.spec
        self.set_title(spec.name, summary_line(spec, not spec.codebooks))  # room for the rows
        can_fine_tune = not likely_task(spec.mapping).info.is_pretraining
        text = self.tr("Fine-&tune on this…") if can_fine_tune else self.tr("Pre-&train on this…")
        buttons.set_text(self.train, text)
        self.export.show()
        self.train.show()
        self._show_parent()
        self._show_labels()
        self.details.show_spec(spec, self.state.folder, "")
        self.details.split.setVisible(self.checks_state.can_fix)
        for index, split in enumerate(SPLITS, start=1):
            self.splits.group.button(index).setVisible(bool(spec.rows.get(split)))
        self.model = RowsModel(self.state, self)
        self.state.page_read.connect(lambda *_: self._show_row())  # once it is read
        self.splitter.show()
        QTimer.singleShot(0, self, self._show_table)  # once it has its geometry

    def _show_labels(self) -> None:
        stored = self.state.stored
        self.labels.target.show_spec(stored.spec if stored else None, self.state.target)
        self.labels.show_spec(self.state.spec)

    def _on_target(self) -> None:
        self.labels.bars.clearSelection()
        self._show_labels()
        self.editing.show_target()

    def _on_train(self) -> None:
        request = {"data": self.state.folder, "target": self.state.target}
        self._studio.navigate.emit("train", request)

    def _show_table(self) -> None:
        self.table.setModel(self.model)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._show_row())
        self.editing.start(self.model)
        self._size_columns()
        header = self.table.horizontalHeader()
        header.sectionCountChanged.connect(
            # after the sections are moved
            lambda *_: QTimer.singleShot(0, self, self._size_columns)
        )
        self._select_row()

    def _size_columns(self) -> None:
        """Resize columns; texts share the remaining width."""
        mapping = self.state.spec.mapping
        self.table.setColumnWidth(0, px(18 * SPACE))
        self.table.setColumnWidth(1, px(22 * SPACE))
        has_suggestions = self.model.columnCount() > self.model.suggestion_column
        used_width = 40 * SPACE + (self.editing.suggestion_width if has_suggestions else 0)
        if self.model.suggestion_column > self.model.mark_column:
            self.table.setColumnWidth(self.model.mark_column, px(MARK_WIDTH))
            used_width += MARK_WIDTH
        texts = (mapping.text, mapping.pair, mapping.tags)
        size_columns(self.table, self.state.columns, texts, LEAD_COLUMNS, used_width)

    def _on_header(self, section: int) -> None:
        """Sort by a column; a column without an order changes nothing."""
        if section >= 0 and (key := self.model.order_key(section)):
            self.state.sort(key)
        self._show_order()

    def _on_sorting(self, done: int, total: int) -> None:
        percentage = numbers.percent(done / total, 0) if total else ""
        self.count.setText(self.tr("Sorting… {0}").format(percentage))
        self.stop_sorting.setVisible(done < total)

    def _show_order(self) -> None:
        """Mark the sort column."""
        section, descending = -1, False
        if self.state.orders:
            section = self.model.find_section(self.state.orders[0].column)
            descending = self.state.orders[0].descending
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        self.table.horizontalHeader().setSortIndicator(section, order)

    def _on_rows_changed(self) -> None:
        self._show_order()
        if self.state.is_searching:
            is_sorting = self.state.is_sorting
            self.count.setText(self.tr("Sorting…") if is_sorting else self.tr("Searching…"))
            return
        self.stop_sorting.hide()
        if self._orders != self.state.orders:
            self._orders = self.state.orders
            self.table.scrollToTop()
        if self._is_listing and self.state.query is not None:
            self._is_listing = False
            if self.editing.review.kind == "changes":
                self.editing.review.clear()
            self.finding_line.setVisible(self._finding is not None)
        self._show_count()
        count = len(self.state.indices)
        self._stack.setCurrentWidget(self.table if count else self.empty)
        self.row_text.clear()
        QTimer.singleShot(0, self, self._select_row)  # after the model shows the rows

    def _show_count(self) -> None:
        count, total = len(self.state.indices), sum(self.state.spec.rows.values())
        if count == total:
            self.count.setText(self.tr("%Ln row(s)", "", total))
        else:
            self.count.setText(
                self.tr("{0} of {1} rows").format(numbers.count(count), numbers.count(total))
            )

    def _search(self) -> None:
        choice = self.splits.choice()
        self.state.search(
            Query(
                self.search.text(),
                SPLITS[choice - 1] if choice > 0 else None,
                self.labels.choice,
                self._finding,
            )
        )

    def _show_finding(self, finding: Finding | None) -> None:
        """Show only the rows of a finding; None: all rows."""
        self._finding = finding
        self.finding_line.setVisible(finding is not None)
        if finding is not None:
            title = in_language(CHECKS[finding.check].title)
            self.finding_text.setText(self.tr("Rows of “{0}”").format(title))
        self._search()

    def _show_parent(self) -> None:
        """Offer the actions of a version derived from another one."""
        parent = self.editing.review.parent_version
        self.changes.setVisible(parent is not None)
        self._show_undo()
        if parent is not None:
            since = self.tr("Show changes since version {0}").format(parent.name)
            back = self.tr("Undo this version: go back to version {0}").format(parent.name)
            for button, name in ((self.changes, since), (self.undo, back)):
                button.setToolTip(tooltip(name))
                button.setAccessibleName(name)

    def _show_undo(self) -> None:
        """Offer to undo the version while there is no edit to undo instead."""
        has_parent = self.editing.review.parent_version is not None
        self.undo.setVisible(has_parent and not self.editing.state.is_edited)

    def _on_review(self) -> None:
        """Show above the list how many rows differ from the parent version."""
        review = self.editing.review
        self.changes.setEnabled(not review.is_busy)
        is_on = review.kind == "changes"
        self.deleted_rows.setVisible(is_on and len(review.deleted_rows) > 0)
        if is_on and review.old_version is not None and not self._is_listing:
            self._is_listing = True
            text = self.tr("Since version {0}: {1} changed, {2} added, {3} deleted")
            counts = map(numbers.count, review.counts)
            self.finding_text.setText(text.format(review.old_version.name, *counts))
            self.finding_line.show()

    def _show_deleted(self) -> None:
        review = self.editing.review
        if review.old_version is not None:
            self.deleted_requested.emit(review.old_version, review.deleted_rows)

    def show_rows(self, rows: Sequence[int] | NDArray[np.int64], title: str) -> None:
        """Show these rows under a title, once the version is opened."""

        self.when_open(lambda: self.show_listed(np.array(rows, dtype=np.int64), title))

    def when_open(self, act: Callable[[], object]) -> None:
        """Act once the version is open; never if it cannot be read."""
        if self.state.dataset is not None:
            act()
        else:
            self.state.opened.connect(
                lambda: act() if self.state.problem is None else None,
                Qt.ConnectionType.SingleShotConnection,
            )

    def show_listed(self, rows: NDArray[np.int64], title: str) -> None:
        """Show these rows until others are requested, with the first one selected for the keys."""
        self._row_to_show = int(rows[0]) if len(rows) else None
        self._is_listing = True
        self.finding_text.setText(title)
        self.finding_line.show()
        self.state.show_rows(rows)

    def show_row(self, row: int) -> None:
        """Select a row, given by its index in the version, once it is listed."""
        self._row_to_show = row
        self._select_row()

    def _select_row(self) -> None:
        row, model = self._row_to_show, self.table.model()
        if row is None or model is None or self.state.is_searching:
            return
        positions = np.flatnonzero(self.state.indices == row)
        if len(positions):
            self._row_to_show = None
            index = model.index(int(positions[0]), LEAD_COLUMNS)
            self.table.setCurrentIndex(index)
            self.table.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)
            self.table.setFocus()
        elif len(self.state.indices) < sum(self.state.spec.rows.values()):
            self._show_all()  # filters hide it
        else:
            self._row_to_show = None

    def _has_edits(self) -> bool:
        """True, with a notice, if edits would be missing in what is read from the version."""
        is_edited = self.editing.state.is_edited
        if is_edited:
            self._studio.notices.info(
                self.tr("Save or discard your changes to the rows first."),
                self.tr("Save as a new version"),
                self.editing.state.save,
            )
        return is_edited

    def _ask_to_split(self) -> None:
        stored, checks = self.state.stored, self.checks_state
        if stored is not None and not self._has_edits():
            ask_for_split(self, stored, checks.new_version, checks.split)

    def _ask_to_fix(self, fix: Fix) -> None:
        """Explain a fix, and create the version after confirmation."""
        if self._has_edits():
            return
        template = self.tr("Version {0} will be created; this version stays unchanged.")
        note = template.format(self.checks_state.new_version)
        dialogs.confirm(
            self,
            translated(fix.title),
            f"{translated(fix.change)} {note}",
            Choice("fix", self.tr("Create new version"), "primary"),
            lambda: self.checks_state.fix(fix),
        )

    def _row_actions(self, menu: QMenu) -> Iterator[QAction]:
        rows = self.editing.selected() if self.table.model() is not None else []
        if rows:
            why_not = "" if self._models else self.tr("There is no fine-tuned model yet.")
            text = self.tr("&Apply a model to %Ln row(s)…", "", len(rows))
            ask = partial(self._ask_for_model, rows)
            yield menu_action(menu, text, ask, "microscope", why_not)

    def _ask_for_model(self, rows: list[int]) -> None:
        models = self._models
        box = ComboBox(self.tr("Model"))
        box.addItems([one_line(model.name) for model in models])

        def chosen() -> None:
            model = models[box.currentIndex()]
            assert model.info is not None and model.info.task is not None  # as in `set_models`
            state = ApplyingState(self._studio, model.path, model.name, model.info.task)
            self.applying = applying_view.open_dialog(self._studio, self, state)
            state.open_rows(self.state.folder, tuple(rows))

        text = self.tr("The first predictions are shown before all rows are predicted.")
        choice = Choice("apply", self.tr("Continue"), "primary")
        dialogs.confirm(self, self.tr("Apply a model"), text, choice, chosen, [box])

    def _show_all(self) -> None:
        self.search.clear()
        self.splits.choose(0)
        self.labels.bars.clearSelection()
        self._show_finding(None)
        self.search.setFocus()

    def _show_row(self) -> None:
        """Show the current row: its texts, then its other cells; truncated as in the table."""
        current = self.table.currentIndex()
        if not current.isValid() or self.state.is_searching:
            return
        cells = self.model.row_cells(current.row())
        text = row_in_full(cells, self.state.spec.mapping)[:MAX_ROW_CHARACTERS]
        notes = self.agreement.state.notes(int(self.state.indices[current.row()]))
        text = "\n\n".join(filter(None, (text, *map(visible, notes))))
        if text != self.row_text.toPlainText():
            self.row_text.setPlainText(text)


def row_in_full(cells: Sequence[tuple[str, str]], mapping: Mapping) -> str:
    """The texts of a row in lines of their own, and its other cells in one line at the end."""
    texts = [visible(name[:100]) for name in mapping.texts]
    filled = {name: cell for name, cell in cells if cell}
    shown = [filled.pop(name) for name in texts if name in filled]
    rest = " · ".join(f"{name}: {cell}" for name, cell in filled.items())
    return "\n\n".join(filter(None, ("\n".join(shown), rest)))
