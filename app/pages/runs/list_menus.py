"""Layouts of the table of runs, saved views, and the menus for columns and views."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QToolButton

from app import resources
from app.pages.runs.columns import DEFAULT_COLUMNS, Column, column_info, known_columns
from app.pages.runs.rows import RunRow
from app.pages.runs.table import RunsTable
from app.settings import Settings
from app.theme import Role
from app.translation import tr
from app.widgets import buttons
from app.widgets.dialogs import Choice, ask_for_name
from app.widgets.forms.controls import CheckableMenu
from app.widgets.text.labels import plain_menu_text

CURRENT_KEY, VIEWS_KEY = "runs.table", "runs.views"  # keys in the settings
MAX_VIEWS, MAX_NAME = 50, 80  # views, and characters of a name
MAX_SENTENCE = 1_000  # characters


@dataclass(frozen=True)
class Layout:
    """Columns, order, groups and filter of the table; `widths` has the resized columns."""

    columns: tuple[str, ...] = tuple(map(str, DEFAULT_COLUMNS))
    pinned: int = 0  # number of pinned columns
    widths: Mapping[str, int] = field(default_factory=dict)  # px at a text size of 100 %
    sort: str = Column.STARTED.value
    descending: bool = True
    groups: tuple[str, ...] = ()
    sentence: str = ""
    shown: int = 0  # index of the RunFilter

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON for the settings."""
        return {**asdict(self), "columns": list(self.columns), "groups": list(self.groups)}


def read_layout(stored: object) -> Layout:
    """Read a layout from the settings; invalid parts fall back to the defaults."""
    parts = stored if isinstance(stored, dict) else {}
    default = Layout()
    columns = _keys(parts.get("columns")) or default.columns
    sort = parts.get("sort")
    widths = parts.get("widths")
    return replace(
        default,
        columns=columns,
        pinned=min(_count(parts.get("pinned")), len(columns) - 1),
        widths={
            key: min(width, 2_000)
            for key, width in (widths.items() if isinstance(widths, dict) else ())
            if key in columns and isinstance(width, int) and width > 0
        },
        sort=sort if isinstance(sort, str) and column_info(sort) is not None else default.sort,
        descending=bool(parts.get("descending", True)),
        groups=_keys(parts.get("groups")),
        sentence=str(parts.get("sentence") or "")[:MAX_SENTENCE],
        shown=_count(parts.get("shown")),
    )


