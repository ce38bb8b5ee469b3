"""What decided the weights of a run, whether they can be had again, whether its files are whole."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.pages.runs import texts as words
from app.pages.runs.run.state import RunState
from app.theme import SPACE, Role
from app.widgets import buttons, numbers
from app.widgets.facts import Facts
from app.widgets.page import Card, Picture, clear, scrolling
from app.widgets.progress import ProgressLine
from app.widgets.text import Look, Text
from engine.runs.reproducibility import Certificate, Stretch

SUM = 64  # characters of a SHA-256


class CertificateTab(QWidget):
    """Reads only while it is on the screen."""

    def __init__(self, state: RunState) -> None:
        super().__init__()
        self._state = state
        self._found: Certificate | None = None
        self.verdict = Text("", "strong")
        self.good = Picture("circle-check", 22, Role.GOOD)
        self.doubtful = Picture("triangle-alert", 22, Role.WARN)
        self.obstacles = Text("", "muted", selectable=True)
        self.branched = Text("", "body", selectable=True)
        self._stretches = QVBoxLayout()
        self._stretches.setSpacing(SPACE)
        self.files = Text("", "muted")
        self.check = buttons.plain(self.tr("Check the f&iles"), state.check_files, "check")
        self.copy = buttons.plain(self.tr("&Copy"), self._on_copy, "copy")
        self.progress = ProgressLine(self.tr("Check of the files"))
        self.progress.cancelled.connect(state.cancel_check)
        self.facts = Facts(self.tr("Conditions"))
        whole = QHBoxLayout(self)
        whole.setContentsMargins(0, 3 * SPACE, 0, 0)
        whole.setSpacing(3 * SPACE)
        whole.addWidget(self._story(), 1)
        whole.addWidget(self._conditions(), 1)
        state.certificate_read.connect(self.show_certificate)
        state.files_checked.connect(self._on_checked)
        state.checking.connect(self._on_checking)
        state.changed.connect(self._on_changed)

    def _story(self) -> Card:
        card = Card(self.tr("Can it be repeated?"))
        top = QHBoxLayout()
        top.setSpacing(2 * SPACE)
        for picture in (self.good, self.doubtful):
            picture.hide()
            top.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(self.verdict, 1)
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 2 * SPACE, 0)
        column.setSpacing(2 * SPACE)
        column.addLayout(top)
        column.addWidget(self.obstacles)
        column.addWidget(self.branched)
        column.addLayout(self._stretches)
        column.addStretch()
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        row.addWidget(self.check)
        row.addWidget(self.files, 1)
        card.body.addWidget(scrolling(inner), 1)
        card.body.addWidget(self.progress)
        card.body.addLayout(row)
        return card

    def _conditions(self) -> Card:
        card = Card(self.tr("Conditions and sums"))
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 2 * SPACE, 0)
        column.addWidget(self.facts)
        column.addStretch()
        row = QHBoxLayout()
        row.addWidget(self.copy)
        row.addStretch()
        card.body.addWidget(scrolling(inner), 1)
        card.body.addLayout(row)
        return card

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._state.read_certificate()

    def _on_changed(self) -> None:
        if self.isVisible():
            self._state.read_certificate()

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def show_certificate(self, found: Certificate) -> None:
        """Show this one; the same again changes nothing."""
        if found == self._found:
            return
        self._found = found
        look, sentence = verdict(found)
        self.verdict.setText(sentence)
        self.verdict.set_look(look)
        self.good.setVisible(look == "good")
        self.doubtful.setVisible(look == "warn")
        self.obstacles.setText("\n".join(found.obstacles) if found.step else "")
        self.obstacles.setVisible(bool(found.obstacles) and found.step > 0)
        self.branched.setText(found.branched.sentence() if found.branched else "")
        self.branched.setVisible(found.branched is not None)
        clear(self._stretches)
        for stretch in found.stretches:
            self._stretches.addWidget(Text(stretch_sentence(stretch), "muted", selectable=True))
        self.facts.show_facts([(name, _in_two_lines(value)) for name, value in facts(found)])
        self.check.setEnabled(found.step > 0)
        self.files.setText("")

    def _on_checking(self, done: int, total: int) -> None:
        if not total:
            self.progress.end()
            return
        if self.progress.isHidden():
            self.progress.begin(self.tr("Reading the checkpoints"))
        self.progress.tell(done, total)

    def _on_checked(self, damages: list[str]) -> None:
        self.files.setText(
            "\n".join(damages)
            if damages
            else self.tr("Every file of every checkpoint is what was saved.")
        )
        self.files.set_look("bad" if damages else "good")

    def _on_copy(self) -> None:
        if self._found is not None:
            lines = [f"{name}: {value}" for name, value in facts(self._found)]
            lines += [stretch_sentence(stretch) for stretch in self._found.stretches]
            lines = [verdict(self._found)[1], *self._found.obstacles, *lines]
            QGuiApplication.clipboard().setText("\n".join(lines))


def verdict(found: Certificate) -> tuple[Look, str]:
    """In a sentence, whether the same job gives the same weights."""
    if not found.step:
        return "muted", words.translate(
            "Runs", "Nothing was saved yet, so there is nothing to say."
        )
    if found.obstacles:
        return "warn", words.translate(
            "Runs", "The same job may give weights that differ a little:"
        )
    return "good", words.translate(
        "Runs",
        "The same job under these conditions gives the weights of step {0} again, bit for bit.",
    ).format(numbers.count(found.step))


def stretch_sentence(stretch: Stretch) -> str:
    """What one worker did, and how exactly it went on."""
    first, last = numbers.count(stretch.first), numbers.count(stretch.last)
    if not stretch.counts:
        template = words.translate("Runs", "{0}: began at step {1}; nothing of it was saved.")
        return template.format(words.moment(stretch.at), first)
    if not stretch.first:
        template = words.translate("Runs", "{0}: trained up to step {1}.")
        return template.format(words.moment(stretch.at), last)
    exactly = words.translate("Runs", "bit for bit")
    if stretch.differences:
        exactly = words.translate("Runs", "not bit for bit: {0}")
        exactly = exactly.format(", ".join(stretch.differences))
    template = words.translate("Runs", "{0}: went on from step {1} up to {2}, {3}.")
    return template.format(words.moment(stretch.at), first, last, exactly)


def facts(found: Certificate) -> list[tuple[str, str]]:
    """Conditions and sums by names for people; what is not known is left out."""
    names = {
        "processor": words.translate("Runs", "Processor"),
        "instructions": words.translate("Runs", "Instructions"),
        "device": words.translate("Runs", "Device"),
        "threads": words.translate("Runs", "Threads"),
        "processes": words.translate("Runs", "Processes"),
        "precision": words.translate("Runs", "Precision"),
        "studio": words.translate("Runs", "BERT Studio"),
        "data": words.translate("Runs", "Fingerprint of the data"),
        "vocabulary": words.translate("Runs", "Fingerprint of the vocabulary"),
        "start": words.translate("Runs", "SHA-256 of the first weights"),
    }
    lines = [(names.get(name, name), value) for name, value in found.conditions.items()]
    last = words.translate("Runs", "SHA-256 of the weights of step {0}")
    of_optimiser = words.translate("Runs", "SHA-256 of the optimiser of step {0}")
    lines.append((last.format(numbers.count(found.step)), found.weights))
    lines.append((of_optimiser.format(numbers.count(found.step)), found.optimiser))
    lines.append((words.translate("Runs", "Most memory"), _size(found.memory)))
    lines.append((words.translate("Runs", "Most memory of the GPU"), _size(found.device_memory)))
    return [(name, value) for name, value in lines if value]


def _size(peak: int) -> str:
    return numbers.size(peak) if peak else ""


def _in_two_lines(value: str) -> str:
    """A SHA-256 has no place to break by itself."""
    is_sum = len(value) == SUM and value.isalnum()
    return f"{value[: SUM // 2]}\n{value[SUM // 2 :]}" if is_sum else value
