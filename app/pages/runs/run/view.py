"""The page of one run: how it stands, what can be done, and its curves, checkpoints, log, facts."""

from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QMenu, QProgressBar, QTabWidget, QVBoxLayout, QWidget

from app import resources
from app.exporting import view as exporting
from app.pages.runs.questions import ask_name, ask_notes, ask_to_delete
from app.pages.runs.rows import RunRow
from app.pages.runs.run.actions import deeds, resume_text
from app.pages.runs.run.batch_state import BatchState
from app.pages.runs.run.batch_tab import BatchTab
from app.pages.runs.run.charts import Charts
from app.pages.runs.run.checkpoints_tab import CheckpointsTab
from app.pages.runs.run.details_tab import FactsTab
from app.pages.runs.run.log_tab import LogTab
from app.pages.runs.run.problem_banner import ProblemBanner
from app.pages.runs.run.reproducibility_tab import CertificateTab
from app.pages.runs.run.seeds_tab import SeedsTab
from app.pages.runs.run.state import RunState
from app.pages.runs.state_badge import StateBadge
from app.pages.runs.table import group_of, row_of
from app.settings import Settings
from app.theme import SPACE
from app.widgets import buttons, numbers
from app.widgets import run_texts as run_words
from app.widgets.later import Later
from app.widgets.text import OneLine, Text

BEAT = 1000  # ms between two looks at the clock


