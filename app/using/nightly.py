"""The command that applies a model every night, for cron and the Windows Task Scheduler."""

import sys
from pathlib import Path

from PySide6.QtCore import QTime
from PySide6.QtWidgets import QGridLayout, QTabWidget, QTimeEdit, QWidget

from app.theme import SPACE
from app.translation import tr, translated
from app.using.applying_state import stored_threshold
from app.using.code_tab import CodeTab
from app.widgets import buttons, layouts
from app.widgets.dialogs import Dialog, choose_file, footer
from app.widgets.forms.controls import ComboBox, ProbabilityBox
from app.widgets.text.labels import OneLine, Text
from engine.config.dataset import Mapping
from engine.config.tasks import get_head
from engine.config.zero_shot import Described
from engine.documents.nightly import EXIT_CODES, Nightly, cron_line, scheduled_task
from engine.files.table_files import TABLE_WRITERS

SIZE = (860, 600)  # px
EXAMPLE = "texts.csv"  # until a file is chosen


class NightlyDialog(Dialog):
    """The commands for a file, its text columns if known, a threshold and a time."""

    def __init__(
        self,
        checkpoint: Path,
        name: str,
        task: str,
        owner: QWidget,
        file: Path | None = None,
        mapping: Mapping | None = None,
        described: Described | None = None,
    ) -> None:
        super().__init__(owner.window(), tr("Every night"))
        self._checkpoint, self._name, self._described = checkpoint, name, described
        self._file, self._mapping = file or Path.home() / EXAMPLE, mapping
        self.file = OneLine()
        self.choose = buttons.plain(self.tr("Choose a &file…"), self._on_choose, "file-text")
        self.time = QTimeEdit(QTime(2, 0))
        self.time.setAccessibleName(self.tr("Time"))
        below = self.tr("Mark as unsure below")
        self.threshold = ProbabilityBox(below, stored_threshold(checkpoint))
        self.threshold.setSpecialValueText(self.tr("off"))
        self.threshold.setEnabled(not get_head(task).predicts_numbers)
        self.format = ComboBox(self.tr("Output format"))
        for suffix in TABLE_WRITERS:
            self.format.addItem(suffix.removeprefix(".").upper(), suffix)
        self.cron = CodeTab(
            self.tr("Line of the crontab"),
            self.tr("Linux and macOS: run “crontab -e” in a terminal, and add this line."),
        )
        self.windows = CodeTab(
            self.tr("Command of PowerShell"),
            self.tr("Windows: run this once in PowerShell, which adds a task to the scheduler."),
        )
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName(self.tr("Schedulers"))
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.cron, "cron")
        self.tabs.addTab(self.windows, self.tr("Windows Task Scheduler"))
        self.tabs.setCurrentIndex(int(sys.platform == "win32"))
        codes = "; ".join(f"{code}: {translated(text)}" for code, text in EXIT_CODES.items())
        self.codes = Text(self.tr("Exit codes: {0}.").format(codes), "muted", selectable=True)
        layouts.column(
            self._grid(),
            (self.tabs, 1),
            Text(
                self.tr("The thresholds and the temperature stored with the model are used."),
                "muted",
            ),
            self.codes,
            footer(buttons.plain(self.tr("&Close"), self.accept)),
            parent=self,
            spacing=3 * SPACE,
            margins=(6 * SPACE, 6 * SPACE, 6 * SPACE, 5 * SPACE),
        )
        self.time.timeChanged.connect(self._show)
        self.threshold.valueChanged.connect(self._show)
        self.threshold.setFocus()  # the rest can be as it is
        self.format.activated.connect(self._show)
        self.resize(*SIZE)
        self._show()

    def _grid(self) -> QGridLayout:
        grid = layouts.grid(h_spacing=4 * SPACE, v_spacing=2 * SPACE, stretch=1)
        file = layouts.row((self.file, 1), self.choose, spacing=2 * SPACE)
        parts = (
            Text(self.tr("Time"), "strong", wraps=False),
            self.time,
            Text(self.threshold.accessibleName(), "strong", wraps=False),
            self.threshold,
            Text(self.format.accessibleName(), "strong", wraps=False),
            self.format,
            layouts.STRETCH,
        )
        grid.addWidget(Text(self.tr("File"), "strong", wraps=False), 0, 0)
        grid.addLayout(file, 0, 1)
        grid.addLayout(layouts.row(*parts, spacing=3 * SPACE), 1, 0, 1, 2)
        return grid

    def nightly(self) -> Nightly:
        """The choices."""
        file, time = self._file, self.time.time()
        return Nightly(
            self._checkpoint,
            file,
            file.with_name(f"{file.stem}-predicted{self.format.currentData()}"),
            self.threshold.value() if self.threshold.isEnabled() else None,
            time.hour(),
            time.minute(),
            self._mapping,
            self._described,
        )

    def _show(self) -> None:
        nightly = self.nightly()
        self.file.setText(str(self._file))
        self.cron.text.setPlainText(cron_line(nightly))
        task = f"BERT Studio: {self._name}"
        self.windows.text.setPlainText(scheduled_task(nightly, task))

    def _on_choose(self) -> None:
        choose_file(self, self.tr("Choose an input file"), self._set_file)

    def _set_file(self, file: Path) -> None:
        self._file, self._mapping = file, None
        self._show()
