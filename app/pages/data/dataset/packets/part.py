"""Packets on the page of a data set: hand rows out, hand codes in, take them in."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app import background
from app.explorer import OneTimeWorker
from app.pages.data.dataset.checks.state import ChecksState
from app.pages.data.dataset.editing.part import EditingPart
from app.pages.data.dataset.packets.fields import (
    HandOut,
    HandOutFields,
    Pool,
    ask_to_hand_out,
    ask_to_take_in,
)
from app.pages.data.dataset.state import DatasetState
from app.studio import Studio
from app.theme import SPACE
from app.widgets import buttons, dialogs, layouts
from app.widgets.dialogs import Choice
from app.widgets.forms.controls import ComboBox
from app.widgets.help import HelpButton, set_help
from app.widgets.opening import notify_saved
from app.widgets.page import Card
from app.widgets.progress import ProgressLine
from app.widgets.text import numbers
from app.widgets.text.labels import Text, one_line, visible
from app.widgets.text.wrapping import WrapArea
from engine.data.datasets import packets
from engine.data.datasets.handed_out import call_back, hand_over
from engine.data.datasets.packets import SUFFIX, PacketFile, read_packet
from engine.data.datasets.taking_in import TakenIn, take_in
from engine.files.home import folder_name
from engine.messages.labelling import LabelsSuggested, SuggestLabels
from engine.messages.question import Answer, Refused, Working


class PacketCard(Card):
    """Hand out, call back and take in; of a packet, how many rows are coded, and hand in."""

    def __init__(self) -> None:
        super().__init__("")
        self.title = Text("", "heading")
        self.text = Text("", "muted")
        self.hand_out = buttons.plain(self.tr("&Hand out…"), icon="upload")
        self.call_back = buttons.plain(self.tr("Call row&s back…"), icon="undo-2")
        self.call_back.hide()
        self.take_in = buttons.plain(self.tr("Take i&n…"), icon="import")
        self.hand_in = buttons.primary(self.tr("&Hand in…"), icon="upload")
        self.progress = ProgressLine(self.tr("Suggesting labels"))
        actions = WrapArea(gap=2 * SPACE)
        for button in (self.hand_out, self.take_in, self.call_back, self.hand_in):
            actions.add(button)
        head = layouts.row((self.title, 1), HelpButton("packets"))
        layouts.extend(self.body, head, self.text, actions, self.progress)
        set_help(self, "packets")
        self.hide()


class PacketPart(QObject):
    """Owns the card.

    Signals:
        taken_in: folder of the new version, indices of its rows with conflicts, int64 [N].
    """

    taken_in = Signal(Path, object)

    def __init__(
        self,
        studio: Studio,
        data: DatasetState,
        editing: EditingPart,
        versions: ChecksState,
        has_edits: Callable[[], bool],
        owner: QWidget,
    ) -> None:
        super().__init__(owner)
        self._studio, self._data, self._editing = studio, data, editing
        self._versions, self._has_edits, self._owner = versions, has_edits, owner
        self._worker: OneTimeWorker | None = None
        self.card = PacketCard()
        self.card.hand_out.clicked.connect(self.ask_to_hand_out)
        self.card.call_back.clicked.connect(self.ask_to_call_back)
        self.card.take_in.clicked.connect(self._choose_packets)
        self.card.hand_in.clicked.connect(self._ask_to_hand_in)
        self.card.progress.cancelled.connect(self.close)
        editing.target_shown.connect(self.show)
        editing.counted.connect(self._show_count)
        editing.state.reserved.changed.connect(self.show)

    def close(self) -> None:
        """Cancel the suggestions of a model."""
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        self.card.progress.end()

    def show(self) -> None:
        """Show the card for rows with a codebook."""
        card, edits, packet = self.card, self._editing.state, self._data.spec.packet
        card.setVisible(edits.codebook is not None and edits.can_edit)
        title = self.tr("Several coders") if packet is None else self.tr("Packet")
        card.title.setText(title)
        for button in (card.hand_out, card.take_in):
            button.setVisible(packet is None)
        card.hand_in.setVisible(packet is not None)
        if packet is None:
            rows = self._rows_by_coder()
            with_coders = self.tr("Rows with coders: {0}.").format(
                ", ".join(f"{visible(coder)} {numbers.count(n)}" for coder, n in rows.items())
            )
            text = self.tr("Hand rows out in one file, and take the codes in that come back.")
            card.text.setText(with_coders if rows else text)
            card.call_back.setVisible(bool(rows))

    def _rows_by_coder(self) -> Counter[str]:
        """Numbers of rows that are with coders."""
        counts = Counter[str]()
        for part in self._editing.state.reserved.parts:
            counts[part.coder] += len(part.rows)
        return counts

    def _show_count(self, unlabelled: int) -> None:
        """Show how many rows of a packet are coded."""
        if (packet := self._data.spec.packet) is not None:
            template = self.tr("{0} of {1} rows of “{2}” coded by {3}.")
            total = sum(self._data.spec.rows.values())
            counts = numbers.count(total - unlabelled), numbers.count(total)
            names = visible(packet.name[:60]), visible(packet.coder)
            self.card.text.setText(template.format(*counts, *names))

    # ── handing out ──────────────────────────────────────────────────────────────────────────

    def ask_to_hand_out(self) -> None:
        """Ask who codes which rows."""
        data, edits = self._data, self._editing.state
        if data.dataset is None or self._has_edits():
            return
        every = np.arange(len(data.dataset))
        blank = edits.unlabelled()
        pools = [
            Pool(self.tr("Rows without a label ({0})"), blank),
            Pool(self.tr("All rows ({0})"), every),
        ]
        if len(data.indices) < len(every):
            pools.append(Pool(self.tr("Listed rows ({0})"), np.sort(data.indices), "search"))
        model = self._editing.card.suggesting_model
        self.fields = HandOutFields(
            [pool for pool in pools if len(pool.rows)],
            edits.reserved.rows,
            len(blank) < len(every),
            "" if model is None else model.name,
        )
        self.question = ask_to_hand_out(self._owner, self.fields, self._ask_for_file)

    def _ask_for_file(self, chosen: HandOut) -> None:
        name = f"{folder_name(self._data.spec.name)}{SUFFIX}"
        title = self.tr("Save the packet")

        def save(path: Path) -> None:
            if chosen.suggested == "model":
                self._suggest(chosen, path)
            else:
                self._write(chosen, path, None)

        dialogs.ask_for_file(self._owner, title, name, [SUFFIX], save)

    def _suggest(self, chosen: HandOut, path: Path) -> None:
        """Ask the model for labels of the rows, then write the packet."""
        model, edits = self._editing.card.suggesting_model, self._editing.state
        if model is None or self._worker is not None:
            return
        question = SuggestLabels(
            data=self._data.folder,
            target=self._data.target,
            checkpoint=model.path,
            order="file",
            rows=tuple(sorted(chosen.who)),
            codebook=edits.codebook,
        )

        def done(answer: Answer) -> None:
            self.close()
            assert isinstance(answer, LabelsSuggested)
            self._write(chosen, path, {item.row: item.label for item in answer.suggestions})

        def refused(answer: Refused) -> None:
            self.close()
            self._studio.notices.error(answer.problem, answer.advice, answer.details)

        def working(message: Working) -> None:
            self.card.progress.show_progress(message.done, message.total, message.stage)

        self.card.progress.begin(self.tr("Starting…"))
        self._worker = self._studio.one_time_worker(question, done, refused, working, self)

    def _write(self, chosen: HandOut, path: Path, suggestions: dict[int, str] | None) -> None:
        dataset = self._data.dataset
        assert dataset is not None

        def work() -> PacketFile:
            known = packets.existing_labels(dataset) if chosen.suggested == "labels" else None
            content = packets.hand_out(
                dataset,
                chosen.who,
                chosen.coders,
                chosen.drawn,
                chosen.chance,
                known if suggestions is None else suggestions,
            )
            hand_over(dataset, content, path)
            return content

        def done(_: PacketFile) -> None:
            notify_saved(self._studio.notices, path)
            self._editing.state.reserved.read()

        self._run(work, done)

    def ask_to_call_back(self) -> None:
        """Ask whose rows are free again."""
        rows, dataset = self._rows_by_coder(), self._data.dataset
        if dataset is None or not rows:
            return
        box, choices = ComboBox(self.tr("Coder")), [[coder] for coder in rows]
        for coder, count in rows.items():
            text = self.tr("{0}: %Ln row(s)", "", count)
            box.addItem(text.format(one_line(coder)))
        if len(choices) > 1:
            choices.append([*rows])
            box.addItem(self.tr("All coders"))

        def free() -> None:
            work = partial(call_back, dataset, choices[box.currentIndex()])
            self._run(work, lambda _: self._editing.state.reserved.read())

        self.question = dialogs.confirm(
            self._owner,
            self.tr("Call rows back"),
            self.tr(
                "They can be labelled and handed out again. A packet that comes back later is "
                "taken in all the same, and its conflicts are listed."
            ),
            Choice("call back", self.tr("Call &back"), "primary"),
            free,
            [box],
        )

    # ── handing in ───────────────────────────────────────────────────────────────────────────

    def _ask_to_hand_in(self) -> None:
        dataset, edits = self._data.dataset, self._editing.state.pending()
        assert dataset is not None and dataset.spec.packet is not None
        packet = dataset.spec.packet
        name = folder_name(f"{packet.name} {packet.coder} coded")

        def save(path: Path) -> None:
            self._run(
                lambda: packets.write_packet(path, packets.hand_in(dataset, edits)),
                lambda _: notify_saved(self._studio.notices, path),
            )

        title = self.tr("Save the codes")
        dialogs.ask_for_file(self._owner, title, f"{name}{SUFFIX}", [SUFFIX], save)

    # ── taking in ────────────────────────────────────────────────────────────────────────────

    def _choose_packets(self) -> None:
        filters = [self.tr("Packets ({0})").format(f"*{SUFFIX}")]
        if not self._has_edits():
            title = self.tr("Take codes in")
            dialogs.choose_files(self._owner, title, self.take_in, filters)

    def take_in(self, files: Sequence[Path]) -> None:
        """Merge packets, show what they bring, and make a version of it."""
        dataset = self._data.stored
        if dataset is not None and not self._has_edits():
            self._run(
                lambda: take_in(dataset, [read_packet(file) for file in files]), self._show_found
            )

    def _show_found(self, found: TakenIn) -> None:
        if found.is_empty:
            text = self.tr("These codes are in the data set already. Nothing changes.")
            self._studio.notices.info(text)
            return
        rows = np.unique([c.row for c in found.conflicts if c.row >= 0]).astype(np.int64)

        def make() -> None:
            change = found.edits.changes[0]
            self._versions.derive(
                found.edits, change, lambda version: self.taken_in.emit(version, rows)
            )

        self.question = ask_to_take_in(self._owner, found, self._versions.new_version, make)

    def _run(self, work: Callable[[], object], done: Callable[[Any], None]) -> None:
        background.run(self, work, done, self._studio.notices.show)
