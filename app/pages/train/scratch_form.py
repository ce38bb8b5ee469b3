"""The size of a fresh network, and where its vocabulary comes from."""

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QSpinBox, QVBoxLayout, QWidget

from app.library import ModelEntry
from app.pages.train import advice
from app.pages.train.choices import OWN_SIZE, Scratch, Step
from app.pages.train.entries import model_of
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.widgets import buttons
from app.widgets.form import SpecForm
from app.widgets.page import Card, labelled
from app.widgets.text import Text, plain_menu_text
from engine.spec.fields import fields_at
from engine.spec.model import PRESETS, BertSpec

SIZES = (*PRESETS, OWN_SIZE)
OWN_FIELDS = fields_at(BertSpec, "simple", "advanced")


class ScratchForm(QWidget):
    """Preset sizes or one's own; a new vocabulary or that of a model."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self._showing = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 2 * SPACE, 0)
        column.setSpacing(4 * SPACE)
        column.addWidget(self._size_card())
        column.addWidget(self._vocabulary_card())
        column.addStretch()
        state.changed.connect(self._show)
        state.listed.connect(self._list_models)
        self._list_models()
        self._show()

    def focus(self) -> None:
        """Give the keyboard to the size that is chosen."""
        self.sizes.group.button(max(0, self.sizes.choice())).setFocus()

    # ── size ─────────────────────────────────────────────────────────────────────────────────

    def _size_card(self) -> Card:
        card = Card(self.tr("Size"))
        titles = [*PRESETS, self.tr("own")]
        self.sizes = buttons.Segments(titles, self.tr("Size"))
        self.sizes.chosen.connect(self._on_size)
        self._size_note = Text("", "muted")
        self.own = SpecForm(BertSpec, OWN_FIELDS)
        self.own.changed.connect(self._on_own)
        card.body.addWidget(self.sizes)
        card.body.addWidget(self._size_note)
        card.body.addWidget(self.own)
        self.head_start = QCheckBox(self.tr("&Head start (not in the paper)"))
        self.head_start.setAccessibleName(self.tr("Head start (not in the paper)"))
        self.head_start.toggled.connect(lambda on: self._change(head_start=on))
        card.body.addWidget(self.head_start, 0, Qt.AlignmentFlag.AlignLeft)
        card.body.addWidget(
            Text(
                self.tr(
                    "Begins with word vectors from counts and with heads that look at the nearest"
                    " words, instead of chance alone. It saves a small budget many steps."
                ),
                "muted",
            )
        )
        return card

    def _on_size(self, number: int) -> None:
        self._change(size=SIZES[number])
        wrong = self.own.problems() if SIZES[number] == OWN_SIZE else {}
        self._state.set_invalid(Step.START, next(iter(wrong.values()), ""))

    def _on_own(self) -> None:
        if self._showing:
            return
        problems = self.own.problems()
        if problems:
            self._state.set_invalid(Step.START, next(iter(problems.values())))
            return
        kept = self._state.choices.scratch.own.model_dump()
        self._change(own=BertSpec.model_validate({**kept, **self.own.value()}))
        self._state.set_invalid(Step.START, "")

    # ── vocabulary ───────────────────────────────────────────────────────────────────────────

    def _vocabulary_card(self) -> Card:
        card = Card(self.tr("Vocabulary"))
        self.source = buttons.Segments(
            [self.tr("New, from the texts"), self.tr("That of a model")], self.tr("Vocabulary")
        )
        self.source.chosen.connect(self._on_source)
        self.pieces = QSpinBox()
        self.pieces.setRange(100, 200_000)
        self.pieces.setSingleStep(1000)
        self.pieces.setGroupSeparatorShown(True)
        self.pieces.valueChanged.connect(lambda value: self._change(pieces=value))
        self.lowercase = QCheckBox(self.tr("Ignore &case and accents"))
        self.lowercase.setAccessibleName(self.tr("Ignore case and accents"))
        self.lowercase.toggled.connect(lambda on: self._change(lowercase=on))
        self._new = QWidget()
        row = QHBoxLayout(self._new)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4 * SPACE)
        row.addLayout(labelled(self.tr("Word pieces"), self.pieces))
        row.addWidget(self.lowercase)
        row.addStretch()
        self.models = QComboBox()
        self.models.setAccessibleName(self.tr("Model whose vocabulary is taken"))
        self.models.activated.connect(self._on_model)
        card.body.addWidget(self.source)
        card.body.addWidget(self._new)
        card.body.addWidget(self.models)
        card.body.addWidget(
            Text(
                self.tr(
                    "A new vocabulary suits a language or field of its own; 8,000 pieces are enough"
                    " for some megabytes of text, BERT used 30,522."
                ),
                "muted",
            )
        )
        return card

    def _list_models(self) -> None:
        self.models.clear()
        for entry in self._usable():
            self.models.addItem(plain_menu_text(entry.name), entry.path)
        self.source.group.button(1).setEnabled(self.models.count() > 0)
        self._show()

    def _usable(self) -> list[ModelEntry]:
        return [entry for entry in self._state.models or () if entry.info is not None]

    def _on_source(self, number: int) -> None:
        if number == 0:
            self._change(vocabulary=None)
        else:
            self._on_model(max(0, self.models.currentIndex()))

    def _on_model(self, number: int) -> None:
        entries = self._usable()
        if number < len(entries):
            self._change(vocabulary=model_of(entries[number]))

    # ── both ─────────────────────────────────────────────────────────────────────────────────

    def _change(self, **changes: object) -> None:
        if self._showing:
            return
        scratch: Scratch = replace(self._state.choices.scratch, **changes)  # type: ignore[arg-type]
        self._state.set(replace(self._state.choices, scratch=scratch))

    def _show(self) -> None:
        self._showing = True
        scratch = self._state.choices.scratch
        self.sizes.choose(SIZES.index(scratch.size))
        spec = scratch.own if scratch.size == OWN_SIZE else PRESETS[scratch.size]
        self._size_note.setText(advice.describe(spec))
        self.own.setVisible(scratch.size == OWN_SIZE)
        if self.own.is_valid() and not self.own.hasFocus():
            shown = {name: getattr(scratch.own, name) for name in OWN_FIELDS}
            if self.own.value() != shown:
                self.own.set_value(shown)
        new = scratch.vocabulary is None
        self.source.choose(0 if new else 1)
        self._new.setVisible(new)
        self.models.setVisible(not new)
        self.pieces.setValue(scratch.pieces)
        self.lowercase.setChecked(scratch.lowercase)
        self.head_start.setChecked(scratch.head_start)
        if scratch.vocabulary is not None:
            self.models.setCurrentIndex(self.models.findData(scratch.vocabulary.path))
        self._showing = False
