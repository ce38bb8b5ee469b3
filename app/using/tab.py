"""Tab “Use it” of a run or a model: try it, apply it to a file, deploy it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabWidget, QWidget

from app import background
from app.studio import Studio
from app.theme import SPACE, px
from app.translation import tr
from app.using import applying_view
from app.using.applying_state import ApplyingState
from app.using.code_tab import CodeTab
from app.using.describing import DescribingState, DescribingView
from app.using.nearest_state import NearestState
from app.using.nearest_view import NearestView
from app.using.nightly import NightlyDialog
from app.using.report import WRITERS, gather
from app.using.report_saver import ReportSaver, update_report_button
from app.using.trying_state import TryingState
from app.using.trying_view import TryingView
from app.widgets import buttons, layouts
from app.widgets.dialogs import Dialog, ask_for_file, footer
from app.widgets.help import HelpButton, set_help
from app.widgets.page import clear, scrolling
from app.widgets.text.labels import Text
from engine.checkpoints.info import checkpoint_info, fine_tuned_task, probe_pooling
from engine.checkpoints.prediction_settings import prediction_settings
from engine.config.zero_shot import Described, Way, zero_shot_way
from engine.documents.card import model_card
from engine.documents.code import Example, onnx_code, transformers_code
from engine.errors import StudioError
from engine.files.home import folder_name
from engine.messages.reports import CheckpointInfo
from engine.runs.folder import RunFolder
from engine.runs.snapshots import find_run

MAX_CONTENT_WIDTH = 220 * SPACE
CODE_SIZE = (820, 560)  # px of the dialog with code
ONNX_FOLDER = "model-onnx"


class UseTab(QWidget):
    """Uses of a fine-tuned model, or the reason why there are none."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.checkpoint: Path | None = None
        self.name = ""
        self.info: CheckpointInfo | None = None
        self.try_view: TryingView | None = None
        self.nearest_view: NearestView | None = None
        self.describing_view: DescribingView | None = None
        self.run: RunFolder | None = None  # None: the checkpoint is not of a run
        self._pending: tuple[Path | None] | None = None  # to apply to once the model is known
        self.placeholder = Text("", "muted")
        self.apply_button = buttons.primary(
            self.tr("Appl&y…"), lambda: self.apply_to(None), "file-text"
        )
        self.code_button = buttons.plain(self.tr("Depl&oy…"), self._on_code, "file-text")
        self.nightly_button = buttons.plain(self.tr("Every ni&ght…"), self._on_nightly, "moon")
        self.report_saver = ReportSaver(studio, self)
        self.report_saver.changed.connect(self._show_saving)
        self.report_button = buttons.plain("", self._on_report, "save")
        head = layouts.wrap(
            self.apply_button,
            layouts.STRETCH,
            self.report_button,
            self.nightly_button,
            self.code_button,
            HelpButton("using"),
        )
        set_help(self, "using")
        inner = QWidget()
        inner.setMaximumWidth(px(MAX_CONTENT_WIDTH))
        self._column = layouts.column(parent=inner, margins=(0, 0, 2 * SPACE, 0))
        self.area = scrolling(inner)
        self.area.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        hint = self.tr("Predict the rows of a file or a data set; you can also drop a file here.")
        column = layouts.column(
            head,
            Text(hint, "muted"),
            self.placeholder,
            (self.area, 1),
            parent=self,
            spacing=4 * SPACE,
            margins=(0, 4 * SPACE, 0, 0),
        )
        column.addStretch(0)
        self._show(None)

    def show_model(self, checkpoint: Path | None, name: str) -> None:
        """Show another checkpoint, or none; its folder is read outside the GUI thread."""
        self.name = name
        if checkpoint == self.checkpoint:
            return
        self.checkpoint = checkpoint
        if checkpoint is None:
            self.run = None
            self._show(None)
            return

        def read() -> tuple[CheckpointInfo | None, RunFolder | None]:
            try:
                return checkpoint_info(checkpoint), find_run(checkpoint)
            except StudioError:
                return None, None  # the page itself shows the problem

        background.run(self, read, lambda result: self._on_read(checkpoint, *result))

    def apply_to(self, file: Path | None) -> None:
        """Open the dialog for a file, or for rows without a label of the data set of the run."""
        if self.checkpoint is None or self.info is None or self.info.task is None:
            self._pending = (file,)
            return
        state = ApplyingState(self._studio, self.checkpoint, self.name, self.info.task)
        self.dialog = applying_view.open_dialog(self._studio, self, state)
        if file is not None:
            state.open(file)
        elif self.run is not None:
            state.propose_rows(self.run)

    def _on_apply_described(self, described: Described) -> None:
        """Open the dialog that gives the described labels to a file or a data set."""
        if self.checkpoint is not None:
            state = ApplyingState(
                self._studio, self.checkpoint, self.name, described.task, described
            )
            self.dialog = applying_view.open_dialog(self._studio, self, state)

    def _on_nightly(self) -> None:
        if self.checkpoint is not None and self.info is not None and self.info.task is not None:
            self.nightly_dialog = NightlyDialog(self.checkpoint, self.name, self.info.task, self)
            self.nightly_dialog.show()

    def _on_code(self) -> None:
        if self.checkpoint is not None and self.info is not None and self.info.task is not None:
            self.code_dialog = CodeDialog(self.checkpoint, self)
            self.code_dialog.show()

    def _on_report(self) -> None:
        run = self.run
        if run is None:
            return
        name = f"{folder_name(self.name)}-report.html"
        title = self.tr("Save the report")
        ask_for_file(
            self, title, name, list(WRITERS), partial(self.report_saver.save, partial(gather, run))
        )

    def _show_saving(self) -> None:
        update_report_button(self.report_button, self.report_saver)
        self.report_button.setVisible(self.run is not None and self.apply_button.isEnabled())

    def _on_read(
        self, checkpoint: Path, info: CheckpointInfo | None, run: RunFolder | None
    ) -> None:
        if checkpoint == self.checkpoint:
            self.run = run
            self._show(info)
            if self._pending is not None and self.apply_button.isEnabled():
                (file,), self._pending = self._pending, None
                self.apply_to(file)

    def _show(self, info: CheckpointInfo | None) -> None:
        self.info = info
        clear(self._column)
        self.try_view = self.nearest_view = self.describing_view = None
        task = info.task if info else None
        self.apply_button.setEnabled(task is not None)
        self.code_button.setEnabled(task is not None)
        self.nightly_button.setEnabled(task is not None)
        self._show_saving()
        self.placeholder.setVisible(task is None)
        self.area.setVisible(task is not None)
        self.placeholder.setText(
            self.tr("There is no checkpoint yet.")
            if self.checkpoint is None
            else self.tr("This model has not been fine-tuned, so it predicts no labels.")
        )
        if task is not None and info is not None and self.checkpoint is not None:
            state = TryingState(self._studio, self.checkpoint, task, info.texts)
            self.try_view = TryingView(state, info.labels)
            state.setParent(self.try_view)
            self._column.addWidget(self.try_view)
            if (way := zero_shot_way(task, info.labels)) is not None:
                self.describing_view = self._create_describing(self.try_view, way)
                self._column.addWidget(self.describing_view)
            if state.compares_texts:
                self.nearest_view = self._create_nearest(self.try_view)
                self._column.addWidget(self.nearest_view)

    def _create_describing(self, trying: TryingView, way: Way) -> DescribingView:
        assert self.checkpoint is not None
        state = DescribingState(self._studio, self.checkpoint, way)
        view = DescribingView(state)
        state.setParent(view)
        view.apply_requested.connect(self._on_apply_described)
        trying.settled.connect(state.set_text)
        return view

    def _create_nearest(self, trying: TryingView) -> NearestView:
        assert self.checkpoint is not None
        state = NearestState(self._studio, self.checkpoint)
        view = NearestView(state)
        state.setParent(view)
        trying.settled.connect(state.set_text)
        return view


