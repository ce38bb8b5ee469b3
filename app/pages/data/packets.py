"""Packets that are opened: one that was handed out becomes a data set of its coder."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app import background
from app.studio import Studio
from app.widgets import dialogs
from app.widgets.dialogs import Choice
from app.widgets.forms.controls import ComboBox
from app.widgets.text.labels import one_line
from engine.data.datasets.packets import (
    PacketFile,
    find_opened,
    find_origin,
    open_packet,
    read_packet,
)
from engine.errors import StudioError
from engine.files.home import free_folder


class PacketOpening(QObject):
    """Opens packets as data sets, or returns those with codes to their data set.

    Signals:
        opened: folder of the rows of a coder.
        returned: newest version of the data set of packets with codes, and their files.
    """

    opened = Signal(Path)
    returned = Signal(Path, list)

    def __init__(self, studio: Studio, owner: QWidget) -> None:
        super().__init__(owner)
        self._studio, self._owner = studio, owner

    def open(self, files: Sequence[Path]) -> None:
        """Open packets, all with codes, or one without."""
        home = self._studio.home.datasets

        def read() -> tuple[list[PacketFile], Path | None]:
            contents = [read_packet(file) for file in files]
            first = contents[0].packet
            if len(contents) > 1 and not all(content.packet.coder for content in contents):
                raise StudioError(
                    "Several packets can be opened only if all have codes.",
                    "Open a packet that was handed out alone.",
                )
            origin = find_origin(home, first) if first.coder else None
            if first.coder and origin is None:
                raise StudioError(
                    "The codes of {coder} are for “{name}”, which is not among your data sets.",
                    "Open them where the packet was handed out.",
                    coder=first.coder,
                    name=first.name[:60],
                )
            return contents, origin

        def show(found: tuple[list[PacketFile], Path | None]) -> None:
            contents, origin = found
            if origin is not None:
                self.returned.emit(origin, list(files))
            else:
                self._ask_for_coder(files[0], contents[0])

        background.run(self, read, show, self._studio.notices.show)

    def _ask_for_coder(self, file: Path, content: PacketFile) -> None:
        """Ask who codes, unless only one of the coders can be meant."""
        coders = content.packet.coders
        known = [name for name in coders if name == self._studio.settings.preferences.coder]
        if len(known or coders) == 1:
            self._open(file, content, (known or coders)[0])
            return
        box = ComboBox(self.tr("Coder"))
        box.addItems([one_line(name) for name in coders])
        dialogs.confirm(
            self._owner,
            self.tr("Code the rows of “{0}”").format(one_line(content.packet.name, 60)),
            self.tr("Choose your name: you see the rows that were handed out to you."),
            Choice("open", self.tr("&Open"), "primary"),
            lambda: self._open(file, content, coders[box.currentIndex()]),
            [box],
        )

    def _open(self, file: Path, content: PacketFile, coder: str) -> None:
        datasets, packet = self._studio.home.datasets, content.packet

        def work() -> Path:
            folder = find_opened(datasets, packet, coder)
            if folder is None:
                folder = free_folder(datasets, f"{packet.name} – {coder}") / "1"
                open_packet(file, content, coder, folder)
            return folder

        def done(folder: Path) -> None:
            self._studio.datasets_changed.emit()
            self.opened.emit(folder)

        background.run(self, work, done, self._studio.notices.show)
