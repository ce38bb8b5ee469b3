"""Words that raise or lower the score of a class."""

from PySide6.QtCore import QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QWidget

from app.explorer import Explorer
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.side import Side
from app.pages.explore.study import Study
from app.tasks import view_of
from app.theme import SPACE
from app.widgets import layouts
from app.widgets.forms.controls import ComboBox
from app.widgets.text.labels import Text, visible
from app.widgets.text.word_effects import Words
from engine.config.tasks import head_of
from engine.messages.explore.occlusion import Occlude, Occluded, WordEffect

VISIBLE_LABELS = 20  # of the open list
CHARACTERS = 22  # of a label in the closed box


class DecidingState(QObject):
    """Word effects on the chosen class, requested in several parts.

    Signals:
        changed: the words, the class, or the reason for none.
    """

    changed = Signal()

    def __init__(self, study: Study, explorer: Explorer, side: int = 0) -> None:
        super().__init__(study)
        self.study, self.side = study, study.both[side]
        self.words: tuple[WordEffect, ...] = ()
        self.left = 0  # words still unknown
        self.explained = ""  # the class that the words support
        self._asked: Occlude | None = None  # the question from its first word on
        self._start = 0
        self.query = LiveQuery(study, explorer, self._question, side)
        self.query.changed.connect(self._on_changed)
        study.label_changed.connect(self.query.renew)

    @property
    def labels(self) -> tuple[str, ...]:
        model = self.side.model
        return model.info.labels if model is not None and model.info is not None else ()

    @property
    def label(self) -> str | None:
        """The class to explain; “” (the prediction) if the model lacks the chosen one."""
        chosen = self.study.label
        return chosen if chosen is None or chosen in self.labels else ""

    @property
    def problem(self) -> str:
        """The reason for no words, or “”."""
        refusal = self.query.refusal
        return refusal.phrase if refusal is not None else ""

    def _question(self, side: Side) -> Occlude | None:
        label = self.label
        if label is None or side.task is None or not is_explained(side.task):
            self._asked = None
            return None
        asked = side.asked(Occlude, label=label)
        if asked != self._asked:
            self._asked, self._start = asked, 0
        return asked.model_copy(update={"start": self._start}) if asked is not None else None

    def _on_changed(self) -> None:
        answer = self.query.answer
        if answer is None:
            self.words, self.left = (), 0
        elif isinstance(answer, Occluded) and not self.query.is_waiting:
            before = self.words[: self._start]
            self.words, self.explained = (*before, *answer.words), answer.label
            self.left = answer.total - len(self.words)
            if answer.next is not None and answer.next != self._start:
                self._start = answer.next
                self.query.ask()
        self.changed.emit()


def is_explained(task: str) -> bool:
    """True if the task gives the whole text one score, which words can influence."""
    head = head_of(task)
    return not head.reads_tokens and not head.pools and not view_of(task).asks_for_choices


class DecidingView(QWidget):
    def __init__(self, state: DecidingState) -> None:
        super().__init__()
        self._state = state
        self._labels: tuple[str, ...] | None = None
        self.choice = ComboBox()
        self.choice.setAccessibleName(self.tr("Class whose words are shown"))
        self.choice.setMaxVisibleItems(VISIBLE_LABELS)
        self.choice.setMinimumContentsLength(CHARACTERS)
        self.choice.setSizeAdjustPolicy(
            ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.choice.activated.connect(lambda _: state.study.choose_label(self.choice.currentData()))
        self.words = Words(self.tr("Words and their effects"))
        self.note = Text("", "muted")
        head = layouts.row(
            Text(self.tr("Words that decided for"), "strong", wraps=False),
            self.choice,
            layouts.STRETCH,
            spacing=2 * SPACE,
        )
        layouts.column(
            head,
            self.words,
            self.note,
            parent=self,
            spacing=2 * SPACE,
            margins=(0, 2 * SPACE, 0, 0),
        )
        state.changed.connect(self.show_state)
        state.study.label_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        state = self._state
        if state.labels != self._labels:
            self._labels = state.labels
            with QSignalBlocker(self.choice):
                self.choice.clear()
                self.choice.addItem(self.tr("Nothing (not computed)"), None)
                self.choice.addItem(self.tr("The prediction"), "")
                for label in state.labels:
                    self.choice.addItem(visible(label), label)
        data = [self.choice.itemData(number) for number in range(self.choice.count())]
        self.choice.setCurrentIndex(data.index(state.label))
        self.words.show_words(state.words)
        self.words.setVisible(bool(state.words))
        self.note.setText(self._note())
        self.note.setVisible(bool(self.note.text()))

    def _note(self) -> str:
        if self._state.problem:
            return self._state.problem
        if not self._state.words:
            return ""
        if self._state.left:
            return self.tr("%Ln word(s) left …", "", self._state.left)
        if not self._state.explained:
            return self.tr(
                "By how much the number falls when the word is replaced by [MASK]: above 0 the "
                "word raises it, below 0 it lowers it."
            )
        return self.tr(
            "By how much the logit of “{0}” falls when the word is replaced by [MASK]: above 0 the "
            "word speaks for it, below 0 against it."
        ).format(self._state.explained)
