"""How the table of runs stands: its columns, order and groups; kept, and kept under names."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from app.pages.runs.columns import DEFAULT, Column, column_of
from app.settings import Settings

PRESENT_KEY, VIEWS_KEY = "runs.table", "runs.views"  # keys of the settings
MOST_VIEWS, VIEW_NAME = 50, 80  # characters of a name
LONGEST_SENTENCE = 1_000  # characters


@dataclass(frozen=True)
class Layout:
    """What is shown of the runs and how. `widths` has the columns that the user has resized."""

    columns: tuple[str, ...] = tuple(map(str, DEFAULT))
    pinned: int = 0  # so many columns stay at the left while the others are scrolled
    widths: Mapping[str, int] = field(default_factory=dict)  # px
    sort: str = Column.STARTED.value
    descending: bool = True
    groups: tuple[str, ...] = ()
    sentence: str = ""
    shown: int = 0

    def plain(self) -> dict[str, Any]:
        """As the settings keep it."""
        return {**asdict(self), "columns": list(self.columns), "groups": list(self.groups)}


def layout_from(plain: object) -> Layout:
    """What the settings kept; what is damaged or unknown in it is as it was at first."""
    found = plain if isinstance(plain, dict) else {}
    first = Layout()
    columns = _keys(found.get("columns")) or first.columns
    sort = found.get("sort")
    widths = found.get("widths")
    return replace(
        first,
        columns=columns,
        pinned=min(_whole(found.get("pinned")), len(columns) - 1),
        widths={
            key: min(width, 2_000)
            for key, width in (widths.items() if isinstance(widths, dict) else ())
            if key in columns and isinstance(width, int) and width > 0
        },
        sort=sort if isinstance(sort, str) and column_of(sort) is not None else first.sort,
        descending=bool(found.get("descending", True)),
        groups=_keys(found.get("groups")),
        sentence=str(found.get("sentence") or "")[:LONGEST_SENTENCE],
        shown=_whole(found.get("shown")),
    )


class Views:
    """The layouts that have a name, in the order of the alphabet."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def names(self) -> list[str]:
        return sorted(self._kept(), key=str.casefold)

    def get(self, name: str) -> Layout:
        return layout_from(self._kept().get(name))

    def save(self, name: str, layout: Layout) -> None:
        """Keep it under this name, in the place of another that had it."""
        kept = self._kept() | {name[:VIEW_NAME]: layout.plain()}
        self._settings.keep(VIEWS_KEY, dict(list(kept.items())[-MOST_VIEWS:]))

    def delete(self, name: str) -> None:
        others = {key: one for key, one in self._kept().items() if key != name}
        self._settings.keep(VIEWS_KEY, others)

    def present(self) -> Layout:
        """The layout in which the table was left."""
        return layout_from(self._settings.place(PRESENT_KEY))

    def keep_present(self, layout: Layout) -> None:
        self._settings.keep(PRESENT_KEY, layout.plain())

    def _kept(self) -> dict[str, Any]:
        kept = self._settings.place(VIEWS_KEY, {})
        return {str(name): one for name, one in kept.items()} if isinstance(kept, dict) else {}


def _keys(found: object) -> tuple[str, ...]:
    """Those of columns that there are, each once."""
    listed = found if isinstance(found, list | tuple) else ()
    return tuple(dict.fromkeys(key for key in listed if isinstance(key, str) and column_of(key)))


def _whole(found: object) -> int:
    return max(0, found) if isinstance(found, int) else 0
