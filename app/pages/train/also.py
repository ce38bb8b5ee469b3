"""Further data sets or base models that are tried besides the chosen one: a “+” with a list."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtWidgets import QToolButton, QWidget

from app.pages.train.choices import BASE_MODEL, DATA, data_value, model_value
from app.pages.train.state import TrainState
from app.theme import SPACE
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.forms.controls import CheckableMenu
from app.widgets.screen import set_shown
from app.widgets.text.labels import Text, plain_menu_text
from engine.config.dataset import StoredData
from engine.data.columns.fit import problems_of_dataset


class Other(NamedTuple):
    """One that can be tried besides."""

    name: str
    value: dict[str, Any]


class AlsoTry(QWidget):
    """What is tried besides, in a line, and the button whose menu has all others."""

    def __init__(
        self, state: TrainState, path: str, title: str, others: Callable[[], Sequence[Other]]
    ) -> None:
        super().__init__()
        self._state, self._path, self._others = state, path, others
        self.said = Text("", "muted")
        self.button: QToolButton = buttons.icon_button("plus", title)
        self.menu = CheckableMenu(self.button)
        self.menu.aboutToShow.connect(self._fill)
        self.button.setMenu(self.menu)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        layouts.row((self.said, 1), self.button, parent=self, spacing=2 * SPACE)
        state.changed.connect(self._show)
        state.lists.changed.connect(self._show)
        self._show()

    def _chosen(self) -> tuple[dict[str, Any], ...]:
        return tuple(self._state.choices.varied_in(self._path).get("", ()))

    def _fill(self) -> None:
        self.menu.clear()
        chosen = self._chosen()
        for other in self._others():
            action = self.menu.addAction(plain_menu_text(other.name))
            action.setCheckable(True)
            action.setChecked(other.value in chosen)
            action.toggled.connect(lambda on, value=other.value: self.set_tried(value, on))

    def set_tried(self, value: dict[str, Any], wanted: bool) -> None:
        """Try one besides the chosen one, or no more."""
        values = [one for one in self._chosen() if one != value]
        found = {"": tuple([*values, value] if wanted else values)}
        choices = self._state.choices
        self._state.set(choices.with_varied(self._path, found if found[""] else {}))

    def _show(self) -> None:
        others = self._others()
        chosen = self._chosen()
        names = [one.name for one in others if one.value in chosen]
        set_shown(self, bool(others))
        said = tr("Also trained with: {0}").format(", ".join(names))
        self.said.setText(said if names else tr("To train with several, add others here."))


def also_models(state: TrainState) -> AlsoTry:
    """Further base models."""
    title = tr("Train with several base models")
    return AlsoTry(state, BASE_MODEL, title, lambda: _other_models(state))


def also_data(state: TrainState) -> AlsoTry:
    """Further data sets."""
    return AlsoTry(state, DATA, tr("Train on several data sets"), lambda: _other_data(state))


def _other_models(state: TrainState) -> list[Other]:
    """The models that can be used, but the one that is chosen."""
    choices = state.choices
    if choices.from_scratch or choices.model is None:
        return []
    usable = (one for one in state.lists.models or () if one.info is not None)
    return [Other(e.name, model_value(e.path)) for e in usable if e.path != choices.model.path]


def _other_data(state: TrainState) -> list[Other]:
    """The stored data sets that suit the task, but the one that is chosen."""
    data = state.choices.data
    if data is None or not isinstance(data.source, StoredData):
        return []
    chosen: Path = data.source.folder
    return [
        Other(f"{entry.name} {entry.version}", data_value(entry.folder))
        for entry in state.lists.datasets or ()
        if entry.spec is not None
        and entry.folder != chosen
        and not problems_of_dataset(entry.spec, state.choices.task)
    ]
