"""Editing of the rows of a data set: keys, cell editors, and the bar of edits."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QItemSelectionModel, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QLayout, QTableView, QVBoxLayout, QWidget

from app import background
from app.pages.data.dataset.editing.cells import LabelDelegate, SplitDelegate, TextDelegate
from app.pages.data.dataset.editing.codebook_card import RESERVED, UNLABELLED, CodebookCard
from app.pages.data.dataset.editing.codebook_dialog import CodebookDialog
from app.pages.data.dataset.editing.codebook_draft import CodebookDraft
from app.pages.data.dataset.editing.edit_bar import EditBar
from app.pages.data.dataset.editing.gain import GainState
from app.pages.data.dataset.editing.learning_curve import LearningCurveCard
from app.pages.data.dataset.editing.mark_texts import mark_titles
from app.pages.data.dataset.editing.marks import MarkKeys
from app.pages.data.dataset.editing.reserved import ReservedBar
from app.pages.data.dataset.editing.review_card import ReviewCard
from app.pages.data.dataset.editing.review_state import ReviewState
from app.pages.data.dataset.editing.state import NOT_CODED, EditsState
from app.pages.data.dataset.state import DatasetState
from app.pages.data.dataset.table import LEAD_COLUMNS, SPLIT_COLUMN, RowsModel
from app.studio import Studio
from app.theme import SPACE, px
from app.widgets import layouts
from app.widgets.forms.answer_editor import AnswerEditor
from app.widgets.forms.label_keys import KeyFilter, LabelKeys, code_role
from app.widgets.forms.span_view import SpanView
from app.widgets.forms.tag_view import TagView
from app.widgets.page import scrolling
from app.widgets.table_menu import selected_rows
from engine.config.codebook import Codebook
from engine.data.columns.label_sets import parse_label_sets
from engine.data.columns.numbers import is_scale
from engine.data.columns.words import split_words
from engine.data.datasets.codebooks import add_labels, codebook_of
from engine.data.datasets.editing import with_tag
from engine.messages.labelling import MIN_CURVE_ROWS

WORDS_HEIGHT, SPANS_HEIGHT = 104, 168  # px
MARK_WIDTH = 120  # px
MAX_CODERS = 3  # whose labels are before the texts of rows in dispute
SUGGESTION_WIDTH = 190  # px, with “label kept” after a short label


class EditingPart(QObject):
    """Makes the table of a data set editable; owns `bar`, `keys`, `words` and `answers`.

    Signals:
        rows_requested: indices of rows to list, and their title.
        target_shown: labels and codebook of the label column are shown.
        counted: number of rows without a label, with the unsaved labels counted.
    """

    rows_requested = Signal(object, str)
    target_shown = Signal()
    counted = Signal(int)

    def __init__(
        self, studio: Studio, data: DatasetState, table: QTableView, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._data, self._table = data, table
        self._details: QWidget = parent
        self._shown_codebook: Codebook | None = None
        self._unlabelled = ("", np.zeros(0, dtype=np.int64))  # a label column, and saved rows
        self.state = EditsState(studio, data)
        self.bar = EditBar(self.state, parent)
        self.keys, self.reserved = LabelKeys(parent), ReservedBar()
        self.marks = MarkKeys(table, self)
        self.words, self.spans = TagView(), SpanView()
        self.words_area = scrolling(None)
        self.words_area.hide()
        self.answers = AnswerEditor()
        self.answers.passage.setFixedHeight(px(WORDS_HEIGHT))
        self.answers.hide()
        self.answers.edited.connect(self._set_answers)
        self.review = ReviewState(studio, data, self.state)
        self.review.asked.connect(self._on_asked)
        self.card = ReviewCard(self.review)
        self.counted.connect(self.card.show_count)
        self.gain = GainState(studio, data, self.state)
        self.curve = LearningCurveCard(studio, self.gain)
        self.curve.gain.requested.connect(lambda: self._estimate_gain(self.gain.estimate))
        self.review.ranking.ranked.connect(lambda *_: self._estimate_gain(self.gain.refresh))
        self.codebook = CodebookCard()
        self._studio = studio
        self.card.train_requested.connect(lambda: self._train(studio))
        self.keys.pressed.connect(self._on_label)
        self.keys.hovered.connect(self.codebook.show_hovered)
        self.marks.toggled.connect(self._on_mark)
        self.marks.noted.connect(self._on_note)
        self.codebook.rows_requested.connect(self._on_list)
        self.codebook.menu.aboutToShow.connect(self._count_lists)
        self.codebook.edit_requested.connect(self._edit_codebook)
        self.codebook.new_requested.connect(self.code_texts)
        self.state.restored.connect(self._go_to)
        self.state.reserved.changed.connect(self._show_reserved)
        self.reserved.released.connect(self._on_release)
        self.reserved.passed.connect(self._on_pass)
        KeyFilter(table, self._on_key)

    def add_around(self, column: QVBoxLayout, table: QLayout, details: QWidget) -> None:
        """Add the bar and the keys above the table, and the parts of a row above `details`."""
        parts = self.words_area, self.answers, details
        layouts.extend(column, self.bar, self.keys, self.reserved, (table, 1), *parts)
        self._details = details

    def start(self, model: RowsModel) -> None:
        """Make the table editable; its model shows the edits."""
        table = self._table
        if not self.state.can_edit:
            return
        model.show_edits(self.state, self.review)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        table.setItemDelegateForColumn(SPLIT_COLUMN, SplitDelegate(table))
        table.selectionModel().currentRowChanged.connect(lambda *_: self._on_row())
        # a reset clears the current row without a signal
        model.modelReset.connect(self._on_row)
        self.state.changed.connect(self._on_changed)
        kinds = {book.kind for book in self._data.spec.codebooks.values()}
        self.words_area.set_flow(self.spans if "spans" in kinds else self.words)
        KeyFilter(self.spans, self._on_span_key)
        for widget in (self.words, self.spans, table):
            self.keys.watch(widget)
        self.spans.selected.connect(self._on_span_selected)
        self.show_target()
        self._data.rows_changed.connect(self._on_rows_changed)
        self.state.open()
        self.state.changed.connect(self.card.show_state)
        if self.state.codebook is not None:
            work = self.state.dataset.unlabelled
            background.run(self, work, partial(self._begin_coding, self.state.column))

    def show_target(self) -> None:
        """Show the labels of the column to label: keys, completions and reviews."""
        if not self.state.can_edit:
            return
        table, spec, state = self._table, self._data.spec, self.state
        mapping, labels = spec.mapping, state.labels
        texts = {*mapping.texts, mapping.beginning, mapping.negative, *mapping.endings}
        completions = () if mapping.flags or mapping.tags else labels
        for index, column in enumerate(self._data.columns, start=LEAD_COLUMNS):
            is_text = column in texts or column not in mapping.columns
            delegate = TextDelegate(table) if is_text else LabelDelegate(completions, table)
            table.setItemDelegateForColumn(index, delegate)
        none = self.tr("outside (O)") if mapping.tags is not None else self.tr("no label")
        if spec.has_text_spans:
            none = self.tr("no span")
        has_none = mapping.tags is not None or mapping.label is not None
        self.keys.extras = self.marks.widgets if state.codebook is not None else ()
        self.keys.show_labels(state.keys, labels, none if has_none else "")
        self._show_editor()
        self.review.clear()
        self.curve.read(self._data.folder.parent, self._data.target)
        self._show_codebook()
        self._count_unlabelled()
        self.state.reserved.read()

    def _show_editor(self) -> None:
        """Show the words, spans or answers of a row for labelling; its details in other tasks."""
        mapping, has_spans = self._data.spec.mapping, self._data.spec.has_text_spans
        self.answers.setVisible(mapping.answers is not None)
        self.words_area.setFixedHeight(px(SPANS_HEIGHT if has_spans else WORDS_HEIGHT))
        self.words_area.setVisible(mapping.tags is not None)
        self._details.setVisible(mapping.answers is None and mapping.tags is None)
        for part in (self.keys, self.marks):
            part.return_to(self.spans if has_spans else self._table)
        self._show_parts()

    def close(self) -> None:
        """Save pending edits to their file and cancel jobs."""
        self.state.write()
        self.review.cancel()
        self.gain.cancel()

    def selected(self) -> list[int]:
        """Indices of the selected rows."""
        if not self._table.selectionModel().hasSelection():
            return []
        rows: list[int] = self._data.indices[selected_rows(self._table)].tolist()
        return rows

    def _on_label(self, label: str) -> None:
        rows = self.selected()
        if not rows or self._is_reserved:
            return
        if self._data.spec.has_text_spans:
            self._set_span(label)
            return
        if self._data.spec.mapping.tags is not None:
            self._set_tag(label)
            return
        self.state.set_label(rows, label)
        self.continue_after(rows)

    def continue_after(self, rows: list[int]) -> None:
        """Select the next row after the only one of `rows` was labelled."""
        if len(rows) == 1 and not self._stays:
            self._select_next()

    @property
    def _stays(self) -> bool:
        """True if a row may get more labels of its codebook: Enter shows the next row."""
        return self.state.codebook is not None and self.state.kind in ("labels", "spans")

    def _focus_row(self) -> None:
        """Give the focus to what is labelled by keys: the table, or the text for spans."""
        (self.spans if self._data.spec.has_text_spans else self._table).setFocus()

    # ── coding ───────────────────────────────────────────────────────────────────────────────

    def _begin_coding(self, column: str, unlabelled: NDArray[np.int64]) -> None:
        """Select the first row without a label for the keys, unless a row is selected already."""
        self._unlabelled = (column, unlabelled)
        self._count_unlabelled()
        if self.state.has_suggestions and len(unlabelled):
            self.review.label_rows("file")
            return
        rest = np.setdiff1d(unlabelled, self.state.label_changes().labelled)
        rest = np.setdiff1d(rest, self.state.reserved.rows)
        if len(rest) and not self._table.selectionModel().hasSelection():
            self._go_to(int(rest[0]))
            self._focus_row()

    def _on_asked(self, candidates: NDArray[np.int64]) -> None:
        """Let keys label a row while the list is made: one of these, if there are some."""
        if len(candidates) and self._current_row() not in candidates:
            shown = self._data.indices[np.isin(self._data.indices, candidates)]
            self._go_to(int(shown[0] if len(shown) else -1))
        self._focus_row()

    def _on_row(self) -> None:
        self.review.ranking.in_hand = self._current_row()
        self._show_parts()
        self._show_marks()
        self._show_reserved()

    def _on_changed(self) -> None:
        self._show_parts()
        if self.state.codebook != self._shown_codebook:
            self.show_target()
        else:
            self._count_unlabelled()
        self._show_marks()
        self._offer_gain()

    def _count_unlabelled(self) -> None:
        """Count the rows that still have no label, with the unsaved labels counted."""
        column, saved = self._unlabelled
        if column == self.state.column:
            changes = self.state.label_changes()
            labelled = int(np.isin(changes.labelled, saved).sum())
            removed = int(np.isin(changes.removed, saved, invert=True).sum())
            self.counted.emit(len(saved) - labelled + removed)

    def _estimate_gain(self, estimate: Callable[[Path], object]) -> None:
        if (model := self.card.suggesting_model) is not None:
            estimate(model.path)

    def _offer_gain(self) -> None:
        """Offer an estimate once enough rows have labels."""
        can_estimate = self.card.has_models and self._data.spec.mapping.tags is None
        self.curve.offer_gain(can_estimate and self.gain.labelled >= MIN_CURVE_ROWS)

    def _show_codebook(self) -> None:
        state, spec = self.state, self._data.spec
        self._shown_codebook = state.codebook
        is_number = state.codebook is not None and state.codebook.kind == "number"
        is_number = is_number or is_scale(spec.labels)
        self.card.show_spec(spec, state.labels, state.has_sets, is_number)
        if spec.packet is not None and not state.has_suggestions:
            self.card.hide()  # blind, in the order of the packet
        has_labels = spec.mapping.label is not None and not spec.mapping.endings
        has_labels |= spec.has_text_spans
        has_codebook, is_packet = codebook_of(spec) is not None, spec.packet is not None
        self.codebook.show_codebook(state.codebook, has_labels and has_codebook, is_packet)
        self._show_marks()
        self._offer_gain()
        self.target_shown.emit()

    def _show_marks(self) -> None:
        row, state = self._current_row(), self.state
        if state.codebook is None:
            return
        self.marks.show_row(NOT_CODED if row is None else state.coding(row))
        if self._data.spec.has_text_spans:
            self._on_span_selected()
            return
        column = self._data.spec.mapping.label
        label = state.full_cell(row, column) if row is not None and column else ""
        self.codebook.show_current(next(iter(parse_label_sets([label])[0]), label))

    def _edit_codebook(self) -> None:
        """Edit the codebook of the label column; the rows follow its changes at once."""
        state = self.state
        book = state.codebook or codebook_of(self._data.spec)
        if book is None:
            return
        draft = CodebookDraft(add_labels(book, state.count_labels()), state.count_labels())

        def done(draft: CodebookDraft, _: str) -> None:
            state.change_codebook(draft.result(), draft.renamed())
            if draft.split_labels:
                rows = state.rows_with(draft.split_labels)
                title = self.tr("Label again: {0}").format(", ".join(draft.split_labels)[:100])
                self.rows_requested.emit(rows, title)

        self.dialog = CodebookDialog(self._table, draft, done)
        self.dialog.open()

    def code_texts(self) -> None:
        """Name the labels of a new column, and open the version that has it."""
        draft = CodebookDraft(Codebook())

        def done(draft: CodebookDraft, column: str) -> None:
            self.state.save(column, draft.result())

        spec = self._data.spec
        used = [n for n in spec.mapping.columns if n not in spec.mapping.texts]
        self.dialog = CodebookDialog(self._table, draft, done, spec.columns, used)
        self.dialog.open()

    def _on_mark(self, name: str, is_on: bool) -> None:
        rows = self.selected()
        if not rows:
            return
        text = self.tr("Mark rows: {0}").format(mark_titles()[name])
        self.state.mark(rows, text, **{name: is_on})
        if name == "skipped" and is_on and len(rows) == 1:
            self._focus_row()
            self._select_next()

    def _on_note(self, text: str) -> None:
        if rows := self.selected():
            self.state.mark(rows, self.tr("Write a note"), note=text)

    def _count_lists(self) -> None:
        state = self.state
        coding = [state.coding(row) for row in state.coded_rows]
        counts = {name: sum(bool(getattr(c, name)) for c in coding) for name in mark_titles()}
        counts |= {UNLABELLED: len(state.unlabelled()), RESERVED: len(state.reserved.rows)}
        self.codebook.show_counts(counts)

    def _on_list(self, name: str) -> None:
        """List the rows with a mark; all rows for “”."""
        if not name:
            self.review.end()
            return
        state = self.state
        if name == UNLABELLED:
            self.review.label_rows("file")
            return
        if name == RESERVED:
            self.rows_requested.emit(state.reserved.rows, self.tr("Rows with coders"))
            return
        rows = sorted(row for row in state.coded_rows if getattr(state.coding(row), name))
        self.rows_requested.emit(np.array(rows, dtype=np.int64), mark_titles()[name])

    def _select_next(self) -> None:
        """Select the next row, to label one after another."""
        if self._table.hasFocus() or self.spans.hasFocus():
            self._select_free_row()

    def _select_free_row(self) -> None:
        """Select the next row that is not with a coder."""
        current, indices = self._table.currentIndex(), self._data.indices
        holds, later = self.state.reserved.holds, range(current.row() + 1, len(indices))
        free = (row for row in later if not holds(int(indices[row])))
        self._select(current.siblingAtRow(next(free, current.row() + 1)))

    # ── rows with coders ─────────────────────────────────────────────────────────────────────

    @property
    def _is_reserved(self) -> bool:
        """True if a selected row is with a coder: keys do not label it."""
        return any(map(self.state.reserved.holds, self.selected()))

    def _show_reserved(self) -> None:
        """Show who has the current row, instead of the keys."""
        row, reserved = self._current_row(), self.state.reserved
        is_held = row is not None and reserved.holds(row) and self.state.codebook is not None
        if is_held and row is not None:
            self.reserved.show_coders(reserved.coders(row))
            self.reserved.setMinimumHeight(self.keys.height())  # the table stays in its place
        self.keys.setVisible(not is_held and bool(self.keys.labels))
        self.reserved.setVisible(is_held)

    def _on_release(self) -> None:
        self.state.reserved.release(self.selected())
        self._focus_row()

    def _on_pass(self) -> None:
        self._focus_row()
        self._select_free_row()

    def _go_to(self, row: int) -> None:
        """Return to the row whose edit was undone, if it is listed."""
        places = np.flatnonzero(self._data.indices == row)
        if len(places):
            column = max(0, self._table.currentIndex().column())
            self._select(self._table.model().index(int(places[0]), column))

    def _select(self, index: QModelIndex) -> None:
        if index.isValid():
            flags = QItemSelectionModel.SelectionFlag
            selection = self._table.selectionModel()
            selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)

    def _on_key(self, event: QKeyEvent) -> bool:
        rows = self.selected()
        if not rows or not self.state.can_edit:
            return False
        match event.key():
            case Qt.Key.Key_Delete:
                self.state.delete(rows)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self._is_reserved:
                self._select_next()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self._stays:
                self._decide(self._finish_set)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self.review.suggestions:
                self._decide(self.review.accept)
            case Qt.Key.Key_Space if self.review.kind == "errors":
                self._decide(self.review.confirm)
            case _:
                return self.state.codebook is not None and self.marks.press(event.text())
        return True

    def _finish_set(self, row: int) -> None:
        """Accept the suggested labels of a row without any, or store that none applies."""
        column, review = self.state.column, self.review
        if column and row in review.suggestions and not self.state.full_cell(row, column):
            review.accept(row)
        self.state.finish_set(row)

    # ── reviews ──────────────────────────────────────────────────────────────────────────────

    def _decide(self, decide: Callable[[int], None]) -> None:
        """Accept or keep the current row, then select the next one."""
        row = self._current_row()
        if row is not None:
            decide(row)
            self._select_next()

    def _on_rows_changed(self) -> None:
        """Start a review at its first row; move labels, suggestions and coders before the texts."""
        header, model = self._table.horizontalHeader(), self._table.model()
        columns = self._data.columns
        if not isinstance(model, RowsModel) or self._data.is_searching:
            return
        last = model.suggestion_column
        for index in range(last):  # restore the order
            header.moveSection(header.visualIndex(index), index)
        mapping, is_review = self._data.spec.mapping, bool(self.review.kind)
        if self._data.query is not None or not (is_review or mapping.coders):
            return
        if self.review.has_column:
            header.moveSection(header.visualIndex(last), LEAD_COLUMNS)
            self._table.setColumnWidth(last, px(self.suggestion_width))
        coders = () if is_review else mapping.coders[:MAX_CODERS]
        decided = mapping.label if is_review else mapping.label or mapping.tags
        for name in reversed([name for name in (decided, *coders) if name in columns]):
            index = columns.index(name) + LEAD_COLUMNS
            header.moveSection(header.visualIndex(index), LEAD_COLUMNS)
        if not is_review:
            return
        self._table.setCurrentIndex(model.index(0, 0))
        self._table.selectRow(0)
        self._focus_row()

    @property
    def suggestion_width(self) -> int:
        """Width of the column of suggestions in px; without any, it only names control rows."""
        return SUGGESTION_WIDTH if self.review.suggestions else MARK_WIDTH

    def _train(self, studio: Studio) -> None:
        """Save the labels as a version, and open the wizard with its labelled rows."""

        def saved(folder: Path) -> None:
            target = self._data.target
            studio.navigate.emit("train", {"data": folder, "target": target})

        self.state.saved.connect(saved, Qt.ConnectionType.SingleShotConnection)
        self.state.save()

    # ── spans ────────────────────────────────────────────────────────────────────────────────

    def _on_span_key(self, event: QKeyEvent) -> bool:
        """Act on a key in the text: remove a span, mark the row, or show another one."""
        steps = {Qt.Key.Key_PageDown: 1, Qt.Key.Key_PageUp: -1}
        match event.key():
            case Qt.Key.Key_Delete | Qt.Key.Key_Backspace:
                self._set_span("")
            case Qt.Key.Key_PageDown | Qt.Key.Key_PageUp:
                current = self._table.currentIndex()
                self._select(current.siblingAtRow(current.row() + steps[Qt.Key(event.key())]))
            case _:
                return self._on_key(event)
        return True

    def _set_span(self, label: str) -> None:
        """Give the chosen span, or the selected characters, a label; “” removes a span."""
        row = self._current_row()
        spans, new = self.spans.labelled(label)
        if row is not None and {*spans} != {*self.spans.spans}:
            self.state.set_spans(row, spans)
            self.spans.choose(new)

    def _on_span_selected(self) -> None:
        """Keep the selection in view, and show the definition of the label of its span."""
        box, target = self.spans.selection_box().center().toPoint(), self.spans.target
        self.words_area.ensureVisible(box.x(), box.y(), 0, 8 * SPACE)
        self.codebook.show_current("" if target is None else target.label)

    # ── tags ─────────────────────────────────────────────────────────────────────────────────

    def _set_tag(self, name: str) -> None:
        column, row = self._data.spec.mapping.tags, self._current_row()
        if column is None or row is None or not self.words.words:
            return
        _, tags = self._words_and_tags(row)
        cell = with_tag(tags, *self.words.selection, name or "O", self.state.has_span_tags)
        self.state.set_cells([row], column, [cell])

    def _set_answers(self) -> None:
        column, row = self._data.spec.mapping.answers, self._current_row()
        if column is not None and row is not None:
            self.state.set_cells([row], column, [self.answers.cell])

    def _show_parts(self) -> None:
        """Show the words or the passage of the current row."""
        mapping, row = self._data.spec.mapping, self._current_row()
        if mapping.answers is not None and mapping.pair is not None:
            columns = mapping.text, mapping.pair, mapping.answers
            empty = ("", "", "")
            cells = empty if row is None else [self.state.full_cell(row, c) for c in columns]
            self.answers.show_row(*cells)
        if mapping.tags is None:
            return
        if self._data.spec.has_text_spans:
            codes = self.state.codebook.codes if self.state.codebook is not None else ()
            roles = {code.label: code_role(code, place) for place, code in enumerate(codes)}
            text = "" if row is None else self.state.full_cell(row, mapping.text)
            self.spans.show_text(text, () if row is None else self.state.spans(row), roles)
            return
        if row is None:
            self.words.show_row([], [], self.state.labels)
            return
        self.words.show_row(*self._words_and_tags(row), self.state.labels)

    def _words_and_tags(self, row: int) -> tuple[list[str], list[str]]:
        """The words of a row and their tags; O if it has none yet."""
        mapping = self._data.spec.mapping
        assert mapping.tags is not None
        words, tags = (
            split_words(self.state.full_cell(row, name)) for name in (mapping.text, mapping.tags)
        )
        return words, tags or ["O"] * len(words)

    def _current_row(self) -> int | None:
        row, indices = self._table.currentIndex().row(), self._data.indices
        return int(indices[row]) if 0 <= row < len(indices) else None
