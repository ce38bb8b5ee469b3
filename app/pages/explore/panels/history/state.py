"""History of viewed inputs, saved in the home folder.

An input becomes an entry after a short pause. An edit adds an entry, but a continued sentence
replaces its unfinished entry. The file is read and written off the GUI thread, and flushed at exit.
"""

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from PySide6.QtCore import QCoreApplication, QDateTime, QObject, Qt, Signal

from app import background
from app.notices import Notices
from app.pages.explore.model_input import TextInput, clean_text
from app.pages.explore.state import ExploreState
from app.timers import debounced
from engine.errors import StudioError
from engine.files.atomic_write import write_file
from engine.files.regular_file import read_regular

log = logging.getLogger("studio")

ENTRY_DELAY_MS = 2_000  # until an input becomes an entry
SAVE_DELAY_MS = 500  # from a change until the file is written
SENTENCE_ENDS = (*".!?…:;。！？", "”", ")")  # text typed after these is another input
MAX_ENTRIES = 200  # not counting pinned entries
MAX_FILE_BYTES = 64_000_000  # larger files are refused


@dataclass(frozen=True)
class Entry:
    """An input; `at` is the time of its last view, as ISO 8601.

    Give new fields a default, so that old files stay readable.
    """

    input: TextInput
    at: str = ""
    pinned: bool = False


FILE = TypeAdapter(list[Entry])


class History(QObject):
    """The entries and their file.

    Signals:
        changed: the entries.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, file: Path, notices: Notices) -> None:
        super().__init__(explore)
        self.explore = explore
        self.entries: list[Entry] = []  # newest first
        self._file, self._notices = file, notices
        self._is_loaded = False
        self._last_added: TextInput | None = None
        self._is_unsaved = False
        self._writing: background.Job | None = None
        self._entry_timer = debounced(self, ENTRY_DELAY_MS, self.add_input)
        self._save_timer = debounced(self, SAVE_DELAY_MS, self._save)
        explore.first.input_changed.connect(self._entry_timer.start)
        explore.page_hidden.connect(self.add_input)
        app = QCoreApplication.instance()
        if app is not None:
            app.aboutToQuit.connect(self.flush)
        background.run(self, lambda: _read(file), self._on_read, self._on_unreadable)

    # ── user actions ─────────────────────────────────────────────────────────────────────────

    def open(self, entry: Entry) -> None:
        """Reopen an input; the current one becomes an entry first."""
        self.add_input()
        self.explore.input_requested.emit(entry.input)

    def pin(self, entry: Entry, pinned: bool) -> None:
        self._set_entries([replace(e, pinned=pinned) if e == entry else e for e in self.entries])

    def remove(self, entry: Entry) -> None:
        """Remove an entry; the notice offers to undo it."""
        if entry not in self.entries:
            return
        index = self.entries.index(entry)
        self._set_entries([e for e in self.entries if e != entry])

        def undo() -> None:
            others = [e for e in self.entries if e.input != entry.input]
            self._set_entries([*others[:index], entry, *others[index:]])

        self._notices.info(
            self.tr("The input was removed from the history."), self.tr("Undo"), undo
        )

    def compare(self, entry: Entry) -> None:
        """Compare an input with the current one, and pin it."""
        self.pin(entry, True)
        self.explore.compare(self.explore.first.model, entry.input)

    def add_input(self) -> None:
        """Add the current input, or move its entry to the top."""
        self._entry_timer.stop()
        now = self.explore.first.input
        if not "".join(now.texts).strip():
            return
        known = next((e for e in self.entries if e.input == now), None)
        time = QDateTime.currentDateTime().toString(Qt.DateFormat.ISODate)
        entry = replace(known, at=time) if known is not None else Entry(now, time)
        others = [e for e in self.entries if e.input != now]
        if others and self._last_added == others[0].input and _continues(others[0], now):
            del others[0]  # the same sentence, unfinished
        self._last_added = now
        self._set_entries([entry, *others])

    # ── file ─────────────────────────────────────────────────────────────────────────────────

    def flush(self) -> None:
        """Write unsaved entries now; called at exit."""
        if self._is_unsaved and self._is_loaded:
            self._is_unsaved = False
            write_file(self._file, FILE.dump_json(self.entries, indent=1))

    def _set_entries(self, entries: list[Entry]) -> None:
        unpinned = 0
        self.entries = []
        for entry in entries:
            unpinned += not entry.pinned
            if entry.pinned or unpinned <= MAX_ENTRIES:
                self.entries.append(entry)
        self._is_unsaved = True
        self._save_timer.start()
        self.changed.emit()

    def _on_read(self, loaded: list[Entry]) -> None:
        """Append the saved entries; those viewed meanwhile are newer."""
        self._is_loaded = True
        new = {entry.input for entry in self.entries}
        self.entries += [entry for entry in loaded if entry.input not in new]
        self.changed.emit()

    def _on_unreadable(self, error: BaseException) -> None:
        self._is_loaded = True
        self._notices.show(error)

    def _save(self) -> None:
        """Write the entries; one write at a time, so that the newest is the last."""
        if not self._is_loaded or (self._writing is not None and not self._writing.is_finished()):
            self._save_timer.start()
            return
        entries = list(self.entries)
        self._is_unsaved = False
        self._writing = background.run(
            self,
            lambda: write_file(self._file, FILE.dump_json(entries, indent=1)),
            lambda _: None,
            self._on_unwritten,
        )

    def _on_unwritten(self, error: BaseException) -> None:
        if isinstance(error, OSError):
            error = StudioError(
                "The history could not be saved: {reason}.",
                "Check the permissions of {file}. The history is kept until the window closes.",
                reason=error.strerror,
                file=self._file,
            )
        self._notices.show(error)


def _continues(entry: Entry, now: TextInput) -> bool:
    """True if `now` only continues the unfinished sentence of an entry."""
    before = entry.input
    if entry.pinned or any(before.masks) or any(now.masks):
        return False
    last, new = before.texts[-1], now.texts[-1]
    same = before.texts[:-1] == now.texts[:-1] and len(before.texts) == len(now.texts)
    return same and new.startswith(last) and not last.rstrip().endswith(SENTENCE_ENDS)


def _read(file: Path) -> list[Entry]:
    """Read the entries; empty if there is no file. A damaged file is renamed to `….bad`.

    Raises StudioError if the file exists but cannot be read.
    """
    try:
        entries = FILE.validate_json(read_regular(file, MAX_FILE_BYTES))
        return [replace(entry, input=_clean(entry.input)) for entry in entries]
    except FileNotFoundError:
        return []
    except (ValueError, ValidationError) as error:
        log.warning("the history of inputs was damaged: %s", error)
        file.replace(file.with_name(f"{file.name}.bad"))
        raise StudioError(
            "The history file was damaged and has been reset.",
            "The damaged file was kept as {name}.bad.",
            name=file.name,
        ) from error
    except OSError as error:
        raise StudioError(
            "The history could not be read: {reason}.",
            "Check the permissions of {file}.",
            reason=error.strerror,
            file=file,
        ) from error


def _clean(entered: TextInput) -> TextInput:
    pair = None if entered.pair is None else clean_text(entered.pair)
    return replace(entered, text=clean_text(entered.text), pair=pair)