class Views:
    """Saved views by name, in alphabetical order."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def names(self) -> list[str]:
        return sorted(self._saved(), key=str.casefold)

    def get(self, name: str) -> Layout:
        return read_layout(self._saved().get(name))

    def save(self, name: str, layout: Layout) -> None:
        views = self._saved() | {name[:MAX_NAME]: layout.to_json()}
        self._settings.set_state(VIEWS_KEY, dict(list(views.items())[-MAX_VIEWS:]))

    def delete(self, name: str) -> None:
        others = {key: item for key, item in self._saved().items() if key != name}
        self._settings.set_state(VIEWS_KEY, others)

    def current(self) -> Layout:
        """The layout of the last session."""
        return read_layout(self._settings.get_state(CURRENT_KEY))

    def save_current(self, layout: Layout) -> None:
        self._settings.set_state(CURRENT_KEY, layout.to_json())

    def _saved(self) -> dict[str, Any]:
        views = self._settings.get_state(VIEWS_KEY, {})
        return {str(name): item for name, item in views.items()} if isinstance(views, dict) else {}


def _keys(stored: object) -> tuple[str, ...]:
    """The known column keys in a stored list, without duplicates."""
    items = stored if isinstance(stored, list | tuple) else ()
    return tuple(info.key for info in known_columns(key for key in items if isinstance(key, str)))


def _count(stored: object) -> int:
    return max(0, stored) if isinstance(stored, int) else 0


PREFERRED = (Column.TASK, Column.DATA, Column.BASE_MODEL, Column.STATE, Column.TAGS, Column.JOB)
MAX_COMPARED_RUNS = 300  # to find the settings that differ
MAX_OFFERED_SETTINGS = 12  # to group by
EXCLUDED = (Column.NAME, Column.NOTES, Column.STARTED, Column.LOSS, Column.SEEDS)


class _MenuButton(QToolButton):
    """A button with a menu that is filled when it opens."""

    def __init__(self, text: str, icon: str) -> None:
        super().__init__()
        self.setText(text)
        self.setIcon(resources.icon(icon, Role.ACCENT))
        self.setIconSize(buttons.text_icon_size())
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(text.replace("&", ""))
        self.setMenu(CheckableMenu(self))
        self.menu().aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        raise NotImplementedError


class ColumnsButton(_MenuButton):
    """A menu of checkable columns; `offered` returns their keys, `checked` the checked keys.

    Signals:
        chosen: the keys of the checked columns, in the order in which they were checked.
    """

    chosen = Signal(object)

    def __init__(
        self,
        text: str,
        icon: str,
        offered: Callable[[], Iterable[str]],
        checked: Callable[[], Sequence[str]],
        with_nothing: bool = False,
    ) -> None:
        super().__init__(text, icon)
        self._offered, self._checked, self._with_nothing = offered, checked, with_nothing

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        if self._with_nothing:
            menu.addAction(tr("&None")).triggered.connect(lambda: self.chosen.emit(()))
            menu.addSeparator()
        for info in known_columns(self._offered()):
            action = menu.addAction(plain_menu_text(info.title()))
            action.setCheckable(True)
            action.setChecked(info.key in self._checked())
            action.triggered.connect(lambda _=False, key=info.key: self._toggle(key))

    def _toggle(self, key: str) -> None:
        keys = self._checked()
        new_keys = [item for item in keys if item != key] + ([key] if key not in keys else [])
        self.chosen.emit(tuple(new_keys))


def grouping_columns(model: RunsTable) -> list[str]:
    """Columns to group the runs by: common ones, settings that differ, and those shown."""
    keys = [*PREFERRED, *differing_settings(model.rows()), *model.keys, *model.group_keys]
    return [str(key) for key in keys if key not in EXCLUDED or key in model.group_keys]


def differing_settings(rows: Iterable[RunRow]) -> list[str]:
    """The settings in which runs differ, those with fewest values first."""
    result: dict[str, set[object]] = {}
    for _, row in zip(range(MAX_COMPARED_RUNS), rows, strict=False):
        for path in row.fields.paths():
            if column_info(path) is not None:
                result.setdefault(path, set()).add(row.fields.get(path))
    counts = {path: len(values) for path, values in result.items() if len(values) > 1}
    return sorted(counts, key=lambda path: counts[path])[:MAX_OFFERED_SETTINGS]


class ViewMenu(_MenuButton):
    """Chooses, saves and deletes views.

    Signals:
        chosen: the layout to show.
    """

    chosen = Signal(object)

    def __init__(self, views: Views, current: Callable[[], Layout]) -> None:
        super().__init__(tr("&View"), "layout-panel-left")
        self._views, self._current = views, current

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        names = self._views.names()
        menu.addAction(tr("&Default view")).triggered.connect(
            lambda: self.chosen.emit(Layout(tuple(map(str, DEFAULT_COLUMNS))))
        )
        for name in names:
            menu.addAction(plain_menu_text(name)).triggered.connect(
                lambda _=False, name=name: self.chosen.emit(self._views.get(name))
            )
        menu.addSeparator()
        menu.addAction(tr("&Save this view…")).triggered.connect(self._ask_name)
        deleting = menu.addMenu(tr("D&elete a view"))
        deleting.setEnabled(bool(names))
        for name in names:
            deleting.addAction(plain_menu_text(name)).triggered.connect(
                lambda _=False, name=name: self._views.delete(name)
            )

    def _ask_name(self) -> None:
        ask_for_name(
            self,
            (
                tr("Save this view"),
                tr("Columns, order, groups and filter of the table are saved under a name."),
            ),
            "",
            MAX_NAME,
            Choice("save", tr("&Save"), "primary"),
            lambda name: self._views.save(name, self._current()),
        )
