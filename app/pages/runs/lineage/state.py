"""The lineage of one thing, and what is needed to make it again. No widgets."""

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app import background
from app.studio import Studio
from app.translation import tr, translated
from app.widgets.text.run_texts import state_text
from engine.record.opening import Record
from engine.record.runs import all_runs
from engine.runs.lineage import Lineage, Node, RunFacts, read_lineage
from engine.runs.needed import as_text, needed_for

MOST_SHOWN = 150  # things in one picture


class LineageState(QObject):
    """`focus` is the thing whose lineage is shown, `current` the one that is selected.

    Signals:
        changed: another thing is in focus, or all was read anew; `lineage` is there.
        selected: another thing is current; what it needs is being read.
        needed: what the current thing needs, line by line.
    """

    changed = Signal()
    selected = Signal()
    needed = Signal(list)

    def __init__(self, studio: Studio, focus: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.studio = studio
        self.lineage = Lineage()
        self.focus = self.current = focus
        self._reading: background.Job | None = None

    def read(self) -> None:
        """Read all that the home has, off the window's thread."""
        home, record = self.studio.home, self.studio.record
        background.run(
            self,
            lambda: read_lineage(home, facts_in(record)),
            self._on_read,
            self.studio.notices.show,
        )

    def _on_read(self, lineage: Lineage) -> None:
        self.lineage = lineage
        self.changed.emit()
        if self.is_known:
            self.select(self.current)

    @property
    def is_known(self) -> bool:
        """Whether the thing in focus is still there."""
        return self.focus in self.lineage.nodes

    def node(self) -> Node | None:
        """The current thing."""
        return self.lineage.nodes.get(self.current)

    def centre(self, key: str) -> None:
        """Show the lineage of this thing."""
        self.focus = self.current = key
        self.changed.emit()
        self.select(key)

    def select(self, key: str) -> None:
        """Make this thing the current one, and read what it needs."""
        self.current = key
        self.selected.emit()
        if self._reading is not None:
            self._reading.cancel()
        lineage = self.lineage

        def work(progress: background.Progress) -> list[str]:
            return as_text(needed_for(lineage, key, progress.cancelled))

        def read(lines: list[str]) -> None:
            self._reading = None
            self.needed.emit([translated(line) for line in lines])

        def not_read(error: BaseException) -> None:
            self._reading = None
            self.studio.notices.show(error)

        self._reading = background.run(self, work, read, not_read, progress=lambda *_: None)

    def shown(self) -> tuple[list[str], int]:
        """The things of the picture, those nearest to the focus, and how many there are in all."""
        before = self.lineage.ancestors(self.focus)
        after = self.lineage.descendants(self.focus)
        half = MOST_SHOWN // 2
        kept = before[: max(half, MOST_SHOWN - len(after))]
        kept += after[: MOST_SHOWN - len(kept)]
        return [self.focus, *kept], 1 + len(before) + len(after)

    def open(self, key: str) -> None:
        """Show the page of this thing; a folder that has none is opened by the system."""
        node = self.lineage.nodes.get(key)
        if node is None:
            return
        if not node.is_there:
            self.studio.notices.say(tr("“{0}” no longer exists.").format(node.title))
            return
        go = self.studio.go.emit
        match node.kind:
            case "run":
                go("runs", {"run": node.run})
            case "data":
                go("data", node.place)
            case "model":
                go("models", node.place)
            case _:
                folder = node.place if node.place.is_dir() else node.place.parent
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def facts_in(record: Record) -> list[RunFacts]:
    """All runs as the record has them."""
    with record.read() as session:
        return [RunFacts(r.id, r.name, r.state, r.folder, r.job) for r in all_runs(session)]


def kind_text(node: Node) -> str:
    """What a thing is, in a few words."""
    kinds = {
        "files": tr("File"),
        "data": tr("Data set, {0}").format(translated(node.detail)),
        "model": tr("Model"),
        "run": tr("Run, {0}").format(state_text(node.detail)),
        "export": tr("Export, {0}").format(translated(node.detail)),
    }
    said = kinds[node.kind]
    return said if node.is_there else tr("{0}, no longer available").format(said)
