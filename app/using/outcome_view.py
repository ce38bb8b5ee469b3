"""Result of applying a model: its file, counts of labels, and the least certain rows."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QFont
from PySide6.QtWidgets import QMenu, QTableView, QWidget

from app.studio import Studio
from app.theme import SPACE, Role, colour, px
from app.translation import translated
from app.using import estimating_view
from app.using.applying_state import EDITS, ApplyingState
from app.using.estimating_state import EstimatingState
from app.using.nightly import NightlyDialog
from app.widgets import buttons, layouts
from app.widgets.context_menu import context_menu, menu_action
from app.widgets.dialogs import footer
from app.widgets.label_bars import LabelBarsView
from app.widgets.opening import open_path
from app.widgets.table_menu import selected_rows
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.labels import Text, one_line
from app.widgets.text.tagged import CHIPS, Chip, chips, word_spans
from engine.config.tasks import get_head
from engine.data.columns.tags import Span
from engine.data.columns.text_spans import cell_value, parse_annotations
from engine.data.columns.words import split_words
from engine.messages.applying import Applied, FirstPredicted

MAX_COLUMN_WIDTH = 320  # px
MAX_CELL_CHARACTERS = 200


def fit_columns(table: QTableView) -> None:
    """Give each column the width of its cells, up to a limit; scroll to the predictions."""
    table.resizeColumnsToContents()
    for column in range(table.model().columnCount()):
        table.setColumnWidth(column, min(table.columnWidth(column), px(MAX_COLUMN_WIDTH)))
    bar = table.horizontalScrollBar()
    bar.setValue(bar.maximum())


def preview_columns(preview: FirstPredicted | None) -> list[Column[tuple[str, ...]]]:
    """Columns of the file, muted, then the predicted ones, whose headings are bold."""
    if preview is None:
        return []
    from_file = len(preview.columns) - preview.predicted
    columns = [_preview_column(n, name, n >= from_file) for n, name in enumerate(preview.columns)]
    names = [name.removeprefix("predicted_") for name in preview.columns]
    places = {name: n for n, name in enumerate(names) if n >= from_file}
    if {"words", "tags"} <= places.keys():
        spans = _spans(preview, places["words"], places["tags"])
        columns[places["tags"]] = replace(columns[places["tags"]], roles={CHIPS: spans})
    elif "spans" in places:
        shown = _text_spans(preview, places["spans"])
        columns[places["spans"]] = replace(columns[places["spans"]], roles={CHIPS: shown})
    return columns


def _spans(
    preview: FirstPredicted, words: int, tags: int
) -> Callable[[tuple[str, ...]], tuple[Chip, ...]]:
    """A function from a row to its predicted spans; types have the same colour in all rows."""
    found = {
        row: (split_words(row[words]), word_spans(split_words(row[tags]))) for row in preview.rows
    }
    types = sorted({span.type for _, spans in found.values() for span in spans})
    return lambda row: chips(*found[row], types)


def _text_spans(
    preview: FirstPredicted, column: int
) -> Callable[[tuple[str, ...]], tuple[Chip, ...] | None]:
    """A function from a row to its predicted spans of characters; None if the cell is cut."""
    found = {row: parse_annotations(cell_value(row[column])) for row in preview.rows}
    types = sorted({span.label for spans in found.values() for span, _ in spans or ()})

    def shown(row: tuple[str, ...]) -> tuple[Chip, ...] | None:
        spans = found[row]
        if spans is None:
            return None
        words = [text or "" for _, text in spans]
        return chips(words, [Span(s.label, n, n + 1) for n, (s, _) in enumerate(spans)], types)

    return shown


def _preview_column(index: int, name: str, is_predicted: bool) -> Column[tuple[str, ...]]:
    bold = QFont()
    bold.setBold(True)
    return Column(
        one_line(name, MAX_CELL_CHARACTERS),
        lambda row: one_line(row[index], MAX_CELL_CHARACTERS),
        value=itemgetter(index),
        tooltip=itemgetter(index),
        color=None if is_predicted else lambda _: colour(Role.MUTED),
        title_font=bold if is_predicted else None,
    )


class Outcome(QWidget):
    """Location of the result, counts of the predicted labels, and the least certain rows.

    Signals:
        shown_elsewhere: a page shows the rows.
    """

    shown_elsewhere = Signal()

    def __init__(self, studio: Studio, state: ApplyingState) -> None:
        super().__init__()
        self._studio, self._state = studio, state
        self.summary = Text("", "good", selectable=True)
        self.unsure = Text("", selectable=True)
        self.notes = Text("", "muted", selectable=True)
        self.bars = LabelBarsView()
        self.bars.setSelectionMode(LabelBarsView.SelectionMode.NoSelection)
        self.predictions = layouts.page(
            Text(self.tr("Predictions"), "heading"), self.bars, layouts.STRETCH, spacing=SPACE
        )
        self.model = ColumnsModel[tuple[str, ...]](parent=self)
        self.table = make_table(self.tr("Least certain predictions"), self.model)
        context_menu(self.table).add(self._row_actions)
        self.least = layouts.page(
            Text(self.tr("Least certain predictions"), "heading"), (self.table, 1), spacing=SPACE
        )
        self.close_button = buttons.plain(self.tr("&Close"))
        self.back = buttons.plain(self.tr("&Back"), state.discard_result, "arrow-left")
        self.folder = buttons.plain(
            self.tr("Show in &folder"), lambda: open_path(self._out.parent), "folder-open"
        )
        self.nightly = buttons.plain(self.tr("Every &night…"), self._on_nightly, "moon")
        self.review = buttons.plain(self.tr("&Review the unsure rows"), self._on_review, "pencil")
        self.estimate = buttons.plain(
            self.tr("Corrected &estimates…"), self._on_estimate, "chart-line"
        )
        self.open = buttons.primary(self.tr("&Open file"), self._on_open, "file-text")
        parts = layouts.row((self.predictions, 2), (self.least, 3), spacing=5 * SPACE)
        layouts.column(
            self.summary,
            self.unsure,
            self.notes,
            (parts, 1),
            footer(
                *(self.close_button, self.back, self.nightly),
                *(self.folder, self.estimate, self.review, self.open),
            ),
            parent=self,
            spacing=2 * SPACE,
        )

    @property
    def _out(self) -> Path:
        assert self._state.applied is not None  # as while this is shown
        return self._state.applied.out

    def show_state(self) -> None:
        state, applied = self._state, self._state.applied
        assert applied is not None
        self.summary.setText(self._summary_text(applied))
        is_file = state.dataset is None
        text = self.tr("&Open file") if is_file else self.tr("&Open the data set")
        buttons.set_text(self.open, text)
        self.folder.setVisible(is_file)
        self.nightly.setVisible(is_file and state.file is not None)
        self.review.setVisible(not is_file and bool(state.review))
        head = get_head(state.task)
        is_code = head.labels_inputs or (head.predicts_numbers and not head.pools)
        self.estimate.setVisible(is_code and state.format != EDITS)
        unsure = applied.unsure
        self.unsure.setVisible(unsure is not None)
        if unsure is not None:
            below = numbers.percent(state.threshold, 0)
            self.unsure.setText(
                self.tr("%Ln unsure row(s) (probability below {0}).", "", unsure).format(below)
            )
        self.notes.setText("\n".join(map(translated, applied.notes)))
        self.notes.setVisible(bool(applied.notes))
        names = {"answer": self.tr("Answer"), "no answer": self.tr("No answer")}
        if not get_head(state.task).finds_spans:
            names = {}
        counts = {names.get(name, name): count for name, count in applied.counts.items()}
        several = applied.rows if get_head(state.task).is_multi_label else 0
        self.bars.show_labels(counts, several, applied.is_binned)
        self.predictions.setVisible(bool(counts))
        self.model.show_rows(applied.least, self._least_columns(applied))
        fit_columns(self.table)
        self.table.horizontalScrollBar().setValue(0)
        self.least.setVisible(bool(applied.least))
        self.open.setFocus()

    def _summary_text(self, applied: Applied) -> str:
        state, rows = self._state, self.tr("%Ln row(s)", "", applied.rows)
        if state.dataset is None:
            return self.tr("{0} written to {1}.").format(rows, applied.out)
        name = state.dataset.parent.name
        if state.format == EDITS:
            template = self.tr("{0} labelled in “{1}”, as edits that can be undone there.")
        else:
            template = self.tr("{0} written to the data set “{1}”.")
        return template.format(rows, name)

    def _least_columns(self, applied: Applied) -> list[Column[tuple[str, ...]]]:
        """The prediction and its probability, the texts, then the other columns."""
        mapping = self._state.mapping
        first = (applied.prediction, "probability", *(mapping.texts if mapping is not None else ()))
        places = {name: place for place, name in enumerate(first)}
        names = sorted(applied.columns, key=lambda name: places.get(name, len(places)))
        return [_preview_column(applied.columns.index(name), name, False) for name in names]

    def _row_actions(self, menu: QMenu) -> Iterator[QAction]:
        rows, stored = selected_rows(self.table), self._state.stored
        if rows and stored is not None:
            number = int(self.model.row(rows[0])[0])  # of the row in the data set
            request = {"data": stored.folder, "row": number}
            yield menu_action(
                menu,
                self.tr("Show in &data set"),
                partial(self._studio.navigate.emit, "data", request),
                "database",
            )

    def _on_nightly(self) -> None:
        """Offer to do the same every night."""
        state = self._state
        dialog = NightlyDialog(
            *(state.checkpoint, state.name, state.task, self),
            *(state.file, state.mapping, state.described),
        )
        dialog.threshold.setValue(state.threshold)
        dialog.format.setCurrentIndex(max(0, dialog.format.findData(self._out.suffix)))
        dialog.show()

    def _on_estimate(self) -> None:
        """Estimate from the predictions and the hand codes of the same rows."""
        assert self._state.applied is not None
        path = self._state.dataset or self._out
        state = EstimatingState(path, self._state.applied.prediction)
        self.estimating = estimating_view.open_dialog(state, self._studio.notices, self)

    def _on_review(self) -> None:
        title = self.tr("Unsure predictions of “{0}”").format(self._state.name)
        self._close_and_show(
            {"data": self._state.dataset, "rows": self._state.review, "title": title}
        )

    def _on_open(self) -> None:
        if self._state.dataset is None:
            open_path(self._out)
        else:
            self._close_and_show({"data": self._state.dataset})

    def _close_and_show(self, request: dict[str, Any]) -> None:
        self._studio.navigate.emit("data", request)
        self.shown_elsewhere.emit()
