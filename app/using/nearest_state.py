"""Rows of a data set nearest to the typed text. No widgets."""

from hashlib import sha256
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Signal

from app import background
from app.explorer import OneTimeWorker
from app.library import DataEntry
from app.studio import Studio
from engine.config.dataset import SPLITS, SplitName
from engine.messages.explore.nearest import EncodeRows, FindNearest, NearestRows
from engine.messages.question import Answer, Refused, Working


class NearestState(QObject):
    """Nearest rows; the vectors of a split are computed once, by a separate process, and cached.

    Signals:
        changed: any part of the state.
    """

    changed = Signal()

    def __init__(self, studio: Studio, checkpoint: Path) -> None:
        super().__init__()
        self._studio, self._checkpoint = studio, checkpoint
        self.datasets: tuple[DataEntry, ...] = ()
        self.data: DataEntry | None = None
        self.part: SplitName = "train"
        self.text = ""
        self.working: Working | None = None
        self.result: NearestRows | None = None
        self.problem: Refused | None = None
        self._question = 0
        self._worker: OneTimeWorker | None = None
        studio.explorer.answered.connect(self._on_answer)
        studio.datasets_changed.connect(self._list)
        program = QCoreApplication.instance()
        assert program is not None
        program.aboutToQuit.connect(self.cancel)
        self._list()

    @property
    def parts(self) -> tuple[SplitName, ...]:
        """Non-empty splits of the data set."""
        spec = self.data.spec if self.data else None
        return () if spec is None else tuple(part for part in SPLITS if spec.rows.get(part))

    @property
    def row_count(self) -> int:
        spec = self.data.spec if self.data else None
        return spec.rows.get(self.part, 0) if spec is not None else 0

    @property
    def file(self) -> Path:
        """Cache file of the vectors of these rows by this model."""
        assert self.data is not None
        stamp = self._checkpoint.stat().st_mtime_ns if self._checkpoint.exists() else 0
        key = f"{self._checkpoint} {stamp} {self.data.folder} {self.part}"
        name = sha256(key.encode(errors="surrogatepass")).hexdigest()[:24]
        return self._studio.home.cache / "vectors" / f"{name}.npy"

    @property
    def has_vectors(self) -> bool:
        return self.data is not None and self.file.is_file()

    def choose(self, data: DataEntry | None, part: SplitName | None = None) -> None:
        self.data = data
        default: SplitName = next(iter(self.parts), "train")
        self.part = default if part is None else part
        self.cancel()

    def set_text(self, text: str) -> None:
        self.text = text
        self._ask()

    def compute(self) -> None:
        """Compute the vectors of all rows, unless a computation is running."""
        if self.data is None or self.working is not None:
            return
        question = EncodeRows(
            checkpoint=self._checkpoint, data=self.data.folder, part=self.part, file=self.file
        )
        self.problem, self.working = None, Working(stage=self.tr("Loading the model"))
        self._worker = self._studio.one_time_worker(
            question, self._on_encoded, self._on_refused, self._on_working, self
        )
        self.changed.emit()

    def cancel(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
        self._worker = self.working = None
        self._ask()

    def _ask(self) -> None:
        self._question, self.problem = 0, None
        if not self.text.strip() or not self.has_vectors:
            self.result = None
        else:
            assert self.data is not None
            self._question = self._studio.explorer.ask(
                FindNearest(
                    checkpoint=self._checkpoint,
                    data=self.data.folder,
                    part=self.part,
                    file=self.file,
                    text=self.text,
                )
            )
        self.changed.emit()

    def _list(self) -> None:
        background.run(self, self._studio.datasets, self._on_listed)

    def _on_listed(self, entries: list[DataEntry]) -> None:
        self.datasets = tuple(dataset for dataset in entries if dataset.spec is not None)
        folders = {dataset.folder for dataset in self.datasets}
        if self.data is None or self.data.folder not in folders:
            self.choose(next(iter(self.datasets), None))
        self.changed.emit()

    def _on_working(self, working: Working) -> None:
        self.working = working
        self.changed.emit()

    def _on_encoded(self, _: Answer) -> None:
        self._worker = self.working = None
        self._ask()

    def _on_refused(self, refusal: Refused) -> None:
        self._worker, self.working, self.problem = None, None, refusal
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._question or not self._question or not answer.is_final:
            return
        self._question = 0
        self.result = answer if isinstance(answer, NearestRows) else None
        self.problem = answer if isinstance(answer, Refused) else None
        self.changed.emit()
