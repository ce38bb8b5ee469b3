"""Third step: the base model, or the size of a new network."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QStackedWidget, QWidget

from app.library import ModelEntry
from app.pages.train.choices import BASE_MODEL, CUSTOM_SIZE, Model, Scratch, Step
from app.pages.train.estimate import verdict, verdict_text
from app.pages.train.estimate_box import EstimateBox
from app.pages.train.pickers import Pick, PickList, more_models
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.facts import Facts
from app.widgets.forms.controls import ComboBox, SpinBox
from app.widgets.forms.form import SpecForm
from app.widgets.forms.several import varied_values
from app.widgets.page import Card, labelled, scrolling
from app.widgets.text import numbers
from app.widgets.text.labels import Text, plain_menu_text, tooltip
from app.widgets.text.run_texts import checkpoint_score, provenance
from engine.checkpoints.outline import outline, parameters
from engine.config.families.bert import PRESETS, BertSpec
from engine.config.fields import fields_at
from engine.data.coverage import unknown_note


class BaseModelStep(QWidget):
    """Models or sizes on the left; details and the verdict on the right.

    Signals:
        import_requested: import a model.
        get_requested: get a model of a group of the shelf, or of any.
    """

    import_requested = Signal()
    get_requested = Signal(str)

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self.list = PickList(self.tr("Models"))
        self.list.picked.connect(self._on_picked)
        self.scratch = ScratchForm(state)
        self._left = QStackedWidget()
        self._left.addWidget(self._models())
        self._left.addWidget(scrolling(self.scratch))
        self._facts = Facts(self.tr("About this model"))
        self.about = Card(self.tr("About this model"))
        self._coverage = Text("", "muted")
        self._unknown = Text("", "warn")
        self.multilingual = buttons.quiet(self.tr("Multilingual models…"))
        self.multilingual.clicked.connect(lambda: self.get_requested.emit("multilingual"))
        layouts.extend(
            self.about.body,
            self._facts,
            self._coverage,
            self._unknown,
            (self.multilingual, 0, Qt.AlignmentFlag.AlignLeft),
        )
        right = scrolling(
            layouts.page(self.about, EstimateBox(state), layouts.STRETCH, spacing=4 * SPACE)
        )
        layouts.row((self._left, 4), (right, 3), parent=self, spacing=5 * SPACE)
        state.lists.changed.connect(self._show)
        state.changed.connect(self._show)
        state.estimate.changed.connect(self._show)
        state.preview.changed.connect(self._show_coverage)
        self._show()

    def focus(self) -> None:
        """Focus the list of models, or the sizes."""
        if self._state.choices.from_scratch:
            self.scratch.focus()
        else:
            self.list.setFocus()

    def _models(self) -> QWidget:
        head = layouts.row(
            (Text(self.tr("Models"), "heading"), 1),
            buttons.plain(self.tr("&Import…"), self.import_requested.emit, "import"),
            buttons.plain(self.tr("&Get a model…"), lambda: self.get_requested.emit(""), "plus"),
        )
        self._empty = Text(self.tr("No models yet. Import one to fine-tune it."), "muted")
        self.more = more_models(self._state)
        return layouts.page(head, self._empty, (self.list, 1), self.more, spacing=2 * SPACE)

    def _show(self) -> None:
        choices = self._state.choices
        self._left.setCurrentIndex(1 if choices.from_scratch else 0)
        entries = self._state.lists.models
        self._empty.setVisible(entries is not None and not entries)
        chosen = choices.model.path if choices.model else None
        self.list.show_picks([self._pick(entry) for entry in entries or ()], chosen)
        self._facts.show_facts(self._model_facts())
        self._show_coverage()

    def _show_coverage(self) -> None:
        """Show how well the vocabulary covers the texts of the data set."""
        result = self._state.preview.result
        lengths = result.lengths if result else None
        unknown = translated(unknown_note(lengths.unknown)) if lengths else ""
        self._coverage.setText(translated(lengths.scripts) if lengths else "")
        self._coverage.setVisible(bool(self._coverage.text()))
        self._unknown.setText(unknown)
        self._unknown.setVisible(bool(unknown))
        self.multilingual.setVisible(bool(unknown))

    def _pick(self, entry: ModelEntry) -> Pick:
        if entry.info is None:
            return Pick(entry.path, entry.name, "", reason=entry.problem)
        info = entry.info
        facts = [
            self._origin(entry),
            checkpoint_score(entry),
            self.tr("{0} layers × {1}").format(info.layers, info.hidden_size),
            self.tr("{0} parameters").format(numbers.large_count(info.parameters)),
            *provenance(entry),
        ]
        chosen = self._state.choices.model
        estimate = self._state.estimate.result if chosen and chosen.path == entry.path else None
        return Pick(
            entry.path,
            entry.name,
            " · ".join(fact for fact in facts if fact),
            verdict=verdict_text(estimate) if estimate else "",
            warns=estimate is not None and verdict(estimate) != "fits",
        )

    def _origin(self, entry: ModelEntry) -> str:
        match entry.origin:
            case "included":
                return self.tr("included with BERT Studio")
            case "imported":
                return self.tr("imported")
            case "elsewhere":
                return self.tr("used in place")
            case "run":
                return self.tr("best checkpoint") if entry.best else self.tr("latest checkpoint")

    def _on_picked(self, path: object) -> None:
        assert isinstance(path, Path)
        if (entry := self._state.lists.model_at(path)) is not None:
            self._state.choose_model(entry)

    def _model_facts(self) -> list[tuple[str, str]]:
        spec = self._state.choices.network
        if spec is None:
            return [(self.tr("Model"), self.tr("none chosen"))]
        facts = [
            (self.tr("Layers"), numbers.count(spec.layers)),
            (self.tr("Hidden size"), numbers.count(spec.hidden_size)),
            (self.tr("Attention heads"), self.tr("{0} per layer").format(spec.heads)),
            (self.tr("Vocabulary"), self.tr("%Ln token(s)", "", spec.vocab_size)),
            (self.tr("Max. positions"), self.tr("%Ln token(s)", "", spec.max_positions)),
        ]
        choices = self._state.choices
        info = choices.model.info if choices.model else None
        if choices.from_scratch or info is None:
            count = parameters(outline(spec, ("masked words",)))
        else:
            count = info.parameters
            case = self.tr("uncased") if info.lowercase else self.tr("cased")
            facts.append((self.tr("Case"), case))
        facts.append((self.tr("Parameters"), numbers.large_count(count)))
        return facts


SIZES = (*PRESETS, CUSTOM_SIZE)
NETWORK = "model."  # prefix of the network's fields in the base model of a job
CUSTOM_FIELDS = fields_at(BertSpec, "simple", "advanced")


class ScratchForm(QWidget):
    """Form for a new network: a preset or custom size, and a new or existing vocabulary."""

    def __init__(self, state: TrainState) -> None:
        super().__init__()
        self._state = state
        self._is_updating = False
        layouts.column(
            self._size_card(),
            self._vocabulary_card(),
            layouts.STRETCH,
            parent=self,
            spacing=4 * SPACE,
            margins=(0, 0, 2 * SPACE, 0),
        )
        state.changed.connect(self._show)
        state.lists.changed.connect(self._list_models)
        self._list_models()
        self._show()

    def focus(self) -> None:
        """Focus the chosen size."""
        self.sizes.group.button(max(0, self.sizes.choice())).setFocus()

    # ── size ─────────────────────────────────────────────────────────────────────────────────

    def _size_card(self) -> Card:
        card = Card(self.tr("Size"))
        titles = [*PRESETS, self.tr("custom")]
        self.sizes = buttons.Segments(titles, self.tr("Size"))
        self.sizes.chosen.connect(self._on_size)
        self._size_note = Text("", "muted")
        self.custom = SpecForm(BertSpec, CUSTOM_FIELDS, varies=True)
        self.custom.changed.connect(self._on_custom)
        layouts.extend(card.body, self.sizes, self._size_note, self.custom)
        self.warm_init = QCheckBox(self.tr("&Warm initialisation (not in the paper)"))
        self.warm_init.setAccessibleName(self.tr("Warm initialisation (not in the paper)"))
        self.warm_init.toggled.connect(lambda on: self._change(warm_init=on))
        layouts.extend(
            card.body,
            (self.warm_init, 0, Qt.AlignmentFlag.AlignLeft),
            Text(
                self.tr(
                    "Starts from co-occurrence word vectors and local attention instead of random"
                    " weights; converges faster on small budgets."
                ),
                "muted",
            ),
        )
        return card

    def _on_size(self, index: int) -> None:
        self._change(size=SIZES[index])
        problems = self.custom.problems() if SIZES[index] == CUSTOM_SIZE else {}
        self._state.set_invalid(Step.BASE_MODEL, next(iter(problems.values()), ""))

    def _on_custom(self) -> None:
        if self._is_updating:
            return
        problems = self.custom.problems()
        if problems:
            self._state.set_invalid(Step.BASE_MODEL, next(iter(problems.values())))
            return
        current = self._state.choices.scratch.custom.model_dump()
        varied = self.custom.varied()
        first_values = {name: varied_values(values)[0] for name, values in varied.items()}
        custom = BertSpec.model_validate({**current, **self.custom.value(), **first_values})
        choices = self._state.choices.with_varied(
            BASE_MODEL, {f"{NETWORK}{name}": values for name, values in varied.items()}
        )
        self._state.set(replace(choices, scratch=replace(choices.scratch, custom=custom)))
        self._state.set_invalid(Step.BASE_MODEL, "")

    # ── vocabulary ───────────────────────────────────────────────────────────────────────────

    def _vocabulary_card(self) -> Card:
        card = Card(self.tr("Vocabulary"))
        self.source = buttons.Segments(
            [self.tr("Train a new one"), self.tr("From a model")], self.tr("Vocabulary")
        )
        self.source.chosen.connect(self._on_source)
        self.vocab_size = SpinBox()
        self.vocab_size.setRange(100, 200_000)
        self.vocab_size.setSingleStep(1000)
        self.vocab_size.setGroupSeparatorShown(True)
        self.vocab_size.valueChanged.connect(lambda value: self._change(vocab_size=value))
        self.lowercase = QCheckBox(self.tr("&Uncased (ignore case and accents)"))
        self.lowercase.setAccessibleName(self.tr("Uncased (ignore case and accents)"))
        self.lowercase.toggled.connect(lambda on: self._change(lowercase=on))
        self._new = QWidget()
        layouts.row(
            labelled(self.tr("Vocabulary size (tokens)"), self.vocab_size),
            self.lowercase,
            layouts.STRETCH,
            parent=self._new,
            spacing=4 * SPACE,
        )
        self.models = ComboBox(self.tr("Model whose vocabulary is used"))
        self.models.activated.connect(self._on_model)
        layouts.extend(
            card.body,
            self.source,
            self._new,
            self.models,
            Text(
                self.tr(
                    "Train a new vocabulary for another language or a specialised domain. 8,000"
                    " tokens are enough for a few megabytes of text; BERT has 30,522."
                ),
                "muted",
            ),
        )
        return card

    def _list_models(self) -> None:
        self.models.clear()
        for entry in self._state.lists.usable_models:
            self.models.addItem(plain_menu_text(entry.name), entry.path)
        self.source.group.button(1).setEnabled(self.models.count() > 0)
        self._show()

    def _on_source(self, index: int) -> None:
        if index == 0:
            self._change(vocabulary=None)
        else:
            self._on_model(max(0, self.models.currentIndex()))

    def _on_model(self, index: int) -> None:
        entries = self._state.lists.usable_models
        if index < len(entries):
            self._change(vocabulary=Model.from_entry(entries[index]))

    # ── state ────────────────────────────────────────────────────────────────────────────────

    def _change(self, **changes: object) -> None:
        if self._is_updating:
            return
        scratch: Scratch = replace(self._state.choices.scratch, **changes)  # type: ignore[arg-type]
        self._state.set(replace(self._state.choices, scratch=scratch))

    def _show(self) -> None:
        self._is_updating = True
        scratch = self._state.choices.scratch
        self.sizes.choose(SIZES.index(scratch.size))
        spec = scratch.custom if scratch.size == CUSTOM_SIZE else PRESETS[scratch.size]
        self._size_note.setText(self._size_text(spec))
        self.custom.setVisible(scratch.size == CUSTOM_SIZE)
        if self.custom.is_valid() and not self.custom.hasFocus():
            shown = {name: getattr(scratch.custom, name) for name in CUSTOM_FIELDS}
            if self.custom.value() != shown:
                self.custom.set_value(shown)
            varied = {
                name.removeprefix(NETWORK): values
                for name, values in self._state.choices.varied_in(BASE_MODEL).items()
                if name.startswith(NETWORK)
            }
            if self.custom.varied() != varied:
                self.custom.set_varied(varied)
        is_new = scratch.vocabulary is None
        self.source.choose(0 if is_new else 1)
        self._new.setVisible(is_new)
        self.models.setVisible(not is_new)
        self.vocab_size.setValue(scratch.vocab_size)
        self.lowercase.setChecked(scratch.lowercase)
        is_masked = not self._state.choices.is_causal
        self.warm_init.setEnabled(is_masked)
        self.warm_init.setChecked(scratch.warm_init and is_masked)
        self.warm_init.setToolTip(
            "" if is_masked else tooltip(self.tr("For masked language modelling (MLM) only."))
        )
        if scratch.vocabulary is not None:
            self.models.setCurrentIndex(self.models.findData(scratch.vocabulary.path))
        self._is_updating = False

    def _size_text(self, spec: BertSpec) -> str:
        template = self.tr("{0} layers, hidden size {1}, {2} attention heads")
        return template.format(spec.layers, numbers.count(spec.hidden_size), spec.heads)
