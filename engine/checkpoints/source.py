"""Origin and licence of a model, in its folder: `source.json`, the card and licence files."""

import re
import shutil
from contextlib import suppress
from pathlib import Path

from engine.errors import BadCheckpoint
from engine.files.regular_file import read_regular
from engine.files.untrusted import plain_file, safe_name
from engine.messages.hub import Source

SOURCE = "source.json"
CARD = "README.md"
NOTICE = "NOTICE"
LICENCES = (
    *("LICENSE", "LICENSE.txt", "LICENSE.md", "license.txt", "LICENCE", "LICENCE.txt", "COPYING"),
    NOTICE,
)
MAX_BYTES = 1_000_000
FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---", re.DOTALL)
LICENCE = re.compile(  # one name, or several: in brackets or in lines
    r"^license(_name)?:([^\n#]*(?:\n[ \t]*-[ \t][^\n#]*)*)", re.MULTILINE
)
NAME = re.compile(r"\w[\w.+-]{0,59}")


def write_source(folder: Path, source: Source) -> None:
    """Store the origin in the folder of a model."""
    (folder / SOURCE).write_text(source.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_source(folder: Path) -> Source | None:
    """Origin of the model in `folder`; None if not recorded or unreadable."""
    try:
        path = plain_file(folder, SOURCE)
        return None if path is None else Source.model_validate_json(read_regular(path, MAX_BYTES))
    except (OSError, ValueError, BadCheckpoint):
        return None


def read_licence(folder: Path) -> str:
    """Licence of the model in `folder`: its name, else the first line of its licence file; empty if
    none is stated."""
    texts = (_text(folder / name) for name in LICENCES if name != NOTICE)
    lines = (line.strip() for text in texts for line in text.splitlines())
    return named_licence(folder) or safe_name(next(filter(None, lines), ""))


def named_licence(folder: Path) -> str:
    """Name of the licence of the model in `folder`, by the hub or its card; empty for none."""
    source = read_source(folder)
    return (source.licence if source is not None else "") or card_licence(folder / CARD)


def card_licence(card: Path) -> str:
    """Licence that the front matter of a card names; empty for none."""
    front = FRONT_MATTER.match(_text(card))
    found = dict(LICENCE.findall(front[1] if front else ""))
    named = ", ".join(NAME.findall(found.get("", "")))
    return safe_name(found.get("_name", "").strip(" \"'\r")) or named if named == "other" else named


def _text(file: Path) -> str:
    with suppress(OSError, BadCheckpoint):
        if plain_file(file.parent, file.name) is not None:
            return read_regular(file, MAX_BYTES).decode("utf-8", errors="replace")
    return ""


def copy_licence(folder: Path, target: Path) -> None:
    """Copy the licence files of a model."""
    _copy(folder, target, LICENCES)


def copy_source(folder: Path, target: Path) -> None:
    """Copy the origin, the card and the licence files of a model."""
    _copy(folder, target, (SOURCE, CARD, *LICENCES))


def _copy(folder: Path, target: Path, names: tuple[str, ...]) -> None:
    for name in names:
        path = plain_file(folder, name)
        if path is not None and path.stat().st_size <= MAX_BYTES:
            shutil.copyfile(path, target / name)
