"""Starts the search for label errors or suggested labels, and shows its progress."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox

from app.library import ModelEntry
from app.pages.data.dataset.editing.mark_texts import order_titles
from app.pages.data.dataset.editing.ranking import MODEL_ORDERS
from app.pages.data.dataset.editing.review_state import ReviewState
from app.widgets import buttons, layouts
from app.widgets.forms.checkpoint_box import CheckpointBox
from app.widgets.forms.controls import ComboBox
from app.widgets.page import Card
from app.widgets.progress import ProgressLine
from app.widgets.text import numbers
from app.widgets.text.labels import Text, one_line, tooltip
from engine.config.codebook import Drawn
from engine.config.dataset import DatasetSpec
from engine.config.tasks import get_head
from engine.data.columns.fit import unlabelled_rows
from engine.files.shipped import minilm
from engine.messages.question import Working


class ReviewCard(Card):
    """Starts reviews and shows their results. `train_requested`: “Train again” was pressed."""

    train_requested = Signal()

    def __init__(self, state: ReviewState) -> None:
        super().__init__("")
        self._state = state
        self._can_find = self._can_suggest = self.has_models = self._needs_tagger = False
        self._models: tuple[ModelEntry, ...] = ()
        self._labels: tuple[str, ...] = ()
        self.title = Text(self.tr("Correct and label"), "heading")
        self.introduction = Text("", "muted")
        self.model = CheckpointBox(self._why_not)
        self.model.setAccessibleName(self.tr("Model that scores the labels"))
        self.fine_tune = QCheckBox(self.tr("Fine-tune the &model itself (slow)"))
        self.fine_tune.setToolTip(
            tooltip(
                self.tr(
                    "Trains once for each of five folds, and resumes after Cancel. If off, quick "
                    "models are fitted to the words and to the vectors of the frozen model."
                )
            )
        )
        self.find_errors = buttons.plain(
            self.tr("Find likely label &errors"), self._on_find, "scan-search"
        )
        self.orders = ComboBox(self.tr("Rows to label first"))
        self.likely = ComboBox(self.tr("Label that the rows are likely to have"))
        self.suggests = QCheckBox(self.tr("Show suggest&ions"))
        self.suggests.toggled.connect(lambda _: self.show_state())
        self.suggests.setToolTip(
            tooltip(
                self.tr(
                    "The model suggests a label for each row. Until two labels are in use, it "
                    "compares the row with the names and definitions in the codebook. Suggestions "
                    "save time, but may bias your decisions."
                )
            )
        )
        self.control = QCheckBox(self.tr("Every &fifth row at random, for the test set"))
        self.control.setToolTip(
            tooltip(
                self.tr(
                    "These rows are a random sample of all rows; the others keep the chosen "
                    "order. They come up without a suggestion and move to the test set, which "
                    "other rows leave when you label them, so that a score on it holds for all "
                    "rows."
                )
            )
        )
        self.suggest = buttons.plain(self.tr("La&bel rows…"), self._on_suggest, "tag")
        self.progress = ProgressLine(self.tr("Checking the labels"))
        self.progress.cancelled.connect(state.cancel)
        self.result = Text("", "body")
        self.keys = Text("", "muted")
        self.decisions = Text("", "strong")
        self.end = buttons.plain(self.tr("Show &all rows"), state.end)
        self.train = buttons.plain(self.tr("Train a&gain…"), self.train_requested.emit, "play")
        layouts.extend(
            self.body, self.title, self.introduction, self.model, self.fine_tune, self.find_errors
        )
        layouts.extend(self.body, self.orders, self.likely, self.suggests, self.control)
        layouts.extend(self.body, self.suggest, self.progress, self.result)
        layouts.extend(self.body, self.keys, self.decisions, self.train, self.end)
        self.orders.currentIndexChanged.connect(lambda _: self.show_state())
        state.changed.connect(self.show_state)
        state.working.connect(self._on_working)
        self.hide()

    def show_spec(
        self, spec: DatasetSpec, labels: Sequence[str], has_sets: bool, is_number: bool
    ) -> None:
        """Show what these rows allow: models predict labels, sets of them and tags, no numbers."""
        mapping, self._needs_tagger = spec.mapping, spec.mapping.tags is not None
        has_labels = bool(mapping.label_columns) and not mapping.endings
        unlabelled = sum(unlabelled_rows(spec).values())
        self.has_models = has_labels and not is_number
        is_class = mapping.label is not None and self.has_models and not has_sets
        self._can_find = is_class and len(set(spec.labels) - {""}) > 1
        self._can_suggest = bool(unlabelled) and not mapping.endings
        first = "uncertain" if self.has_models and not self._needs_tagger else "file"
        chosen = self.orders.currentData() or first  # often there is no tagger yet
        self.orders.clear()
        for name, title in order_titles().items():
            if self.has_models or name not in MODEL_ORDERS:
                self.orders.addItem(title, name)
        self.orders.setCurrentIndex(max(self.orders.findData(chosen), 0))
        label = self.likely.currentText()
        self.likely.clear()
        self.likely.addItems([one_line(name) for name in labels])
        self.likely.setCurrentIndex(max(self.likely.findText(label), 0))
        self._labels = tuple(labels)
        self.show_count(unlabelled)
        self._choose_model()
        self.setVisible(self._can_find or self._can_suggest)
        self.show_state()

    def show_count(self, unlabelled: int) -> None:
        """Show the number of rows without a label."""
        self.introduction.setText(
            self.tr("%Ln row(s) have no label.", "", unlabelled)
            if unlabelled or not self._can_find
            else self.tr("Each label is scored by models trained without its row.")
        )

    def set_models(self, models: Sequence[ModelEntry]) -> None:
        """Set the models; MiniLM or the first usable one is selected."""
        self._models = tuple(models)
        self.model.set_models(list(models))
        self._choose_model()
        self.show_state()

    def _choose_model(self) -> None:
        """Select MiniLM or the first usable model, unless a usable one is selected."""
        usable = [model for model in self._models if not self._why_not(model)]
        if usable and self.model.chosen() not in usable:
            self.model.choose(min(usable, key=lambda model: model.path != minilm()).path)

    @property
    def suggesting_model(self) -> ModelEntry | None:
        """The chosen model, if it can suggest labels for these rows."""
        return self.model.chosen() if self.has_models else None

    def show_state(self) -> None:
        state, is_on = self._state, self._state.kind in ("errors", "labels")
        can_review, is_free = self._can_find or self._can_suggest, not is_on and not state.is_busy
        self.introduction.setVisible(can_review and not is_on)
        is_ordered = self._order in MODEL_ORDERS
        uses_model = self._can_find or (
            self.has_models and (is_ordered or self.suggests.isChecked())
        )
        self.model.setVisible(can_review and is_free and uses_model)
        self.likely.setVisible(self._can_suggest and is_free and self._order == "likely")
        self.suggests.setVisible(
            self._can_suggest and is_free and self.has_models and not is_ordered
        )
        self.control.setVisible(self._can_suggest and is_free)
        self.fine_tune.setVisible(self._can_find and is_free)
        self.find_errors.setVisible(self._can_find and is_free)
        self.orders.setVisible(self._can_suggest and is_free)
        self.suggest.setVisible(self._can_suggest and is_free)
        for part in (self.result, self.keys, self.decisions, self.end):
            part.setVisible(is_on)
        self.train.setVisible(state.kind == "labels" and bool(state.labelled_rows))
        if not state.is_asking:
            self.progress.end()
        elif self.progress.isHidden():
            self.progress.begin(self.tr("Starting…"))
        if is_on:
            self._show_list()

    def _show_list(self) -> None:
        state = self._state
        labelled = len(state.labelled_rows)
        if state.kind == "errors":
            self.result.setText(
                self.tr(
                    "About {0} of {1} labels are probably wrong. The {2} least credible are "
                    "listed, the worst first."
                ).format(
                    numbers.count(state.likely_errors),
                    numbers.count(state.row_count),
                    numbers.count(len(state.suggestions)),
                )
            )
            self.keys.setText(
                self.tr("Enter: accept the suggestion · Space: keep the label · ↓: skip")
            )
            self.decisions.setText(
                self.tr("{0} corrected, {1} kept").format(
                    numbers.count(labelled), numbers.count(len(state.confirmed))
                )
            )
            return
        self.result.setText(
            self.tr("{0} rows have no label; {1} are listed.").format(
                numbers.count(state.row_count), numbers.count(state.listed)
            )
        )
        if state.from_codebook and state.suggestions:
            note = self.tr("Suggestions from the names and definitions of the labels.")
            self.result.setText(f"{self.result.text()} {note}")
        if count := state.ranking.label_count:
            note = self.tr("Ranked again after %Ln label(s).", "", count)
            self.result.setText(f"{self.result.text()} {note}")
        self.keys.setText(
            (
                self.tr("Enter: accept the suggestion · 1–9: another label · Space: skip")
                if state.is_coding
                else self.tr("Enter: accept the suggestion · 1–9: another label · ↓: skip")
            )
            if state.suggestions
            else self.tr("A key labels the selected words; Enter shows the next row.")
            if state.codes_spans
            else self.tr("A key labels a row and shows the next one.")
        )
        agreement = state.agreement
        self.decisions.setText(
            self.tr("{0} labelled").format(numbers.count(labelled))
            if agreement is None
            else self.tr("{0} labelled, {1} as suggested").format(
                numbers.count(labelled), numbers.percent(agreement)
            )
        )

    def _why_not(self, entry: ModelEntry) -> str:
        if entry.info is None:
            return self.tr("This model cannot be read.")
        is_tagger = entry.info.task is not None and get_head(entry.info.task).marks_text
        return (
            self.tr("This model does not predict tags.")
            if self._needs_tagger and not is_tagger
            else ""
        )

    def _on_find(self) -> None:
        entry = self.model.chosen()
        self._state.find_errors(None if entry is None else entry.path, self.fine_tune.isChecked())

    @property
    def _order(self) -> Drawn:
        order: Drawn = self.orders.currentData() or "file"
        return order

    def _on_suggest(self) -> None:
        entry, is_ordered = self.model.chosen(), self._order in MODEL_ORDERS
        label = self._labels[self.likely.currentIndex()] if self._order == "likely" else ""
        if not is_ordered and not (self.has_models and self.suggests.isChecked()):
            self._state.label_rows(self._order, None, "", self.control.isChecked())
        elif entry is not None:
            self._state.label_rows(self._order, entry.path, label, self.control.isChecked())

    def _on_working(self, working: Working) -> None:
        self.progress.show_progress(working.done, working.total, working.stage)
