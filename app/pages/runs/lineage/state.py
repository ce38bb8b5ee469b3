"""The lineage of a node, and the requirements to reproduce it. No widgets."""

from PySide6.QtCore import QObject, Signal

from app import background
from app.studio import Studio
from app.translation import tr, translated
from app.widgets.opening import open_path
from app.widgets.text.run_texts import state_text
from engine.record.opening import Record
from engine.record.runs import all_runs
from engine.runs.lineage import Lineage, Node, RunFacts, read_lineage
from engine.runs.needed import format_requirements, list_requirements

MAX_SHOWN = 150  # nodes in one graph


class LineageState(QObject):
    """`focus` is the node whose lineage is shown, `current` the selected one.

    Signals:
        changed: another focus, or `lineage` was read again.
        selected: another node is current; its requirements are being read.
        requirements_read: the requirements of the current node, a line each.
    """

    changed = Signal()
    selected = Signal()
    requirements_read = Signal(list)

    def __init__(self, studio: Studio, focus: str) -> None:
        super().__init__()
        self.studio = studio
        self.lineage = Lineage()
        self.focus = self.current = focus
        self._reading: background.Job | None = None

    def read(self) -> None:
        """Read the lineage of the home off the GUI thread."""
        home, record = self.studio.home, self.studio.record
        background.run(
            self,
            lambda: read_lineage(home, read_run_facts(record)),
            self._on_read,
            self.studio.notices.show,
        )

    def _on_read(self, lineage: Lineage) -> None:
        self.lineage = lineage
        self.changed.emit()
        if self.exists:
            self.select(self.current)

    @property
    def exists(self) -> bool:
        """True if the focus still exists."""
        return self.focus in self.lineage.nodes

    def node(self) -> Node | None:
        return self.lineage.nodes.get(self.current)

    def centre(self, key: str) -> None:
        self.focus = self.current = key
        self.changed.emit()
        self.select(key)

    def select(self, key: str) -> None:
        """Make this node current, and read its requirements."""
        self.current = key
        self.selected.emit()
        if self._reading is not None:
            self._reading.cancel()
        lineage = self.lineage

        def work(progress: background.Progress) -> list[str]:
            return format_requirements(list_requirements(lineage, key, progress.cancelled))

        def done(lines: list[str]) -> None:
            self._reading = None
            self.requirements_read.emit([translated(line) for line in lines])

        def failed(error: BaseException) -> None:
            self._reading = None
            self.studio.notices.show(error)

        self._reading = background.run(self, work, done, failed, progress=lambda *_: None)

    def nearest_nodes(self) -> tuple[list[str], int]:
        """The nodes to show, nearest to the focus, and the number of all nodes."""
        before = self.lineage.ancestors(self.focus)
        after = self.lineage.descendants(self.focus)
        half = MAX_SHOWN // 2
        nearest = before[: max(half, MAX_SHOWN - len(after))]
        nearest += after[: MAX_SHOWN - len(nearest)]
        return [self.focus, *nearest], 1 + len(before) + len(after)

    def open(self, key: str) -> None:
        """Open the page of a node, or its folder if it has none."""
        node = self.lineage.nodes.get(key)
        if node is None:
            return
        if not node.exists:
            self.studio.notices.info(tr("“{0}” no longer exists.").format(node.title))
            return
        go = self.studio.navigate.emit
        match node.kind:
            case "run":
                go("runs", {"run": node.run})
            case "data":
                go("data", node.path)
            case "model":
                go("models", node.path)
            case _:
                folder = node.path if node.path.is_dir() else node.path.parent
                open_path(folder)


def read_run_facts(record: Record) -> list[RunFacts]:
    with record.read() as session:
        return [RunFacts(r.id, r.name, r.state, r.folder, r.job) for r in all_runs(session)]


def kind_text(node: Node) -> str:
    """Kind of a node in a few words."""
    kinds = {
        "files": tr("File"),
        "data": tr("Data set, {0}").format(translated(node.detail)),
        "model": tr("Model"),
        "run": tr("Run, {0}").format(state_text(node.detail)),
        "export": tr("Export, {0}").format(translated(node.detail)),
    }
    text = kinds[node.kind]
    return text if node.exists else tr("{0}, no longer available").format(text)
