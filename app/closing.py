"""Confirmation before the window closes while runs are unfinished."""

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QCheckBox, QWidget

from app.running import RunningRun
from app.settings import Settings
from app.translation import tr
from app.widgets import dialogs
from app.widgets.dialogs import Choice


def ask_to_close(
    window: QWidget, settings: Settings, runs: Sequence[RunningRun], close: Callable[[], None]
) -> None:
    """Say what happens to `runs`, and close if the user confirms."""
    box = QCheckBox(tr("&Don’t ask again"))
    box.setAccessibleName(tr("Don’t ask again"))
    box.toggled.connect(lambda on: settings.set("ask_on_close", not on))
    dialogs.ask(
        window,
        tr("Close BERT Studio?"),
        "\n".join(_what_becomes_of(runs)),
        [Choice("close", tr("&Close"), "primary"), Choice("cancel", tr("&Cancel"))],
        lambda answer: close() if answer == "close" else None,
        [box],
    )


def _what_becomes_of(runs: Sequence[RunningRun]) -> list[str]:
    working = sum(run.is_working for run in runs)
    queued = sum(run.state == "queued" for run in runs)
    said = []
    if working:
        goes_on = tr(
            "%Ln run(s) will continue training in the background. Open BERT Studio again to "
            "follow the progress.",
            working,
        )
        said.append(goes_on)
    if queued:
        said.append(tr("%Ln queued run(s) will start without the window.", queued))
    return said
