"""Second step: the data set, and its rows as the model sees them."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.library import DataEntry
from app.pages.train.choices import Goal
from app.pages.train.pickers import Pick, PickList, more_data
from app.pages.train.preview import Example, Preview
from app.pages.train.requests import Requests
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.forms.target_box import TargetBox
from app.widgets.page import Card, EmptyState, clear, scrolling
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.data_texts import targets_text
from app.widgets.text.labels import Text, one_line
from app.widgets.text.token_row import TokenRow
from engine.config.dataset import DatasetSpec
from engine.config.tasks import HIERARCHICAL, ORDINAL, TASKS
from engine.data.columns.fit import CountedLabels, dataset_problems, label_hint, unlabelled_rows


class DataStep(QWidget):
    """Data sets on the left; the first examples of the chosen one on the right.

    Signals:
        import_requested: import a file.
    """

    import_requested = Signal()

    def __init__(self, state: TrainState, requests: Requests) -> None:
        super().__init__()
        self._state, self._requests = state, requests
        self.list = PickList(self.tr("Data sets"))
        self.list.picked.connect(self._on_picked)
        self._views = QStackedWidget()
        self._views.addWidget(self._chooser())
        self._views.addWidget(self._empty_state())
        layouts.column(self._views, parent=self)
        state.lists.changed.connect(self._show_list)
        state.changed.connect(self._show_list)
        state.preview.changed.connect(self._show_preview)
        self._show_list()
        self._show_preview()

    def _chooser(self) -> QWidget:
        self.import_button = buttons.plain(
            self.tr("&Import…"), self.import_requested.emit, "import"
        )
        head = layouts.row((Text(self.tr("Data sets"), "heading"), 1), self.import_button)
        self.more = more_data(self._state)
        self.target = TargetBox()
        self.target.picked.connect(self._state.choose_target)
        self.hint = Text("", "muted")
        self.learn_order = buttons.plain(
            self.tr("Learn the &order"), lambda: self._state.choose_goal(Goal(ORDINAL))
        )
        self.learn_levels = buttons.plain(
            self.tr("Learn the &levels"), lambda: self._state.choose_goal(Goal(HIERARCHICAL))
        )
        learn = self.learn_order, self.learn_levels
        parts = head, (self.list, 1), self.target, self.hint, *learn, self.more
        left = layouts.column(*parts, spacing=2 * SPACE)
        self.examples = Card(self.tr("Tokenised preview"))
        self._note = Text("", "muted")
        self._rows = layouts.column(spacing=4 * SPACE)
        inner = layouts.page(self._rows, layouts.STRETCH, margins=(0, 0, 2 * SPACE, 0))
        layouts.extend(self.examples.body, self._note, (scrolling(inner), 1))
        widget = QWidget()
        layouts.row((left, 4), (self.examples, 5), parent=widget, spacing=5 * SPACE)
        return widget

    def _empty_state(self) -> QWidget:
        self.sample_button = buttons.plain(self.tr("Use &sample data"), self._requests.load_sample)
        return EmptyState(
            "database",
            self.tr("No data yet"),
            self.tr("Import your own file, or start with the sample data."),
            buttons.primary(self.tr("&Import a file…"), self.import_requested.emit, "import"),
            self.sample_button,
        )

    # ── the list ─────────────────────────────────────────────────────────────────────────────

    def _show_list(self) -> None:
        entries = self._state.lists.datasets
        is_empty = entries is not None and not entries and self._state.choices.data is None
        self._views.setCurrentIndex(1 if is_empty else 0)
        chosen = self._state.choices.data
        entry = self._state.lists.dataset_at(chosen.folder) if chosen and chosen.folder else None
        self.target.show_spec(entry.spec if entry else None, chosen.target if chosen else None)
        folder = chosen.folder if chosen else None
        self.list.show_picks([self._pick(entry) for entry in entries or ()], folder)
        self._show_hint(chosen.spec if chosen is not None else None)

    def _show_hint(self, spec: DatasetSpec | None) -> None:
        """Ask if the order or the levels of labels matter, or show the order that is learned."""
        goal = self._state.choices.goal
        head = TASKS[goal.kind].info.head if goal is not None else None
        labels = spec.labels if spec is not None and spec.mapping.label is not None else {}
        text, offered = "", ""
        if goal is not None and head is not None and head.is_ordinal:
            task = self._state.choices.task
            names = task.label_names(spec, CountedLabels(labels)) if labels else ()
            ordered = " < ".join(one_line(name, 30) for name in names)
            text = self.tr("Order of the labels: {0}").format(ordered) if len(names) > 1 else ""
        elif head is not None and head.classifies and (hint := label_hint(labels)) is not None:
            offered = hint[0] if goal is None or hint[0] != goal.kind else ""
            text = translated(hint[1]) if offered else ""
        self.hint.setText(text)
        set_shown(self.hint, bool(text))
        set_shown(self.learn_order, offered == ORDINAL)
        set_shown(self.learn_levels, offered == HIERARCHICAL)

    def _pick(self, entry: DataEntry) -> Pick:
        if entry.spec is None:
            return Pick(entry.folder, entry.name, "", reason=entry.problem)
        chosen, goal = self._state.choices.data, self._state.choices.goal
        task = self._state.choices.task if goal else None
        is_chosen = chosen is not None and chosen.spec is not None and chosen.folder == entry.folder
        spec = chosen.spec if is_chosen and chosen and chosen.spec else entry.spec
        problems = dataset_problems(spec, task) if task else []
        facts = [
            self.tr("version {0}").format(spec.version),
            self.tr("%Ln row(s)", "", sum(spec.rows.values())),
            self.tr("text: {0}").format(one_line(spec.mapping.template, 60)),
            targets_text(spec),
        ]
        if validation := spec.rows.get("validation"):
            facts.append(self.tr("{0} for validation").format(numbers.count(validation)))
        if unlabelled := sum(unlabelled_rows(spec, task).values()):
            fraction = numbers.percent(unlabelled / sum(spec.rows.values()))
            facts.append(self.tr("{0} without a label").format(fraction))
        return Pick(
            entry.folder,
            entry.name,
            " · ".join(facts),
            warning=translated(problems[0].phrase) if problems else "",
        )

    def _on_picked(self, folder: object) -> None:
        assert isinstance(folder, Path)
        if (entry := self._state.lists.dataset_at(folder)) is not None:
            self._state.choose_data(entry)

    # ── the examples ─────────────────────────────────────────────────────────────────────────

    def _show_preview(self) -> None:
        clear(self._rows)
        self._note.setText(self._note_text())
        self._note.set_style("bad" if self._state.preview.problem else "muted")
        result = self._state.preview.result
        for example in result.examples if result else ():
            self._rows.addWidget(self._example(example, result or Preview((), None)))

    def _note_text(self) -> str:
        preview, choices = self._state.preview, self._state.choices
        if preview.problem is not None:
            return translated(preview.problem.phrase)
        if choices.data is None:
            return self.tr("Choose a data set to see its first rows as tokens.")
        if choices.data.spec is None:
            return self.tr("These are plain files. They are read when the run starts.")
        if preview.result is None:
            return self.tr("Reading the first rows…") if preview.is_reading else ""
        model = self._state.vocabulary()
        if model is not None:
            return self.tr("The first rows as tokens of “{0}”.").format(model.name)
        if choices.from_scratch:
            return self.tr("Plain text: a new vocabulary is trained when the run starts.")
        return self.tr("Plain text: import a model to see the rows as tokens.")

    def _example(self, example: Example, preview: Preview) -> QWidget:
        widget = QWidget()
        column = layouts.column(parent=widget, spacing=SPACE)
        if example.tokens:
            tokens = TokenRow()
            tokens.show_tokens(example.tokens, preview.unknown, example.spans, preview.types)
            column.addWidget(tokens)
        else:
            column.addWidget(Text(example.text))
        if example.label is not None:
            text = self.tr("Label: {0}").format(example.label)
            column.addWidget(Text(text if example.label else self.tr("No label"), "strong"))
        return widget
