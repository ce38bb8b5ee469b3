"""Labels described in words, tried on the typed text and applied to rows (zero-shot)."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPlainTextEdit, QWidget

from app.studio import Studio
from app.tasks.multi_label import LabelsView
from app.tasks.prediction_view import PredictionInput, PredictionView
from app.tasks.text_classification import ClassesView
from app.theme import SPACE
from app.timers import debounced
from app.translation import translated
from app.using.trying_view import TYPING_PAUSE_MS
from app.widgets import buttons, layouts
from app.widgets.help import HelpButton
from app.widgets.screen import set_shown
from app.widgets.text.labels import Text, height_of_lines
from engine.config.tasks import get_head
from engine.config.zero_shot import TEMPLATE, Described, Way, describe
from engine.errors import StudioError
from engine.messages.explore.prediction import PredictByDescriptions, Predicted
from engine.messages.question import Answer, Refused

BOX_LINES = 4


class DescribingState(QObject):
    """The label of the typed text by descriptions. No widgets.

    Signals:
        changed: any part of the state.
    """

    changed = Signal()

    def __init__(self, studio: Studio, checkpoint: Path, way: Way) -> None:
        super().__init__()
        self._explorer, self._checkpoint, self.way = studio.explorer, checkpoint, way
        self.text = ""
        self.described: Described | None = None
        self.predicted: Predicted | None = None
        self.problem: Refused | None = None
        self._question = 0
        self._explorer.answered.connect(self._on_answer)

    def set_text(self, text: str) -> None:
        self.text = text
        self._ask()

    def describe(self, lines: str, template: str = TEMPLATE, several: bool = False) -> None:
        """Use the described labels, one in each line."""
        described = [line for line in lines.splitlines() if line.strip()]
        self.described = self.problem = None
        try:
            if len(described) > 1:
                self.described = describe(described, template, several)
        except StudioError as error:
            self._question, self.predicted = 0, None
            self.problem = Refused(problem=error.problem, advice=error.advice)
            self.changed.emit()
            return
        self._ask()

    def _ask(self) -> None:
        if self.described is None or not self.text.strip():
            self._question, self.predicted = 0, None
            self.changed.emit()
            return
        self.problem = None
        self._question = self._explorer.ask(
            PredictByDescriptions(
                checkpoint=self._checkpoint, text=self.text, described=self.described
            )
        )
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._question or not self._question or not answer.is_final:
            return
        self._question = 0
        self.predicted = answer if isinstance(answer, Predicted) else None
        self.problem = answer if isinstance(answer, Refused) else None
        self.changed.emit()


class DescribingView(QWidget):
    """A box with a description of each label, and the probabilities of the labels.

    Signals:
        apply_requested: described labels to give to the rows of a file or a data set.
    """

    apply_requested = Signal(object)

    def __init__(self, state: DescribingState) -> None:
        super().__init__()
        self.state = state
        self.box = QPlainTextEdit()
        self.box.setAccessibleName(self.tr("Labels with descriptions"))
        self.box.setPlaceholderText(
            self.tr("sport: matches, players and results\npolitics: elections and governments")
        )
        self.box.setTabChangesFocus(True)
        self.box.document().setDocumentMargin(SPACE / 2)
        self.box.setFixedHeight(height_of_lines(self.box, BOX_LINES))
        self.template = QLineEdit(TEMPLATE)
        self.template.setAccessibleName(self.tr("Hypothesis"))
        self.several = QCheckBox(self.tr("A text may have &several labels"))
        pause = debounced(self, TYPING_PAUSE_MS, self._settle)
        self.box.textChanged.connect(pause.start)
        self.template.textChanged.connect(pause.start)
        self.several.toggled.connect(lambda _: self._settle())
        self.status = Text("", "muted")
        self.classes, self.labels = ClassesView(), LabelsView()
        self.apply_button = buttons.plain(
            self.tr("Appl&y these labels…"), self._on_apply, "file-text"
        )
        head = layouts.row(
            Text(self.tr("Labels by description"), "strong", wraps=False),
            HelpButton("zero-shot"),
            layouts.STRETCH,
            self.apply_button,
            spacing=2 * SPACE,
        )
        self.nli_options = QWidget()
        layouts.row(
            Text(self.tr("Hypothesis"), wraps=False),
            (self.template, 1),
            self.several,
            parent=self.nli_options,
            spacing=3 * SPACE,
        )
        set_shown(self.nli_options, state.way == "entailment")
        column = layouts.column(
            *(head, self.box, self.nli_options, self.status),
            parent=self,
            spacing=2 * SPACE,
            margins=(0, 4 * SPACE, 0, 0),
        )
        for view in (self.classes, self.labels):
            view.note.hide()  # it is about masked tokens and stored thresholds
            column.addWidget(view)
        state.changed.connect(self.show_state)
        self.show_state()

    def _settle(self) -> None:
        self.state.describe(self.box.toPlainText(), self.template.text(), self.several.isChecked())

    def _on_apply(self) -> None:
        self._settle()
        if self.state.described is not None:
            self.apply_requested.emit(self.state.described)

    def show_state(self) -> None:
        state = self.state
        for view in (self.classes, self.labels):
            is_chosen = state.predicted is not None and view is self._view(state.predicted.task)
            if state.predicted is not None and is_chosen:
                view.show_prediction(state.predicted, PredictionInput(state.text))
            view.setVisible(is_chosen)
        self.apply_button.setEnabled(state.described is not None)
        self.status.setText(self._status())
        self.status.set_style("bad" if state.problem else "muted")
        self.status.setVisible(bool(self.status.text()))

    def _view(self, task: str) -> PredictionView:
        return self.labels if get_head(task).is_multi_label else self.classes

    def _status(self) -> str:
        if self.state.problem is not None:
            return translated(self.state.problem.phrase)
        if self.state.predicted is not None:
            return ""
        if self.state.way == "vectors":
            return self.tr(
                "Write a label with a description in each line; the first text gets the nearest "
                "one. No label is trained."
            )
        return self.tr(
            "Write a label with a description in each line. The model scores if the hypothesis "
            "with the description in place of {} follows from the first text; a description that "
            "ends with a full stop is a hypothesis as it is. No label is trained."
        )
