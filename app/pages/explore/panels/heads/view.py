"""Controls, grid and table of the head statistics."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QModelIndex, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView

from app.notices import Notices
from app.pages.explore.captions import source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.comparison import replacement_box
from app.pages.explore.head_heatmap import HeadHeatmap, grid_size, paint_grid
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.heads.state import DEFAULT_MAX_FALL, OFFSET, SHARE, HeadsState, Method
from app.pages.explore.set_bar import Results, SetBar
from app.resources import mono_font
from app.theme import SPACE, print_color, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.forms.controls import DoubleSpinBox
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.numbers import count, decimal
from engine.messages.explore.text_set import HeadsCounted, HeadsPruned


def panel() -> PanelDescription:
    title = tr("Heads")
    return PanelDescription(
        "heads", title, icon="layers", help="heads", make=_make, works_on_texts=True
    )


def _make(context: PanelContext) -> MakePanel:
    state = HeadsState(context.explore, context.home, context.one_time_worker)
    return lambda: HeadsView(state, context.notices, context.models_changed)


class HeadsView(Panel):
    """Statistics of all heads; the chosen head is shared with all panels."""

    def __init__(
        self,
        state: HeadsState,
        notices: Notices,
        models_changed: Callable[[], object] = lambda: None,
    ) -> None:
        """`models_changed` is called after a model was saved."""
        super().__init__()
        self._notices, self._models_changed = notices, models_changed
        self._state, self._explore = state, state.explore
        self.bar = SetBar(state.work, state.explore, self.tr("Comp&ute"), state.count)
        self.figure_button = FigureButton(partial(make_figure, state), notices)
        self.method = ChoiceBox(
            self.tr("Measure per head"),
            [
                ("patterns", self.tr("Attention patterns")),
                ("importance", self.tr("Importance (gradient)")),
                ("each", self.tr("Importance by ablation (slow)")),
                ("prune", self.tr("Pruning (slow)")),
            ],
        )
        self.method.chosen.connect(self._on_method)
        self.replacement = replacement_box()
        self.replacement.chosen.connect(state.replace_by)
        self.fall = DoubleSpinBox(self.tr("Maximum fall of the metric, in points"))
        self.fall.setRange(0, 100)
        self.fall.setSingleStep(0.5)
        self.fall.setDecimals(1)
        self.fall.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.fall.setValue(100 * DEFAULT_MAX_FALL)
        self.fall.setPrefix(self.tr("max. fall "))
        self.fall.setSuffix(self.tr(" points"))
        self.fall.valueChanged.connect(lambda points: state.allow_fall(points / 100))
        self.save = buttons.plain(self.tr("Sa&ve as model"), state.save, "save")
        for index, widget in enumerate((self.method, self.replacement, self.fall)):
            self.bar.line.insertWidget(index, widget)
        self.bar.line.addWidget(self.save)
        self.bar.line.addWidget(self.figure_button)
        self.title = OneLine("", "strong")
        self.grid = HeadHeatmap(self.tr("Grid of heads"))
        self.grid.describe = lambda layer, head: state.describe(state.column, layer, head)
        self.figure_button.offer_on(self.grid)
        self.rows = HeadsModel(state)
        self.table = make_table(self.tr("Heads over texts"), self.rows)
        self.table.setMinimumHeight(px(24 * SPACE))
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setMinimumSectionSize(14 * SPACE)
        self.table.setSortingEnabled(True)
        self.note = Text("", "small")
        left = layouts.column(self.title, (self.grid, 1), spacing=SPACE)
        self.results = Results(
            layouts.page(layouts.row((left, 2), (self.table, 3), spacing=4 * SPACE)),
            "layers",
            self.tr("Attention patterns per head"),
            self.tr(
                "Averaged over many texts, with 95 % intervals; or importance for the "
                "loss, and pruning."
            ),
        )
        layouts.column(
            self.bar,
            (self.results, 1),
            self.note,
            parent=self,
            spacing=SPACE,
            margins=(0, SPACE, 0, 0),
        )
        self._is_following = False
        self.grid.picked.connect(self._explore.pick_head)
        self.table.selectionModel().currentRowChanged.connect(self._on_current)
        self._explore.head_changed.connect(lambda *_: self._follow())
        state.changed.connect(self.show_state)
        state.saved.connect(self._on_saved)
        state.not_saved.connect(
            lambda refusal: notices.error(refusal.problem, refusal.advice, refusal.details)
        )
        state.column_changed.connect(self._show_column)
        self.show_state()

    def show_state(self) -> None:
        state = self._state
        self.replacement.setVisible(state.method == "each")
        self.fall.setVisible(state.method == "prune")
        self.save.setVisible(state.method == "prune" and state.pruned is not None)
        self.save.setEnabled(state.can_save)
        self.results.show_results(state.answer is not None)
        self._is_following = True
        has_new_columns = self.rows.refresh()
        self._is_following = False
        if has_new_columns:
            header = self.table.horizontalHeader()
            column, descending = self.rows.column_index(state.column), Qt.SortOrder.DescendingOrder
            header.setSortIndicator(column, descending)
            self.rows.sort(column, descending)  # also if another column was in this position
            header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
            self.table.scrollTo(self.rows.index(0, 0))
        self._show_column()
        self.figure_button.refresh()

    def _show_column(self) -> None:
        state = self._state
        is_known = state.column in state.keys
        self.title.setText(state.name(state.column) if is_known else "")
        values = state.interval(state.column)[0] if is_known else None
        self.grid.show_values(values, state.is_signed)
        self.grid.setEnabled(is_known)
        self._follow()

    def _follow(self) -> None:
        layer, head = self._explore.layer, self._explore.head
        layers, heads = self._state.size
        if layers:
            layer, head = min(layer, layers - 1), min(head, heads - 1)
        self.grid.choose(layer, head)
        row = self.rows.row_index(layer, head)
        self._is_following = True
        if row >= 0:
            self.table.selectRow(row)
        self._is_following = False
        self.note.setText(self._note(layer, head))

    def _on_method(self, method: Method) -> None:
        self._state.choose_method(method)
        self.show_state()

    def _on_saved(self, folder: Path) -> None:
        self._models_changed()
        self._notices.info(
            self.tr("“{0}” was saved among the models.").format(folder.name),
            self.tr("Open in Explore"),
            lambda: self._explore.model_requested.emit(folder),
        )

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid() and not self._is_following:
            self._explore.pick_head(*self.rows.row(now.row()))

    def _note(self, layer: int, head: int) -> str:
        state = self._state
        answer, chosen = state.answer, state.source
        if answer is None or chosen is None:
            if state.work.is_running:
                return self.tr("Loading the model …")
            return ""
        parts = [f"{state.describe(state.column, layer, head)}."]
        parts.append(f"{state.meaning(state.column)}.")
        if isinstance(answer, HeadsPruned):
            parts = [parts[0], state.pruning_summary(), *self._other_texts_note()]
            return " ".join(parts)
        texts = self.tr("of %Ln text(s).", "", answer.done)
        if isinstance(answer, HeadsCounted):
            text = self.tr("Means over %Ln token(s) that are not special", "", answer.tokens)
            parts.append(f"{text} {texts}")
        else:
            text = self.tr("Means over the texts; mean loss {0},").format(decimal(answer.loss, 3))
            parts.append(f"{text} {texts}")
        return " ".join([*parts, *self._other_texts_note()])

    def _other_texts_note(self) -> list[str]:
        """A note if the numbers belong to other texts than the chosen ones."""
        chosen = self._state.source
        if chosen is None or chosen == self._explore.chosen:
            return []
        text = self.tr("Other texts are selected now; these numbers are for {0} ({1} texts).")
        return [text.format(chosen.name, count(chosen.count))]


Head = tuple[int, int]  # layer and head, from 0


class HeadsModel(ColumnsModel[Head]):
    """A row per head; the numeric column that is sorted also colours the grid."""

    def __init__(self, state: HeadsState) -> None:
        super().__init__(parent=state)
        self._state = state
        self._keys: tuple[str, ...] = ()

    def refresh(self) -> bool:
        """Update from the state; return True if the columns changed."""
        keys = self._state.keys
        heads = list(np.ndindex(*self._state.size)) if keys else []
        has_new_columns, self._keys = keys != self._keys, keys
        if has_new_columns:
            self.show_rows(heads, self._columns())
        else:
            self.columns = self._columns()
            self.update_rows(heads)
        return has_new_columns

    def column_index(self, key: str) -> int:
        return 2 + self._keys.index(key) if key in self._keys else -1

    def row_index(self, layer: int, head: int) -> int:
        heads = self._state.size[1]
        return self.order.index(layer * heads + head) if head < heads else -1

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        super().sort(column, order)
        if column > 0:
            self._state.show_column(self._keys[column - 2] if column > 1 else SHARE)

    def _columns(self) -> list[Column[Head]]:
        state = self._state
        if not self._keys:
            return []
        pattern = Column[Head](
            self.tr("Pattern"),
            lambda head: state.pattern(*head),
            font=lambda _: mono_font(),
            sort_key=lambda head: state.value(SHARE, *head),
            descending_first=True,
        )
        name = Column[Head](
            self.tr("Head"),
            lambda head: f"{head[0] + 1}.{head[1] + 1}",
            font=lambda _: mono_font(),
            sort_key=lambda head: head,
        )
        return [name, pattern, *map(self._value_column, self._keys)]

    def _value_column(self, key: str) -> Column[Head]:
        state = self._state
        return Column(
            state.name(key),
            lambda head: state.cell(key, *head),
            tooltip=lambda head: state.describe(key, *head),
            font=lambda _: mono_font(),
            align_right=True,
            meaning=state.meaning(key),
            sort_key=lambda head: state.value(key, *head),
            descending_first=True,
        )


def make_figure(state: HeadsState) -> Figure | None:
    """Figure of the displayed column; None until there are numbers."""
    answer, chosen = state.answer, state.source
    if answer is None or chosen is None:
        return None
    keys = state.keys
    arrays = {key: state.interval(key).copy() for key in keys}
    offsets = None if state.counted is None else state.interval(OFFSET)[0].copy()
    values = arrays[state.column][0]
    layers, heads = state.size
    is_signed = state.is_signed

    def paint(painter: QPainter, size: QSizeF) -> None:
        painter.setFont(print_font(11))
        paint_grid(painter, QRectF(QPointF(), size), values, print_color, is_signed)

    def table() -> Table:
        header = ["layer", "head", "offset"]
        for key in keys:
            header += [key, f"{key} low", f"{key} high"]
        return Table(
            tuple(header),
            [
                (
                    layer + 1,
                    head + 1,
                    "" if offsets is None else int(offsets[layer, head]),
                    *(float(v) for key in keys for v in arrays[key][:, layer, head]),
                )
                for layer in range(layers)
                for head in range(heads)
            ],
        )

    name = state.name(state.column)
    meaning = f"{name}: {state.meaning(state.column)}."
    if isinstance(answer, HeadsCounted):
        text = tr("Means over {0} tokens that are not special, in {1} of {2} texts of {3}.").format(
            count(answer.tokens), count(answer.done), count(answer.total), chosen.name
        )
    elif isinstance(answer, HeadsPruned):
        summary = state.pruning_summary()
        text = tr("{0} texts of {1}: {2}").format(count(chosen.count), chosen.name, summary)
    else:
        text = tr("Means over {0} of {1} texts of {2}; the mean loss is {3}.").format(
            count(answer.done), count(answer.total), chosen.name, decimal(answer.loss, 3)
        )
    title = tr("{0} of every head").format(name)
    note = tr("The table has 95 % intervals by a bootstrap over texts.")
    if isinstance(answer, HeadsPruned):
        title = tr("Rounds in which heads were pruned")
        note = tr("Each round prunes a tenth of the heads, the least important first.")
    return Figure(
        name=f"heads-{state.column.replace(' ', '-')}",
        title=title,
        caption=f"{meaning} {text} {note} {source(state.explore)}",
        size=grid_size(values),
        paint=paint,
        array=arrays[state.column],
        table=table,
    )