class CodeDialog(Dialog):
    """Python code for transformers and onnxruntime, and the model card of exports."""

    def __init__(self, checkpoint: Path, owner: QWidget) -> None:
        super().__init__(owner.window(), tr("Deploy"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName(self.tr("Ways to use the model"))
        self.tabs.setDocumentMode(True)
        self.card = CodeTab(self.tr("Model card"), self.tr("Every export has it as README.md."))
        self._checkpoint = checkpoint
        for title, note in (
            ("transformers", self.tr("Needs transformers and torch.")),
            (
                "onnxruntime",
                self.tr(
                    "Export the model to ONNX first, and run this next to the exported folder; "
                    "torch is not needed."
                ),
            ),
        ):
            self.tabs.addTab(CodeTab(title, note), title)
        self.tabs.addTab(self.card, self.tr("Model card"))
        column = layouts.column(
            (self.tabs, 1),
            parent=self,
            spacing=4 * SPACE,
            margins=(6 * SPACE, 6 * SPACE, 6 * SPACE, 5 * SPACE),
        )
        close: Callable[[], object] = self.accept
        column.addLayout(footer(buttons.plain(self.tr("&Close"), close)))
        self.resize(*CODE_SIZE)
        background.run(self, self._make_texts, self._on_texts, self._on_failed)

    def _make_texts(self) -> tuple[str, ...]:
        """Make the texts of the tabs, outside the GUI thread, since files are read."""
        task, settings = fine_tuned_task(self._checkpoint), prediction_settings(self._checkpoint)
        assert task is not None  # the dialog is offered for fine-tuned models only
        columns, probe = checkpoint_info(self._checkpoint).texts, probe_pooling(self._checkpoint)
        example = Example(columns=columns, probe=probe)
        return (
            transformers_code(task, str(self._checkpoint), example, settings),
            onnx_code(task, ONNX_FOLDER, example, settings),
            model_card(self._checkpoint, "hf"),
        )

    def _on_texts(self, texts: tuple[str, ...]) -> None:
        for index, text in enumerate(texts):
            tab = self.tabs.widget(index)
            assert isinstance(tab, CodeTab)
            tab.text.setPlainText(text)

    def _on_failed(self, error: BaseException) -> None:
        self.card.text.setPlainText(str(error))
        self.tabs.setCurrentWidget(self.card)
