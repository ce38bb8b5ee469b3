"""What can be done with a run, as actions for menus, keys and buttons; each says why it cannot."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from app.pages.runs.rows import RunRow

translate = QCoreApplication.translate


@dataclass(frozen=True)
class Deed:
    """One thing to do. `why_not` says for a run why it cannot be done, or “”."""

    key: str
    text: str
    icon: str
    keys: str
    why_not: Callable[[RunRow], str]
    for_many: bool = False


def deeds() -> Sequence[Deed]:
    """In the order of the menu; “” as a key stands for a line between two groups."""
    line = Deed("", "", "", "", lambda _: "")
    return (
        Deed("open", translate("Runs", "&Open"), "chart-line", "Return", _always),
        line,
        Deed("stop", translate("Runs", "&Stop and save"), "circle-stop", "Ctrl+.", _stops, True),
        Deed("resume", translate("Runs", "&Go on"), "play", "Ctrl+G", _resumes, True),
        line,
        Deed("inside", translate("Runs", "Look &inside"), "microscope", "Ctrl+I", _has_checkpoint),
        Deed("use", translate("Runs", "&Use as start"), "flag", "Ctrl+U", _has_checkpoint),
        Deed("again", translate("Runs", "Run again &with changes"), "copy", "Ctrl+R", _has_job),
        line,
        Deed("rename", translate("Runs", "&Rename"), "pencil", "F2", _always),
        Deed("notes", translate("Runs", "&Notes…"), "scroll-text", "Ctrl+N", _always),
        Deed("star", translate("Runs", "S&tar"), "star", "Ctrl+T", _always, True),
        Deed("folder", translate("Runs", "Open the &folder"), "folder-open", "Ctrl+O", _always),
        line,
        Deed("delete", translate("Runs", "&Delete…"), "trash-2", "Del", _deletes, True),
    )


def _always(_: RunRow) -> str:
    return ""


def _stops(row: RunRow) -> str:
    if row.state == "stopping":
        return translate("Runs", "It is stopping already.")
    return "" if row.is_active else translate("Runs", "It is not running.")


def _resumes(row: RunRow) -> str:
    if row.is_active:
        return translate("Runs", "It is running or waiting already.")
    if row.state == "finished":
        return translate("Runs", "It is finished: use its checkpoint as the start of a new run.")
    return "" if row.can_resume else translate("Runs", "It cannot go on.")


def _has_checkpoint(row: RunRow) -> str:
    if row.checkpoint is not None:
        return ""
    return translate("Runs", "It has not saved a checkpoint yet.")


def _has_job(row: RunRow) -> str:
    if row.job is not None:
        return ""
    return translate("Runs", "Another version of BERT Studio made its job.")


def _deletes(row: RunRow) -> str:
    return translate("Runs", "Stop it first.") if row.is_working else ""


def resume_text(row: RunRow) -> str:
    """What “Go on” does for this run."""
    if row.checkpoint_step:
        template = translate("Runs", "&Go on from step {0}")
        return template.format(row.checkpoint_step)
    return translate("Runs", "&Start again from the beginning")