class RunView(QWidget):
    """Signals:
    left: the user wants to see all runs.
    other_wanted: the id of another run of the same job.
    """

    left = Signal()
    other_wanted = Signal(str)

    def __init__(self, state: RunState, settings: Settings) -> None:
        super().__init__()
        self.state = state
        self._stage: tuple[str, int, int] | None = None
        self.charts = Charts(state, settings)
        self.checkpoints = CheckpointsTab(state)
        self.checkpoints.look_wanted.connect(state.runs.look_inside)
        self.checkpoints.use_wanted.connect(state.runs.start_from)
        self.facts = FactsTab(state.runs, state.run_id)
        self.banner = ProblemBanner()
        self.banner.resume_wanted.connect(self._on_resume)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName(self.tr("Parts of the run"))
        self.tabs.addTab(self.charts, self.tr("C&urves"))
        self.tabs.addTab(self.checkpoints, self.tr("Chec&kpoints"))
        self.batch = Later(lambda: BatchTab(BatchState(state, state.explorer)))
        self.tabs.addTab(self.batch, self.tr("&Batch"))
        self.log = Later(lambda: LogTab(state))
        self.tabs.addTab(self.log, self.tr("&Log"))
        self.tabs.addTab(self.facts, self.tr("Fac&ts"))
        self.certificate = Later(lambda: CertificateTab(state))
        self.tabs.addTab(self.certificate, self.tr("Certi&ficate"))
        self.seeds = Later(self._make_seeds)
        self._seeds_place = self.tabs.addTab(self.seeds, self.tr("S&eeds"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addLayout(self._head())
        column.addLayout(self._progress())
        column.addWidget(self.banner)
        column.addWidget(self.tabs, 1)
        self._beat = QTimer(self, interval=BEAT)
        self._beat.timeout.connect(self._show_progress)
        self._beat.start()
        state.changed.connect(self._show)
        state.staged.connect(self._on_staged)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Back), self).activated.connect(self.left)
        self._show()

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _head(self) -> QVBoxLayout:
        back = buttons.quiet(self.tr("&All runs"), self.left.emit, "arrow-left")
        self.name = OneLine("", "title")
        self.badge = StateBadge()
        self.about, self.branched = OneLine("", "muted"), OneLine("", "muted")
        self.branched.hide()
        self.stop = buttons.primary(
            self.tr("&Stop and save"), lambda: self._do("stop"), "circle-stop"
        )
        self.end_now = buttons.danger(self.tr("&End at once"), self._on_end_now, "x")
        self.resume = buttons.primary("", self._on_resume, "play")
        self.inside = buttons.plain(
            self.tr("Look &inside"), lambda: self._do("inside"), "microscope"
        )
        self.use = buttons.plain(self.tr("Use as start"), lambda: self._do("use"), "flag")
        self.more = buttons.icon_button("ellipsis", self.tr("More"), self._on_more)
        names = QHBoxLayout()
        names.setSpacing(3 * SPACE)
        names.addWidget(self.name, 1)
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        words_ = QVBoxLayout()
        words_.setSpacing(0)
        words_.addLayout(names)
        words_.addWidget(self.about)
        words_.addWidget(self.branched)
        row.addLayout(words_, 1)
        for part in (self.use, self.inside, self.end_now, self.resume, self.stop, self.more):
            row.addWidget(part)
        top = QHBoxLayout()
        top.addWidget(back)
        top.addStretch()
        whole = QVBoxLayout()
        whole.setSpacing(SPACE)
        whole.addLayout(top)
        whole.addLayout(row)
        return whole

    def _progress(self) -> QVBoxLayout:
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Progress"))
        self.pace = Text("", "body", wraps=False)
        row = QHBoxLayout()
        row.setSpacing(4 * SPACE)
        row.addWidget(self.badge)
        row.addWidget(self.pace, 1)
        column = QVBoxLayout()
        column.setSpacing(2 * SPACE)
        column.addLayout(row)
        column.addWidget(self.bar)
        return column

    def _make_seeds(self) -> SeedsTab:
        tab = SeedsTab(self.state.runs)
        tab.opened.connect(self.other_wanted)
        if self.state.row is not None:
            tab.show_run(self.state.row)
        return tab

    # ── how it stands ────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        row = self.state.row
        if row is None:
            return
        if row.state != "running":
            self._stage = None
        self.name.setText(row.name)
        self.badge.show_state(row.state)
        about = (run_words.task_word(row.task), row.data, row.start, row.device)
        self.about.setText(" · ".join(part for part in about if part))
        self.branched.setText(row.branched)
        self.branched.setVisible(bool(row.branched))
        self.banner.show_run(row)
        self.facts.show_run(row)
        if self.seeds.is_made:
            self.seeds.made.show_run(row)
        self.tabs.setTabVisible(self._seeds_place, bool(group_of(row)))
        is_bench = bool(row_of(row)[1])
        text = self.tr("Lay&er bench") if is_bench else self.tr("S&eeds")
        self.tabs.setTabText(self._seeds_place, text)
        self._show_actions(row)
        self._show_progress()

    def _show_actions(self, row: RunRow) -> None:
        why = {deed.key: deed.why_not(row) for deed in deeds()}
        self.stop.setVisible(row.is_active)
        self.stop.setEnabled(not why["stop"])
        self.resume.setVisible(row.state == "stopped" and not row.problem)
        text = resume_text(row)
        self.resume.setText(text)
        self.resume.setAccessibleName(text.replace("&", ""))
        for button, key in ((self.inside, "inside"), (self.use, "use")):
            button.setEnabled(not why[key])
            button.setToolTip(why[key])

    def _show_progress(self) -> None:
        row = self.state.row
        if row is None:
            return
        self.end_now.setVisible(row.is_working and self.state.is_silent())
        stage = self._stage
        unknown = row.state == "starting" or (row.state == "running" and not row.steps)
        self.bar.setRange(0, 0 if unknown and not (stage and stage[2]) else 1000)
        share = stage[1] / stage[2] if unknown and stage and stage[2] else row.share
        self.bar.setValue(round(1000 * share))
        self.pace.setText(" · ".join(self._said(row)))
        self.bar.setAccessibleDescription(self.pace.text())

    def _said(self, row: RunRow) -> list[str]:
        """Step, speed, time left; or what the worker does instead."""
        said = []
        if self._stage is not None and row.is_working:
            stage, done, total = self._stage
            of = self.tr("{0} of {1}").format(numbers.count(done), numbers.count(total))
            said.append(f"{stage}: {of}" if total else f"{stage} …")
        if row.steps:
            template = self.tr("step {0} of {1}")
            said.append(template.format(numbers.count(row.step), numbers.count(row.steps)))
        if row.state == "running" and (speed := self.charts.last_speed()) is not None:
            said.append(self.tr("{0} tokens per second").format(numbers.count(round(speed))))
        left = self.state.seconds_left()
        if left is not None:
            said.append(self.tr("about {0} left").format(numbers.duration(left)))
        elif row.seconds:
            said.append(self.tr("{0} spent").format(numbers.duration(row.seconds)))
        if row.best_metric is not None:
            name = run_words.metric_word(row.best_metric_name)
            value = run_words.metric_value(row.best_metric_name, row.best_metric)
            said.append(self.tr("best {0}: {1}").format(name, value))
        if row.state == "queued":
            said.append(self.tr("waits until the device is free"))
        if self.state.is_silent():
            silent = numbers.duration(self.state.silent_seconds())
            said.append(self.tr("no word from the worker for {0}").format(silent))
        return said

    def _on_staged(self, stage: str, done: int, total: int) -> None:
        self._stage = (stage, done, total) if not total or done < total else None
        self._show_progress()

    # ── deeds ────────────────────────────────────────────────────────────────────────────────

    def _on_resume(self) -> None:
        self.state.runs.resume(self.state.run_id)

    def _on_end_now(self) -> None:
        self.state.runs.end_now(self.state.run_id)

    def _on_more(self) -> None:
        row = self.state.row
        if row is None:
            return
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for deed in deeds():
            if deed.key in ("open", "stop", "resume", "inside", "use"):
                continue
            if not deed.key:
                menu.addSeparator()
                continue
            text = self.tr("Remove the s&tar") if deed.key == "star" and row.star else deed.text
            action = menu.addAction(resources.icon(deed.icon), text)
            why = deed.why_not(row)
            action.setEnabled(not why)
            action.setToolTip(why)
            action.triggered.connect(lambda _=False, key=deed.key: self._do(key))
        export = menu.addAction(resources.icon("upload"), self.tr("&Export…"))
        export.setEnabled(row.checkpoint is not None)
        export.triggered.connect(lambda _=False: self._do("export"))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _do(self, key: str) -> None:
        row, runs = self.state.row, self.state.runs
        if row is None:
            return
        match key:
            case "stop":
                runs.stop(row.id)
            case "inside" if row.checkpoint:
                runs.look_inside(row.checkpoint)
            case "use" if row.checkpoint:
                runs.start_from(row.checkpoint)
            case "export" if row.checkpoint:
                exporting.ask(self, self.state.export_of(row.checkpoint))
            case "again":
                runs.start_again(row)
            case "rename":
                ask_name(self, runs, row)
            case "notes":
                ask_notes(self, runs, row)
            case "star":
                runs.set_star(row.id, not row.star)
            case "folder":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(row.folder)))
            case "delete":
                ask_to_delete(self, runs, [row])
