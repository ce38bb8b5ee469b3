"""Cards that describe a data set: labels, lengths, properties."""

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app import background
from app.library import ModelEntry
from app.pages.data.dataset.histogram import LengthHistogram, NumberHistogram
from app.pages.data.dataset.state import DatasetState
from app.pages.data.texts import dataset_facts
from app.theme import SPACE
from app.using.estimating_state import is_machine
from app.widgets import buttons, layouts
from app.widgets.buttons import Segments
from app.widgets.facts import Facts
from app.widgets.forms.checkpoint_box import CheckpointBox
from app.widgets.forms.target_box import TargetBox
from app.widgets.label_bars import LabelBarsView, balance_text
from app.widgets.page import Card
from app.widgets.progress import ProgressLine
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from engine.config.dataset import DatasetSpec
from engine.data.columns.fit import unlabelled_rows
from engine.data.columns.label_sets import count_label_sets
from engine.data.columns.numbers import is_scale
from engine.data.datasets.importing import label_notes
from engine.phrases import join

MAX_LENGTHS = (64, 128, 256, 512)  # tokens, to choose from
MAX_NOTES = 20
MAX_SPELLINGS = 5


class LabelsCard(Card):
    """Label counts.

    Signals:
        chosen: the label whose rows to show, None for all.
        estimate_requested: estimate proportions from predictions and hand codes.
    """

    chosen = Signal(object)
    estimate_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.choice: str | None = None
        self.title = Text(self.tr("Labels"), "heading")
        self.target = TargetBox()
        self.balance = Text("", "muted")
        self.bars = LabelBarsView()
        self.show_all = buttons.quiet(self.tr("Sh&ow all labels"), self.bars.clearSelection)
        self.show_all.hide()
        self.estimate = buttons.quiet(
            self.tr("Corrected estimates…"), self.estimate_requested.emit, "chart-line"
        )
        self.scale = NumberHistogram()
        self.scale.hide()
        self.spellings = Text("", "warn")
        self.spellings.hide()
        layouts.extend(self.body, self.title, self.target, self.balance, self.spellings)
        layouts.extend(self.body, self.bars, self.scale, self.show_all, self.estimate)
        self.bars.chosen.connect(self._on_chosen)

    def show_spans(self, spans: dict[str, int], column: str, unlabelled: int) -> None:
        """Show how many spans of each type, or words with each tag, `column` has."""
        self.title.setText(self.tr("%Ln type(s) of tags", "", len(spans)))
        self.balance.setText(
            self.tr(
                "Counts in the column “{0}”: spans by type, or words by tag where the tags mark no "
                "spans."
            ).format(column[:100])
        )
        if unlabelled:
            note = self.tr("%Ln row(s) have no tags.", "", unlabelled)
            self.balance.setText(f"{self.balance.text()} {note}")
        self.bars.setSelectionMode(LabelBarsView.SelectionMode.NoSelection)
        self.bars.setVisible(bool(spans))
        self.bars.show_labels(spans)
        self.show_spellings(spans)

    def show_text_spans(
        self, spans: dict[str, int], column: str, unlabelled: int, overlaps: int
    ) -> None:
        """Show how many spans of characters with each label `column` has."""
        self.show_spans(spans, column, 0)
        self.title.setText(self.tr("%Ln span label(s)", "", len(spans)))
        parts = [self.tr("Spans in the column “{0}”, by label.").format(column[:100])]
        if overlaps:
            parts.append(self.tr("%Ln span(s) overlap a longer one.", "", overlaps))
        if unlabelled:
            parts.append(self.tr("%Ln row(s) have no label.", "", unlabelled))
        self.balance.setText(" ".join(parts))

    def show_spec(self, spec: DatasetSpec) -> None:
        """Show the labels in the form that suits the data set."""
        mapping, rows = spec.mapping, sum(spec.rows.values())
        unlabelled = sum(unlabelled_rows(spec).values())
        self.scale.hide()
        self.estimate.setVisible(any(map(is_machine, spec.columns)))
        if mapping.tags is not None and spec.has_text_spans:
            self.show_text_spans(spec.spans, mapping.tags, unlabelled, spec.overlaps)
        elif mapping.tags is not None:
            self.show_spans(spec.spans, mapping.tags, unlabelled)
        elif mapping.flags:
            self.show_multi_label(spec.labels, rows, unlabelled)
        elif mapping.answers is not None:
            self.show_answers(spec.empty.get(mapping.answers, 0), spec.missing_answers)
        elif mapping.endings:
            self.show_endings(spec.labels)
        elif mapping.label is None:
            self.show_labels(None)
        elif is_scale(spec.labels):
            self.show_scale(spec.labels)
        elif (label_sets := count_label_sets(spec.labels)) is not None:
            self.show_multi_label(label_sets, rows)
        else:
            self.show_labels(spec.labels)

    def show_scale(self, labels: dict[str, int]) -> None:
        """Show the distribution of numbers."""
        self.bars.hide()
        self.scale.show()
        self.scale.show_numbers(labels)
        self.title.setText(self.tr("Numbers"))
        self.balance.setText(self.scale.accessibleDescription())

    def show_multi_label(self, labels: dict[str, int], rows: int, unlabelled: int = 0) -> None:
        """Show label counts of rows that may have any number of labels, or none yet."""
        self.bars.setVisible(bool(labels))
        self.title.setText(self.tr("%Ln label(s)", "", len(labels)))
        mean = numbers.decimal(sum(labels.values()) / max(rows - unlabelled, 1), 1)
        self.balance.setText(self.tr("Labels per row: {0} on average.").format(mean))
        self.bars.show_labels(labels | ({"": unlabelled} if unlabelled else {}), rows)
        self.show_spellings(labels)

    def show_answers(self, empty: int, missing_answers: int) -> None:
        """Show how many questions have no answer, and how many answers are not in their passage."""
        self.bars.hide()
        self.title.setText(self.tr("Answers"))
        texts = []
        if empty:
            texts.append(self.tr("%Ln question(s) without an answer in the passage.", "", empty))
        if missing_answers:
            texts.append(
                self.tr("%Ln answer(s) that the passage does not contain.", "", missing_answers)
            )
        complete = self.tr("Every question has an answer in its passage.")
        self.balance.setText(" ".join(texts) or complete)

    def show_endings(self, labels: dict[str, int]) -> None:
        """Show how often each choice is correct, if known."""
        self.show_labels(labels)
        self.title.setText(self.tr("Correct choice"))
        self.balance.setText(
            self.tr("Rows by correct choice.")
            if labels
            else self.tr("The rows have choices, but no label says which is correct.")
        )

    def show_labels(self, labels: dict[str, int] | None) -> None:
        """Show label counts; None if the rows have no labels."""
        self.bars.setVisible(bool(labels))
        if labels:
            self.title.setText(self.tr("%Ln label(s)", "", sum(map(bool, labels))))
            self.balance.setText(balance_text(labels))
            self.bars.show_labels(labels)
            self.show_spellings(labels)
        else:
            self.balance.setText(
                self.tr("The rows have no labels. Label them, or use them for pre-training.")
            )

    def show_spellings(self, labels: dict[str, int]) -> None:
        """Name labels that seem to be one label in several spellings."""
        background.run(self, lambda: label_notes(labels)[:MAX_SPELLINGS], self._on_spellings)

    def _on_spellings(self, notes: list[str]) -> None:
        self.spellings.setText(join("\n", notes))
        self.spellings.setVisible(bool(notes))

    def _on_chosen(self, label: str | None) -> None:
        self.choice = label
        self.show_all.setVisible(label is not None)
        self.chosen.emit(label)


