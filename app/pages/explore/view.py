"""The Explore page: model and text at the top, the strip of tokens, and the panels below."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent, QTextCursor
from PySide6.QtWidgets import QPushButton, QStackedWidget, QWidget

from app import background
from app.library import ModelEntry, describe_model
from app.pages.explore.comparison import Comparison, HeadMeans
from app.pages.explore.model_input import MAX_CHARACTERS, TextInput
from app.pages.explore.over_training.bar import TrainingBar
from app.pages.explore.page_parts import Editor, PrecisionSwitch, example_row
from app.pages.explore.panel import PanelContext, PanelDescription
from app.pages.explore.panels import DEFAULT_PANEL, PANELS
from app.pages.explore.state import ExploreState
from app.pages.explore.strip import MAX_ROWS, StripArea
from app.pages.explore.workbench import Workbench
from app.palette import Command
from app.resources import icon
from app.studio import Studio
from app.theme import SPACE, Role, px
from app.timers import debounced
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.forms.checkpoint_box import CheckpointBox
from app.widgets.page import MARGIN, EmptyState, Page
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, one_line, plain_menu_text, tooltip
from engine.config.tasks import TASKS
from engine.data.coverage import scripts_note, unknown_note

EXAMPLE = "The president spoke to the people of the United States."
EXAMPLE_WORD = "people"  # masked initially
MAX_INPUT_FRACTION = 0.32  # of the height, for texts and tokens


class ExplorePage(Page):
    """The page that explores a model's behaviour on a text."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(self.tr("Explore"))
        self._studio = studio
        self._requested: Path | None = None  # chosen once the list has been read
        self._reading: background.Job | None = None
        self._reading_row: background.Job | None = None
        self._excess_lengths = [0, 0]  # length of each text if truncated, else 0
        self._status_timer = debounced(self, 0, self._update_status)
        self._is_setting_input = False  # while both editors are set
        self.state = ExploreState(self)
        self.picker = CheckpointBox()
        self.text = Editor(self.tr("Text"), self.tr("Type a sentence"))
        self.pair = Editor(self.tr("Second text"), self.tr("Type a second sentence"))
        self.strip_area = StripArea(self.state)
        self.strip = self.strip_area.strip
        self.means = HeadMeans(self.state, studio.home, studio.one_time_worker, self)
        self.comparison = Comparison(self.state, self.means)
        self.status = OneLine("", "small")
        self.precision = PrecisionSwitch(self.state, studio.explorer, studio.settings)
        self.notice = Text("", "warn")
        self.stack = QStackedWidget(self)  # reparenting large widgets is slow
        self._content = QWidget(self.stack)
        self.bench = Workbench(studio.settings)
        self.bench.setParent(self._content)  # as a constructor argument it would stay a window
        context = PanelContext(
            self.state,
            studio.explorer,
            studio.settings,
            studio.notices,
            studio.home,
            studio.one_time_worker,
            studio.models_changed.emit,
        )
        for describe in PANELS:
            description = describe()
            self.bench.add(description, description.make(context))
        self.bench.restore_layout(DEFAULT_PANEL)
        self.training_bar = TrainingBar(self.state, studio.notices, self.bench)
        self.stack.addWidget(self._workbench())
        self.stack.addWidget(self._no_model())
        self.body.addWidget(self.stack, 1)
        self._lay_out_header()
        layout = self.layout()
        assert layout is not None
        layout.setContentsMargins(MARGIN, 2 * SPACE, MARGIN, 2 * SPACE)
        layout.setSpacing(2 * SPACE)
        self._connect()
        self.set_pair_shown(False)
        self.text.set_text(EXAMPLE)
        self.state.tokens_changed.connect(self._mask_example_word)
        self.read_models()

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _lay_out_header(self) -> None:
        label = Text(self.tr("&Model"), "muted", wraps=False)
        label.setBuddy(self.picker)
        self.picker.setMinimumWidth(px(45 * SPACE))
        self.compare = buttons.plain(self.tr("C&ompare"), self.comparison.begin, "columns-2")
        self.toggles = {
            dock.description.id: self._make_toggle(dock.description)
            for dock in self.bench.docks.values()
            if not dock.description.is_open
        }
        self.arrange = buttons.plain(self.tr("La&yout"), icon="layout-panel-left")
        self.arrange.setMenu(self.bench.menu())
        parts = (label, self.picker, self.comparison, self.compare)
        row = layouts.wrap(*parts, *self.toggles.values(), self.arrange, spacing=2 * SPACE)
        self.action_row.addLayout(row)

    def _make_toggle(self, description: PanelDescription) -> QPushButton:
        return buttons.plain(
            plain_menu_text(description.title),
            partial(self.bench.toggle_panel, description.id),
            description.icon,
        )

    def _workbench(self) -> QWidget:
        self.pair_toggle = buttons.quiet(self.tr("&Add a second text"), self._toggle_pair, "plus")
        first = layouts.row(
            (self.text, 1), (self.pair_toggle, 0, Qt.AlignmentFlag.AlignTop), spacing=2 * SPACE
        )
        layouts.column(
            first,
            self.pair,
            self.notice,
            self.strip_area,
            self.comparison.status,
            self.comparison.strip_area,
            layouts.row((self.status, 1), self.precision, spacing=3 * SPACE),
            (self.bench, 1),
            self.training_bar,
            parent=self._content,
            spacing=SPACE,
        )
        return self._content

    def _no_model(self) -> QWidget:
        return EmptyState(
            "microscope",
            self.tr("No models yet"),
            self.tr("Import a BERT model from a folder, then type a sentence here."),
            buttons.primary(
                self.tr("Import a model"),
                lambda: self._studio.navigate.emit("models", {"import": True}),
            ),
        )

    def _connect(self) -> None:
        explore, studio = self.state, self._studio
        self.picker.picked.connect(explore.choose_model)
        self.text.edited.connect(self._on_edited)
        self.pair.edited.connect(self._on_edited)
        self.text.shortened.connect(lambda count: self._on_shortened(0, count))
        self.pair.shortened.connect(lambda count: self._on_shortened(1, count))
        explore.model_changed.connect(self._on_model)
        explore.model_changed.connect(self._read_validation_row)
        explore.tokens_changed.connect(self._status_timer.start)
        explore.tokens_changed.connect(self._limit_rows)
        explore.sides_changed.connect(self._limit_rows)
        explore.picked_changed.connect(self._update_status)
        explore.hovered_changed.connect(self._update_status)
        explore.problem_changed.connect(self._on_problem)
        explore.sides_changed.connect(self._on_sides)
        explore.model_requested.connect(self.choose)
        explore.input_requested.connect(self.show_input)
        explore.vectors_requested.connect(
            partial(studio.navigate.emit, "models", {"import": "vectors"})
        )
        explore.comparison_requested.connect(self.comparison.begin)
        studio.models_changed.connect(self.read_models)
        explore.chosen_changed.connect(self._start_standby)
        for dock in self.bench.docks.values():
            if dock.description.works_on_texts:
                dock.visibilityChanged.connect(self._start_standby)
        self._problem = ""
        self._was_opened = False
        self._page_texts = {EXAMPLE}  # not typed by the user

    def _start_standby(self) -> None:
        """Start a standby worker if a visible panel can ask about the chosen texts.

        Loading torch takes half the time until the first result.
        """
        keys = (key for key, dock in self.bench.docks.items() if dock.description.works_on_texts)
        if self.state.chosen is not None and any(self.bench.is_visible(key) for key in keys):
            self._studio.standby.start()

    # ── navigation ───────────────────────────────────────────────────────────────────────────

    def arrive(self, argument: Any) -> None:
        """Open with a model, as its folder or as {"model": folder, "text": text, "pair": text}.

        {"vectors": folder} compares in these word vectors,
        {"panel": id} shows a panel if it is offered, {"compare": True} adds a second model,
        {"label": class} is the class to explain, {"choices": texts} the multiple-choice endings.
        """
        values = argument if isinstance(argument, dict) else {"model": argument}
        if values.get("text") is not None:
            self.text.set_text(values["text"])
            self.set_pair_shown(bool(values.get("pair")))
            self.pair.set_text(values.get("pair") or "")
        if values.get("label") is not None:
            self.state.choose_label(values["label"])
        if values.get("choices"):
            self.state.offer_choices(tuple(values["choices"]))
        if values.get("model") is not None:
            self.choose(Path(values["model"]))
        if values.get("vectors") is not None:
            self.state.vectors_chosen.emit(values["vectors"])
        panel = self.bench.docks.get(str(values.get("panel")))
        if panel is not None and panel.description.is_offered(self.state):
            self.bench.show_panel(panel.description.id)
        if values.get("compare") and self.comparison.other_model() is not None:
            self.comparison.begin()
        if not self._was_opened:  # afterwards Qt restores the focus
            self._was_opened = True
            self.text.moveCursor(QTextCursor.MoveOperation.End)
            self.text.setFocus(Qt.FocusReason.OtherFocusReason)

    def commands(self) -> Sequence[Command]:
        """Panels, and the comparison, for the palette."""
        go, kind = partial(self._studio.navigate.emit, "explore"), self.tr("Explore")
        commands = [
            Command(
                dock.description.title, kind, dock.description.icon, partial(go, {"panel": key})
            )
            for key, dock in self.bench.docks.items()
        ]
        compare = partial(go, {"compare": True})
        return [*commands, Command(self.tr("Compare two models"), kind, "columns-2", compare)]

    def place(self) -> object:
        """The shown model and texts."""
        model = self.state.first.model
        pair = None if self.pair.isHidden() else self.pair.toPlainText()
        return {"model": model and model.path, "text": self.text.toPlainText(), "pair": pair}

    def choose(self, folder: Path) -> None:
        """Choose the model in this folder, even if it is not in the list."""
        self._requested = folder
        self.read_models()

    def read_models(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        studio, path, shown = self._studio, self._requested, self.state.first.model

        def read() -> list[ModelEntry]:
            models = studio.models()
            if path is not None:
                if all(model.path != path for model in models):
                    models.insert(0, describe_model(path.name, path, "imported"))
            elif shown is not None and shown.path.is_dir() and not _is_known(shown, models):
                models.insert(0, shown)
            return models

        self._reading = background.run(self, read, self._on_models)

    def _on_models(self, models: list[ModelEntry]) -> None:
        self.picker.set_models(models)
        self.comparison.set_models(models)
        usable = [model for model in models if model.info is not None]
        path, self._requested = self._requested, None
        if path is not None and not self.picker.choose(path):
            problem = next((m.problem for m in models if m.path == path), "")
            self._studio.notices.error(
                self.tr("The model {0} cannot be opened in Explore.").format(path.name), problem
            )
        if self.picker.chosen() is None and usable:
            self.picker.choose(self._fallback(usable).path)
        if path is not None or not self._is_browsing_snapshots():
            self.state.choose_model(self.picker.chosen())
        self.stack.setCurrentIndex(0 if usable else 1)
        self._on_sides()

    def _fallback(self, usable: list[ModelEntry]) -> ModelEntry:
        """The model to choose if the chosen one is gone.

        It is the shown model, else the newest checkpoint of its run, else the first model.
        """
        shown = self.state.first.model
        if shown is None:
            return usable[0]
        same = [m for m in usable if m.path == shown.path or _have_same_run(m, shown)]
        return max(
            same, key=lambda model: (model.path == shown.path, model.step), default=usable[0]
        )

    def _is_browsing_snapshots(self) -> bool:
        chosen, shown = self.picker.chosen(), self.state.first.checkpoint
        if chosen is None or shown is None or not self.state.is_browsing_snapshots:
            return False
        return chosen.path.parent.parent == shown.parent.parent

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._studio.explorer.start()
        self.bench.set_shown(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.training_bar.stop()
        self.bench.set_shown(False)
        self.state.page_hidden.emit()

    def _read_validation_row(self) -> None:
        """Read a validation row for a fine-tuned model; shown unless the user has typed a text."""
        if self._reading_row is not None:
            self._reading_row.cancel()
            self._reading_row = None
        first = self.state.first
        if first.checkpoint is not None and first.task is not None:
            self._reading_row = background.run(
                self, partial(example_row, first.checkpoint), self._on_validation_row
            )

    def _on_validation_row(self, row: TextInput | None) -> None:
        self._reading_row = None
        if row is not None and self.text.toPlainText() in self._page_texts:
            self._page_texts.add(row.text)
            self.show_input(row)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._limit_rows()

    def _limit_rows(self) -> None:
        """Limit the rows of tokens so that the panels have most of the height."""
        editors = [editor for editor in (self.text, self.pair) if not editor.isHidden()]
        areas = (self.strip_area, self.comparison.strip_area)
        visible_areas = [area for area in areas if not area.isHidden()]
        space = MAX_INPUT_FRACTION * self.height() - sum(e.sizeHint().height() for e in editors)
        for area in visible_areas:
            rows = int(space / len(visible_areas)) // area.strip.row_height()
            area.set_max_rows(min(max(rows, 1), MAX_ROWS))

    # ── updates ──────────────────────────────────────────────────────────────────────────────

    def _on_model(self) -> None:
        """Offer the panels that suit the model; show the best one unless the user chose another."""
        task = self.state.first.task
        if task is not None and "pair" in TASKS[task].info.reads and self.pair.isHidden():
            self.set_pair_shown(True)
        model = self.state.first.model
        texts = model.info.texts if model is not None and model.info is not None else {}
        for editor, role in ((self.text, "text"), (self.pair, "pair")):
            hint = self.tr("The model was trained on “{0}”.").format(one_line(texts.get(role, "")))
            editor.setToolTip(tooltip(hint) if role in texts else "")
        is_initial = self.bench.is_initial()
        for key, dock in self.bench.docks.items():
            self.bench.set_offered(key, dock.description.is_offered(self.state))
            if is_initial and dock.description.is_best(self.state):
                self.bench.show_panel(key)

    def _on_sides(self) -> None:
        self.compare.setVisible(not self.state.is_compared)
        can_compare = self.comparison.other_model() is not None
        self.compare.setEnabled(can_compare)
        reason = self.tr("There is no second model to compare with; import or train one.")
        text = self.tr("Compare with a second model")
        self.compare.setToolTip(tooltip(text if can_compare else reason))

    def show_input(self, text_input: TextInput) -> None:
        self._is_setting_input = True
        self.text.set_text(text_input.text)
        self.pair.set_text(text_input.pair or "")
        self.set_pair_shown(text_input.pair is not None)
        self._is_setting_input = False
        self.state.set_input(text_input)

    def _on_edited(self) -> None:
        if self._is_setting_input:
            return
        pair = self.pair.toPlainText() if not self.pair.isHidden() else ""
        self.state.set_texts(self.text.toPlainText(), pair or None)

    def _toggle_pair(self) -> None:
        """Show the second editor, or remove it with its text."""
        self.set_pair_shown(self.pair.isHidden())
        if not self.pair.isHidden():
            self.pair.setFocus()

    def set_pair_shown(self, shown: bool) -> None:
        self.pair.setVisible(shown)
        self.pair_toggle.setText(
            self.tr("&Remove the second text") if shown else self.tr("&Add a second text")
        )
        self.pair_toggle.setIcon(icon("x" if shown else "plus", Role.ACCENT))
        self.pair_toggle.setAccessibleName(self.pair_toggle.text().replace("&", ""))
        self._limit_rows()
        self._on_edited()

    def _on_shortened(self, editor: int, count: int) -> None:
        self._excess_lengths[editor] = count
        self._show_notice()

    def _on_problem(self, problem: str) -> None:
        self._problem = problem
        self._show_notice()

    def _show_notice(self) -> None:
        sentences = [self._problem] if self._problem else []
        for count in filter(None, self._excess_lengths):
            text = self.tr("The text has {0} characters; only the first {1} are used.")
            sentences.append(text.format(numbers.count(count), numbers.count(MAX_CHARACTERS)))
        if self.state.first.is_truncated:
            text = self.tr("Truncated to the first {0} tokens, the model’s maximum.")
            sentences.append(text.format(numbers.count(len(self.state.first.tokens))))
        if len(unknown := self.state.first.unknown) > 1:  # one may be an emoji
            sentences.append(translated(unknown_note(len(unknown) / len(self.state.first.tokens))))
        self.notice.setText(" ".join(filter(None, sentences)))
        self.notice.setVisible(bool(self.notice.text()))

    def _update_status(self) -> None:
        """Describe the token under the mouse or the selected one, else the text."""
        explore = self.state
        index = explore.hovered if explore.hovered >= 0 else explore.picked
        if 0 <= index < len(explore.first.tokens):
            self.status.setText(self._describe_token(index))
        elif explore.first.tokens:
            count = self.tr("%Ln token(s).", "", len(explore.first.tokens))
            texts = [explore.first.text, explore.first.pair or ""]
            if explore.first.unknown and (scripts := scripts_note(texts)):
                count = f"{count} {translated(scripts)}."
            hint = self.tr(
                "Click to select a token. Double-click to mask or unmask its word; hold "
                "Shift for only the token."
            )
            self.status.setText(f"{count} {hint}")
        elif explore.first.model is not None and not explore.is_settled and not self._problem:
            self.status.setText(self.tr("Loading the model …"))
        else:
            self.status.setText("")
        self._show_notice()

    def _describe_token(self, index: int) -> str:
        explore, token = self.state, self.state.first.tokens[index]
        parts = [self.tr("Token {0}").format(index + 1), f"“{token.text}”"]
        if explore.first.source_text(index) != token.text and not token.special:
            parts.append(self.tr("typed “{0}”").format(explore.first.source_text(index)))
        parts.append(self.tr("ID {0}").format(token.id))
        if explore.target == index and explore.picked >= 0 and explore.picked != index:
            parts.append(self.tr("key token"))
        if explore.first.pair is not None:
            parts.append(self.tr("second text") if token.segment else self.tr("first text"))
        if explore.first.is_masked(index):
            parts.append(self.tr("masked"))
        return " · ".join(parts)

    def _mask_example_word(self) -> None:
        """Mask a word of the example once, so that the page opens with predictions."""
        if not self.state.first.tokens:
            return
        self.state.tokens_changed.disconnect(self._mask_example_word)
        for index, token in enumerate(self.state.first.tokens):
            if self.state.first.text == EXAMPLE and token.text.lower() == EXAMPLE_WORD:
                self.state.toggle_mask(index)
                return


def _have_same_run(model: ModelEntry, other: ModelEntry) -> bool:
    return bool(model.run) and model.run == other.run


def _is_known(shown: ModelEntry, models: list[ModelEntry]) -> bool:
    """True if the list has the model, or a checkpoint of its run."""
    return any(model.path == shown.path or _have_same_run(model, shown) for model in models)
