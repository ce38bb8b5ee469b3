"""Warning if the home folder lies on a network or synchronised drive."""

from app.notices import Notices
from app.settings import Settings
from app.translation import tr
from engine.files.home import Home
from engine.system.drives import Drive, conflict_copies, drive_of

TOLD = "drive"  # settings key of the last warning


def warn_of_drive(home: Home, settings: Settings, notices: Notices) -> None:
    """Warn once for each drive, and whenever new conflicting copies of the record appear."""
    drive = drive_of(home.root)
    copies = [copy.name for copy in conflict_copies(home.record)]
    found = [drive.kind, drive.name, *copies]
    if found == settings.place(TOLD, ["local", ""]):
        return
    settings.keep(TOLD, found)
    if drive.kind != "local":
        notices.say(" ".join(_warning(drive)))
    if copies:
        notices.error(
            tr("There are conflicting copies of the run database: {0}.").format(", ".join(copies)),
            tr("Use the home folder on one machine at a time. The copies are not read."),
        )


def _warning(drive: Drive) -> tuple[str, str]:
    if drive.kind == "network":
        return (
            tr("The home folder is on a network drive ({0}).").format(drive.name),
            tr("Use it from one machine at a time; a local folder is faster and safer."),
        )
    return (
        tr("The home folder is synchronised by {0}.").format(drive.name),
        tr("Pause that while a run trains, or use a folder that is not synchronised."),
    )
