"""Bar below the panels that chooses a training step."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.notices import Notices
from app.pages.explore.over_training.series import PictureSeries
from app.pages.explore.over_training.slider import MomentSlider
from app.pages.explore.over_training.state import OverTraining
from app.pages.explore.state import ExploreState
from app.resources import icon
from app.theme import SPACE, Role
from app.widgets import buttons, layouts
from app.widgets.dialogs import choose_folder
from app.widgets.help import HelpButton
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import Text, tooltip
from engine.runs.folder import checkpoint_step


class TrainingBar(QWidget):
    """Visible if the model's run has snapshots; `shown` is the page with the figures."""

    def __init__(self, explore: ExploreState, notices: Notices, shown: QWidget) -> None:
        super().__init__()
        self._explore = explore
        self.state = OverTraining(explore, notices)
        self.series = PictureSeries(self.state, notices, shown)
        self.slider = MomentSlider()
        self.playing = buttons.icon_button("play", self.tr("Play"), self._on_play)
        self.said = Text("", "small", wraps=False)
        self.said.setMinimumWidth(40 * SPACE)
        self.beside = buttons.plain(
            self.tr("Compare &with this step"), self.state.compare, "columns-2"
        )
        self.save = buttons.plain(self.tr("Save a se&ries…"), self._on_save, "image-down")
        what = self.tr("Saves every figure that is seen, as PNG for each step, with one scale.")
        self.save.setToolTip(tooltip(what))
        buttons_row = layouts.row(
            self.beside, self.save, HelpButton("training-steps"), spacing=2 * SPACE
        )
        layouts.row(
            (self.playing, 0, Qt.AlignmentFlag.AlignTop),
            (self.slider, 1),
            layouts.column(self.said, buttons_row, spacing=SPACE),
            parent=self,
            spacing=2 * SPACE,
        )
        self.slider.valueChanged.connect(self._on_value)
        self.state.changed.connect(self._show)
        explore.sides_changed.connect(self._show)
        explore.model_changed.connect(self._show)
        self.series.changed.connect(self._show)
        self._show()

    def leave(self) -> None:
        """Stop playing and saving when the page is hidden."""
        self.state.pause()
        if self.series.is_running:
            self.series.cancel()

    def _show(self) -> None:
        state, moments = self.state, self.state.moments
        set_shown(self, moments is not None)
        if moments is None:
            return
        second = self._explore.second.checkpoint
        beside = moments.folders.index(second) if second in moments.folders else -1
        blocked = self.slider.blockSignals(True)
        self.slider.setRange(0, len(moments.folders) - 1)
        self.slider.setValue(state.number)
        self.slider.blockSignals(blocked)
        self.slider.show_moments(moments, beside)
        self.said.setText(self._text())
        self.slider.setAccessibleDescription(self._text())
        name = self.tr("Pause") if state.is_playing else self.tr("Play")
        self.playing.setIcon(icon("pause" if state.is_playing else "play", Role.MUTED, Role.ACCENT))
        self.playing.setAccessibleName(name)
        self.playing.setToolTip(tooltip(name))
        is_saving = self.series.is_running
        for control in (self.playing, self.slider, self.beside):
            control.setEnabled(not is_saving)
        text = self.tr("&Cancel saving") if is_saving else self.tr("Save a se&ries…")
        buttons.set_text(self.save, text)

    def _text(self) -> str:
        """Step and loss of the snapshot."""
        moments, checkpoint = self.state.moments, self._explore.first.checkpoint
        assert moments is not None and checkpoint is not None
        if self.series.is_running:
            text = self.tr("Saving pictures: step {0}")
            return text.format(numbers.count(checkpoint_step(checkpoint)))
        if not self.state.is_at_snapshot:
            return self.tr("Checkpoint of step {0}").format(
                numbers.count(checkpoint_step(checkpoint))
            )
        step = numbers.count(moments.steps[self.state.number])
        if not self.state.is_answered:  # the panels still show the previous step
            return self.tr("Step {0} · computing …").format(step)
        loss = moments.loss_at(self.state.number)
        if loss is None:
            return self.tr("Step {0}").format(step)
        return self.tr("Step {0} · loss {1}").format(step, numbers.decimal(loss, 2))

    def _on_play(self) -> None:
        if self.state.is_playing:
            self.state.pause()
        else:
            self.state.play()

    def _on_value(self, number: int) -> None:
        self.state.pause()
        self.state.go(number)

    def _on_save(self) -> None:
        """Ask for a folder with a non-modal dialog, or cancel saving."""
        if self.series.is_running:
            self.series.cancel()
            return
        self.state.pause()
        choose_folder(self.window(), self.tr("Folder for the pictures"), self.series.start)
