"""Desktop notifications, also from a process without a window.

Linux: org.freedesktop.Notifications of the session, whose server may play a sound. macOS:
osascript. Windows has none for a program that is not installed as a package, only a sound.
"""

import subprocess
import sys

from engine.desktop.bus import NoAnswer, call, connect

PROGRAM, ICON = "BERT Studio", "bert-studio"
SOUNDS = {True: "complete", False: "dialog-error"}  # freedesktop's names, for success and failure
SCRIPT = (
    "on run argv",
    'if item 3 of argv is "" then',
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "else",
    "display notification (item 2 of argv) with title (item 1 of argv) sound name (item 3 of argv)",
    "end if",
    "end run",
)


def notify(title: str, text: str, sound: bool, good: bool) -> None:
    """Show a notification. Raises NoAnswer, an OSError, if the system refuses."""
    if sys.platform == "linux":
        _notify_by_bus(title, text, sound, good)
    elif sys.platform == "darwin":
        _notify_by_script(title, text, ("Glass" if good else "Basso") if sound else "")
    elif sys.platform == "win32":
        if sound:
            import winsound

            winsound.MessageBeep(winsound.MB_OK if good else winsound.MB_ICONHAND)
        raise NoAnswer("Windows shows only notifications of installed packages")


def _notify_by_bus(title: str, text: str, sound: bool, good: bool) -> None:
    hints = {"urgency": ("y", 1 if good else 2), "desktop-entry": ("s", ICON)}
    if sound:
        hints["sound-name"] = ("s", SOUNDS[good])
    else:
        hints["suppress-sound"] = ("b", True)
    with connect("SESSION") as connection:
        call(
            connection,
            "org.freedesktop.Notifications",
            "/org/freedesktop/Notifications",
            "org.freedesktop.Notifications.Notify",
            "susssasa{sv}i",
            (PROGRAM, 0, ICON, title, _escape(text), [], hints, -1),
        )


def _escape(text: str) -> str:
    """Escape the text for servers that read markup in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _notify_by_script(title: str, text: str, sound: str) -> None:
    """Run the script; the texts are its arguments, never a part of it."""
    lines = [word for line in SCRIPT for word in ("-e", line)]
    subprocess.run(["osascript", *lines, title, text, sound], check=True, timeout=10)
