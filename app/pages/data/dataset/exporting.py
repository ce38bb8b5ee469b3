"""Dialog that exports rows: format, rows, columns, one file or one for each split."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QCheckBox, QWidget

from app import background
from app.notices import Notices
from app.theme import SPACE
from app.translation import in_language, tr, translated
from app.widgets import buttons, dialogs, layouts
from app.widgets.dialogs import Choice, Question
from app.widgets.forms.controls import ColumnsBox, ComboBox
from app.widgets.opening import notify_saved
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from engine.data.datasets.coding import read_coding
from engine.data.datasets.editing import RowEdit
from engine.data.datasets.store import Dataset
from engine.data.writers import WRITERS
from engine.data.writers.export import Export, all_columns
from engine.data.writers.writer import Writer, write_export
from engine.files.home import folder_name

BOX_CHARACTERS = 36


@dataclass(frozen=True)
class ExportRows:
    """The rows of a data set that can be exported, with edits that are not saved yet."""

    dataset: Dataset
    listed: NDArray[np.int64]  # in the order of the table
    selected: NDArray[np.int64]
    edits: Mapping[int, RowEdit]


class ExportFields(QWidget):
    """The controls of an export, and a note on what the chosen format leaves out.

    Until the user chooses a file, its name is free in the folder of the last one.
    """

    def __init__(self, given: ExportRows) -> None:
        super().__init__()
        self._given = given
        self._file: Path | None = None  # as chosen
        self.format = ComboBox(tr("Format"), BOX_CHARACTERS)
        for writer in WRITERS.values():
            self.format.addItem(in_language(writer.title), writer.name)
        self.rows = ComboBox(tr("Rows"), BOX_CHARACTERS)
        total = len(given.dataset)
        choices = [(tr("All rows ({0})"), np.arange(total))]
        if len(given.listed) < total:
            choices.append((tr("Listed rows ({0})"), given.listed))
        if len(given.selected) > 1:
            choices.append((tr("Selected rows ({0})"), given.selected))
        self._choices = [rows for _, rows in choices]
        self.rows.addItems([name.format(numbers.count(len(rows))) for name, rows in choices])
        self.columns = ColumnsBox(tr("Columns"), BOX_CHARACTERS)
        self.per_split = QCheckBox(tr("A folder with a &file for each split"))
        self.file = OneLine()
        self.choose_file = buttons.plain(tr("C&hange…"), self._ask_for_file, "folder-open")
        self.help = Text("", "muted")
        self.losses = Text("", "warn")
        self.losses.hide()
        grid = layouts.grid(parent=self, h_spacing=4 * SPACE, v_spacing=2 * SPACE, stretch=1)
        controls = (
            (tr("Format"), self.format),
            ("", self.help),
            (tr("Rows"), self.rows),
            (tr("Columns"), self.columns),
            ("", self.per_split),
            ("", self.losses),
        )
        for index, (name, control) in enumerate(controls):
            if name:
                grid.addWidget(Text(name, "strong", wraps=False), index, 0)
            grid.addWidget(control, index, 1)
        grid.addWidget(Text(tr("File"), "strong", wraps=False), len(controls), 0)
        file = layouts.row((self.file, 1), self.choose_file, spacing=2 * SPACE)
        grid.addLayout(file, len(controls), 1)
        self._checking = background.LatestJob(self)
        self.format.currentIndexChanged.connect(self.show_losses)
        self.rows.currentIndexChanged.connect(self.show_losses)
        self.columns.changed.connect(self.show_losses)
        self.per_split.toggled.connect(self.show_losses)
        self._read_columns()

    @property
    def writer(self) -> Writer:
        return WRITERS[self.format.currentData()]

    @property
    def suffix(self) -> str:
        """The suffix of the file; “” for a folder."""
        return "" if self.per_split.isChecked() else self.writer.suffix

    @property
    def path(self) -> Path:
        """The file or folder that is written."""
        if self._file is not None and self._file.suffix == self.suffix:
            return self._file
        stem = folder_name(self._given.dataset.spec.name) if self._file is None else self._file.stem
        folder = dialogs.save_folder() if self._file is None else self._file.parent
        names = chain([stem], (f"{stem} {number}" for number in count(2)))
        return next(
            path for name in names if not (path := folder / f"{name}{self.suffix}").exists()
        )

    def _ask_for_file(self) -> None:
        name = self.path.name
        dialogs.ask_for_file(self, tr("Export rows"), name, [self.suffix], self._set_file)

    def _set_file(self, file: Path) -> None:
        self._file = file
        self.show_losses()

    def chosen(self) -> Callable[[], Export]:
        """A function that reads what was chosen. It raises StudioError if no row is left."""
        given, columns = self._given, self.columns.chosen() or None
        rows = self._choices[self.rows.currentIndex()]
        return partial(Export.choose, given.dataset, rows.tolist(), columns, given.edits)

    def show_losses(self) -> None:
        """Show the file and the sentence of the format, and find out what it leaves out."""
        writer = self.writer
        self.help.setText(translated(writer.help))
        self.per_split.setEnabled(bool(writer.suffix))
        if not writer.suffix:
            self.per_split.setChecked(False)
        path = self.path
        self.file.setText(tr("{0} in {1}").format(path.name, path.parent))
        read, per_split = self.chosen(), self.per_split.isChecked()

        def check() -> str:
            export = read()
            return writer.problem(export) or writer.note(export, per_split)

        self._checking.run(check, self._show_sentence, self._show_problem)

    def _show_sentence(self, sentence: str) -> None:
        self.losses.setText(translated(sentence))
        self.losses.setVisible(bool(sentence))
        if isinstance(dialog := self.window(), Question):
            QTimer.singleShot(0, dialog, dialog.grow)  # once the texts are laid out

    def _show_problem(self, error: BaseException) -> None:
        self._show_sentence(background.as_studio_error(error).phrase)

    def _read_columns(self) -> None:
        """Offer all columns once it is known whether rows were coded."""
        given = self._given

        def read() -> tuple[str, ...]:
            coding = read_coding(given.dataset.folder)
            return tuple(all_columns(given.dataset, coding, given.edits))

        def show(columns: tuple[str, ...]) -> None:
            self.columns.show_columns(columns, columns)
            self.show_losses()

        background.run(self, read, show, self._show_problem)


def ask_to_export(owner: QWidget, notices: Notices, given: ExportRows) -> Question:
    """Ask for the format, the rows and the file, and write it."""
    fields = ExportFields(given)

    def chosen() -> None:
        """Write outside the GUI thread; a notice says that it is done."""
        read, writer, path = fields.chosen(), fields.writer, fields.path
        per_split = fields.per_split.isChecked()
        background.run(
            owner,
            lambda: write_export(read(), writer, path, per_split),
            lambda _: notify_saved(notices, path),
            notices.show,
        )

    choice = Choice("export", tr("&Export"), "primary")
    text = tr("Unsaved edits are exported, too.") if given.edits else ""
    return dialogs.confirm(owner, tr("Export the data set"), text, choice, chosen, [fields])
