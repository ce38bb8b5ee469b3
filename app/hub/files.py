"""List of files with sizes, before download or upload."""

from collections.abc import Sequence

from app.theme import SPACE
from app.translation import tr
from app.widgets.text import numbers
from app.widgets.text.labels import ReadText
from engine.messages.hub import HubFile, Planned

MOST_FILES = 200  # files listed at most


def list_of(files: Sequence[HubFile], name: str) -> ReadText:
    """List that can be read and copied; `name` is its accessible name."""
    lines = [f"{numbers.size(file.bytes):>10}  {file.name}" for file in files[:MOST_FILES]]
    height = min(len(lines), 9) * 5 * SPACE + 6 * SPACE
    return ReadText(name, "\n".join(lines), wraps=False, height=height)


def said_of(plan: Planned) -> str:
    """Size, licence, revision and free disk space of a planned download."""
    said = [
        tr("%Ln file(s), {0}.", len(plan.files)).format(numbers.size(plan.bytes)),
        tr("Licence: {0}.").format(plan.licence or tr("none named")),
        tr("Revision {0}.").format(plan.revision[:12]),
    ]
    if plan.fetched:
        said.append(tr("{0} already downloaded.").format(numbers.size(plan.fetched)))
    needed, free = numbers.size(plan.needed), numbers.size(plan.disk_free)
    if plan.needed > plan.disk_free:
        said.append(
            tr("Not enough disk space: it needs {0}, and {1} are free.").format(needed, free)
        )
    else:
        said.append(tr("It needs {0} on the disk; {1} are free.").format(needed, free))
    return " ".join(said)
