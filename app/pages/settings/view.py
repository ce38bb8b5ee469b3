"""Appearance, training, closing, and About; changes take effect immediately."""

import getpass

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QLineEdit, QWidget

from app import background, translation
from app.machine import read_machine
from app.pages.settings.about import About
from app.pages.settings.controls import LINE_WIDTH, combo_box, spin_box, switch, text_line
from app.pages.settings.elsewhere import ExternalModels
from app.studio import Studio
from app.theme import SPACE, TEXT_SIZES, px
from app.widgets import buttons, layouts
from app.widgets.buttons import Segments
from app.widgets.forms.controls import Switch
from app.widgets.opening import open_path
from app.widgets.page import Card, Page
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.spec_texts import value_text
from engine.desktop.on_end import split_command
from engine.errors import StudioError

THEMES = ("light", "dark", "system")
DEVICES = ("auto", "cpu", "cuda", "mps")


class SettingsPage(Page):
    """One card for each subject."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(self.tr("Settings"), scrolls=True, max_width=860)
        self._studio = studio
        settings = studio.settings
        self.theme_choice = Segments(
            [self.tr("&Light"), self.tr("&Dark"), self.tr("&System")], self.tr("Theme")
        )
        self.theme_choice.choose(THEMES.index(settings.preferences.theme))
        self.theme_choice.chosen.connect(lambda index: settings.set("theme", THEMES[index]))
        sizes = {size: numbers.percent(size / 100, 0) for size in TEXT_SIZES}
        self.text_size = combo_box(settings, "text_size", sizes)
        devices = {device: value_text(device) for device in DEVICES}
        self.device = combo_box(settings, "device", devices)
        self.explorer_device = combo_box(settings, "explorer_device", devices)
        self.threads = spin_box(settings, "threads", 0, 1024)
        self.threads.setSpecialValueText(self.tr("Automatic"))
        self.ask_on_close = switch(settings, "ask_on_close")
        self.stand_by = switch(settings, "stand_by")
        self.home = OneLine(str(studio.home.root), "mono")
        self.open_home = buttons.plain(
            self.tr("&Open the folder"),
            lambda: open_path(studio.home.root),
            icon="folder-open",
        )
        self.about = About()
        self._add(self.tr("Appearance"), self._appearance())
        self._add(
            self.tr("Training and Explore"),
            [
                (
                    self.tr("Training device"),
                    self.device,
                    self.tr("The default for new jobs. Automatic uses a GPU if there is one."),
                ),
                (
                    self.tr("Explore device"),
                    self.explorer_device,
                    self.tr(
                        "The device of the Explore page. Changing it restarts the Explore process."
                    ),
                ),
                (
                    self.tr("Threads"),
                    self.threads,
                    self.tr(
                        "CPU threads for new jobs and the Explore page. Automatic is usually "
                        "one per core."
                    ),
                ),
                (
                    self.tr("Preload processes"),
                    self.stand_by,
                    self.tr(
                        "Keeps a process ready while you set up a run or use the Models page, so "
                        "that a run or an import starts a few seconds earlier. Uses about 250 MB "
                        "and ends some minutes after you last used the page."
                    ),
                ),
            ],
        )
        self.runs = RunSettings(studio)
        self._add(self.tr("Runs"), self.runs.rows())
        self.author, self.project, self.coder = (
            text_line(settings, key) for key in ("author", "project", "coder")
        )
        self.coder.setPlaceholderText(getpass.getuser())
        self._add(
            self.tr("Labels"),
            [
                (
                    self.tr("Coder"),
                    self.coder,
                    self.tr("Your name, stored with each row that you label."),
                )
            ],
        )
        self._add(
            self.tr("Reports"),
            [
                (self.tr("Author"), self.author, self.tr("Stated on the first page, if given.")),
                (self.tr("Project"), self.project, self.tr("Stated below the author.")),
            ],
        )
        self._add(
            self.tr("Closing"),
            [
                (
                    self.tr("Ask before closing"),
                    self.ask_on_close,
                    self.tr(
                        "Only while runs are unfinished. Training continues in the background."
                    ),
                )
            ],
        )
        self.external_models = ExternalModels(studio)
        models_card = self._add(self.tr("Models from other sources"), self.external_models.rows())
        models_card.body.addWidget(self.external_models.folder)
        home_card = self._add(
            self.tr("Home folder"),
            [
                (
                    self.tr("Data, models and runs are stored here"),
                    self.open_home,
                    self.tr(
                        "To use another folder, set BERT_STUDIO_HOME before starting. The "
                        "“cache” folder can be deleted at any time."
                    ),
                )
            ],
        )
        home_card.body.addWidget(self.home)
        self.body.addWidget(self.about)
        self.body.addStretch(1)
        studio.settings.changed.connect(self._on_changed)

    def arrive(self, argument: object = None) -> None:
        root = self._studio.home.root
        background.run(self, lambda: read_machine(root), self.about.show_machine)

    def _appearance(self) -> list[tuple[str, QWidget, str]]:
        """Theme, text size, and language if there are several."""
        note = self.tr("“System” follows the theme of your desktop.")
        rows: list[tuple[str, QWidget, str]] = [(self.tr("Theme"), self.theme_choice, note)]
        note = self.tr("Shortcuts: Ctrl and + or −; Ctrl+0 for 100 %.")
        rows.append((self.tr("Text size"), self.text_size, note))
        if len(translation.LANGUAGES) > 1:
            names = {language.code: language.name for language in translation.LANGUAGES}
            titles = {"": self.tr("System language"), **names}
            box = combo_box(self._studio.settings, "language", titles)
            note = self.tr("Takes effect the next time BERT Studio starts.")
            rows.append((self.tr("Language"), box, note))
        return rows

    def _add(self, title: str, rows: list[tuple[str, QWidget, str]]) -> Card:
        card = Card(title)
        grid = layouts.grid(h_spacing=8 * SPACE, v_spacing=4 * SPACE, stretch=0)
        for row, (name, control, text) in enumerate(rows):
            texts = layouts.column(Text(name, "strong"), Text(text, "small"), spacing=2)
            grid.addLayout(texts, row, 0)
            is_small = isinstance(control, Switch)
            side = Qt.AlignmentFlag.AlignRight if is_small else Qt.AlignmentFlag(0)
            grid.addWidget(control, row, 1, side)
            if not control.accessibleName():
                control.setAccessibleName(name)
            control.setAccessibleDescription(text)
        card.body.addLayout(grid)
        self.body.addWidget(card)
        return card

    def _on_changed(self, name: str) -> None:
        """Follow a preference changed elsewhere, such as in the command palette."""
        preferences = self._studio.settings.preferences
        if name == "theme":
            self.theme_choice.choose(THEMES.index(preferences.theme))
        elif name == "text_size":
            self.text_size.setCurrentIndex(self.text_size.findData(preferences.text_size))
        elif name == "ask_on_close":
            self.ask_on_close.setChecked(preferences.ask_on_close)


class RunSettings(QObject):
    """Controls for runs; `rows` returns them with titles and explanations."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        self._studio = studio
        settings = studio.settings
        self.per_device = spin_box(settings, "runs_per_device", 1, 64)
        self.keep_awake = switch(settings, "keep_awake")
        self.notify = switch(settings, "notify")
        self.sound = switch(settings, "sound")
        self.sound.setEnabled(self.notify.isChecked())
        self.notify.toggled.connect(self.sound.setEnabled)
        titles = {
            "off": self.tr("Off"),
            "tensorboard": self.tr("TensorBoard files"),
            "mlflow": self.tr("MLflow runs"),
            "both": self.tr("Both"),
        }
        self.live = combo_box(settings, "live_curves", titles)
        self.on_end = QLineEdit(settings.preferences.on_end)
        self.on_end.setMaxLength(4_000)
        self.on_end.setMinimumWidth(px(LINE_WIDTH))
        self.on_end.setPlaceholderText(self.tr("None"))
        self.on_end.editingFinished.connect(self._on_command)

    def rows(self) -> list[tuple[str, QWidget, str]]:
        """Title, control and explanation of each setting, in order."""
        return [
            (
                self.tr("Runs at the same time"),
                self.per_device,
                self.tr("The maximum on each device; other runs wait in the queue."),
            ),
            (
                self.tr("Keep the system awake"),
                self.keep_awake,
                self.tr("While a run trains, where the system allows it."),
            ),
            (
                self.tr("Desktop notifications"),
                self.notify,
                self.tr("When a run finishes, fails or stops, also without the window."),
            ),
            (
                self.tr("With a sound"),
                self.sound,
                self.tr("If your desktop plays sounds with notifications."),
            ),
            (
                self.tr("Live curves"),
                self.live,
                self.tr("Written for other programs while a run trains, in {0}.").format(
                    self._studio.home.curves
                ),
            ),
            (
                self.tr("Command when a run ends"),
                self.on_end,
                self.tr(
                    "Started without a shell. Its environment says which run:"
                    " BERT_STUDIO_RUN_NAME, _STATE, _FOLDER, _SCORE and more."
                ),
            ),
        ]

    def _on_command(self) -> None:
        command = self.on_end.text().strip()
        try:
            split_command(command)
        except StudioError as error:
            self._studio.notices.show(error)
            return
        self._studio.settings.set("on_end", command)