class LengthsCard(Card):
    """Token counts of the rows for one tokenizer, and what a max. length would truncate."""

    def __init__(self, state: DatasetState, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Lengths in tokens"), parent)
        self._state = state
        self.model = CheckpointBox()
        self.model.setAccessibleName(self.tr("Model whose tokenizer is used"))
        self.model.picked.connect(lambda entry: state.measure_with(entry.path))
        self.progress = ProgressLine(self.tr("Counting tokens"))
        self.progress.cancelled.connect(state.stop_measuring)
        self.problem = Text("", "muted")
        self.histogram = LengthHistogram()
        self.summary = Text("", "muted")
        self.limits = Segments(
            [str(length) for length in MAX_LENGTHS], self.tr("Max. length (tokens)")
        )
        self.limits.choose(MAX_LENGTHS.index(128))
        self.limits.chosen.connect(lambda _: self._show())
        self.truncated = Text("", "strong")
        parts = (self.model, self.progress, self.problem, self.histogram, self.summary)
        layouts.extend(self.body, *parts, SPACE, self.limits, self.truncated)
        state.measured.connect(self._show)
        self._show()

    def set_models(self, models: list[ModelEntry]) -> None:
        """Set the models; the first usable one is selected."""
        self.model.set_models(models)
        usable = next((model for model in models if model.info is not None), None)
        if self.model.chosen() is None and usable is not None:
            self.model.choose(usable.path)
            self._state.measure_with(usable.path)
        self._show()

    def _show(self) -> None:
        state, lengths = self._state, self._state.lengths
        limit = MAX_LENGTHS[max(self.limits.choice(), 0)]
        self.histogram.show_lengths(lengths, limit)
        is_known = lengths is not None and lengths.rows > 0
        for widget in (self.histogram, self.summary, self.limits, self.truncated):
            widget.setVisible(is_known)
        self._show_progress()
        problem = state.lengths_problem
        if not problem and state.tokenizer is None and not state.is_measuring:
            problem = self.tr("Choose a model to count tokens with its tokenizer.")
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem) and not is_known)
        if lengths is None or not is_known:
            return
        self.summary.setText(self.histogram.accessibleDescription())
        rows = lengths.count_longer(limit)
        self.truncated.setText(
            self.tr("{0} of the rows ({1}) would be truncated to {2} tokens.").format(
                numbers.percent(rows / lengths.rows), numbers.count(rows), limit
            )
            if rows
            else self.tr("No row is longer than {0} tokens.").format(limit)
        )

    def _show_progress(self) -> None:
        if not self._state.is_measuring:
            self.progress.end()
            return
        done, total = self._state.lengths_progress
        if self.progress.isHidden() or not done:
            self.progress.begin(self.tr("Counting tokens"))
        if total:
            self.progress.show_progress(done, total)


class DetailsCard(Card):
    """Source of the rows, how they were read, and notes.

    Signals:
        split_requested: split the rows again.
    """

    split_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Details"), parent)
        self.facts = Facts(self.tr("Details"))
        self.split = buttons.quiet(self.tr("Spl&it again…"), self.split_requested.emit)
        self.notes = Text("", "muted", selectable=True)
        row = layouts.row(self.split, layouts.STRETCH)
        layouts.extend(self.body, self.facts, row, self.notes)

    def show_spec(self, spec: DatasetSpec, folder: Path, source: str) -> None:
        self.facts.show_facts(dataset_facts(spec, folder, source))
        notes = [*spec.notes[:MAX_NOTES]]
        if len(spec.notes) > MAX_NOTES:
            notes.append(self.tr("… and %Ln more", "", len(spec.notes) - MAX_NOTES))
        self.notes.setText(join("\n", notes))
        self.notes.setVisible(bool(notes))
