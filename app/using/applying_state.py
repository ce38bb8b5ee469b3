"""State of applying a model to a file or a data set: choices, progress, outcome. No widgets."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, Signal

from app import background
from app.explorer import OneTimeWorker
from app.row_edits import Cells, edit_rows
from app.studio import Studio
from app.using.applied_rows import StoredRows, import_result, open_with_counts, read_result
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.prediction_settings import prediction_settings
from engine.config.dataset import Mapping, StoredData
from engine.config.tasks import TASKS, get_head
from engine.config.zero_shot import Described
from engine.data.columns.joined import columns_of_stored
from engine.data.datasets.store import Dataset
from engine.data.formats.reading import Recognition, recognise
from engine.errors import StudioError
from engine.files.home import folder_name, free_folder, newest_version
from engine.messages.applying import (
    Agreement,
    AgreementMeasured,
    Applied,
    Apply,
    FileInput,
    FirstPredicted,
    MeasureAgreement,
    PredictFirst,
    StoredInput,
)
from engine.messages.question import Answer, Refused, Working
from engine.runs.folder import RunFolder

DATASET = "dataset"  # instead of a suffix: import the result as a data set
EDITS = "edits"  # instead of a suffix: the predictions become labels of the stored rows
FORMATS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", DATASET)
VECTOR_FORMATS = (".parquet", ".npy", ".jsonl", ".csv", ".tsv", ".xlsx")
INPUTS = ("text", "pair", "negative", "beginning", "endings")  # roles that a model can read


def stored_threshold(checkpoint: Path) -> float:
    """The threshold of “unsure” that was chosen for a model; 0 without one."""
    try:
        return prediction_settings(checkpoint).unsure_below
    except StudioError:
        return 0.0  # applying the model explains the problem


class ApplyingState(QObject):
    changed = Signal()

    def __init__(
        self,
        studio: Studio,
        checkpoint: Path,
        name: str,
        task: str,
        described: Described | None = None,
    ) -> None:
        """Use the labels of the model, or `described` ones, whose task is `task`."""
        super().__init__()
        self.described = described
        self._studio, self.checkpoint = studio, checkpoint
        self.name, self.task = name, task
        self.file: Path | None = None
        self.stored: Dataset | None = None  # whose rows are read instead of a file
        self.rows: StoredRows = "all"
        self._counts: dict[StoredRows, int] = {}  # rows by choice
        self.recognised: Recognition | None = None
        self.mapping: Mapping | None = None
        self.format = self.formats[0]
        self.folder = Path.home()
        self.threshold = 0.0 if described else stored_threshold(checkpoint)
        self.is_exact = True  # fp32; otherwise the fastest precision that agrees
        self.agreement: Agreement | None = None
        self.is_measured = False
        self._measuring: OneTimeWorker | None = None
        self.preview: FirstPredicted | None = None
        self.problem: Refused | None = None
        self.working: Working | None = None
        self.applied: Applied | None = None
        self.dataset: Path | None = None  # version that has the result
        self.review: tuple[int, ...] = ()  # its rows that are unsure
        self.is_loading = False  # the file is being read, or its first rows predicted
        self._question = 0
        self._reading: background.Job | None = None
        self._worker: OneTimeWorker | None = None
        studio.explorer.answered.connect(self._on_answer)
        program = QCoreApplication.instance()
        assert program is not None
        program.aboutToQuit.connect(self.stop)

    # ── choices ──────────────────────────────────────────────────────────────────────────────

    @property
    def has_probabilities(self) -> bool:
        """True if predictions have probabilities, so that some can be marked as uncertain."""
        return not get_head(self.task).predicts_numbers

    @property
    def formats(self) -> tuple[str, ...]:
        """Suffixes of possible output files, the default first."""
        head = get_head(self.task)
        if self.stored is None or self.stored.spec.mapping.label is None:
            return VECTOR_FORMATS if head.pools else FORMATS
        labels = head.labels_inputs or (head.predicts_numbers and not head.pools)
        return (*FORMATS, EDITS) if labels else FORMATS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the file or of the data set, and those that the model joins."""
        source = self.stored.spec if self.stored is not None else self.recognised
        columns = source.columns if source is not None else ()
        joined = self.mapping.templates if self.mapping is not None else ()
        return tuple(dict.fromkeys((*columns, *joined)))

    @property
    def source_name(self) -> str:
        """Name of the file without suffix, or of the data set; “” before one is chosen."""
        if self.stored is not None:
            return self.stored.spec.name
        return "" if self.file is None else self.file.stem

    def row_choices(self) -> dict[StoredRows, int]:
        """The choices of stored rows that are not empty, with their numbers of rows."""
        counts = dict(self._counts)
        if isinstance(self.rows, tuple):
            counts[self.rows] = len(self.rows)
        return {rows: count for rows, count in counts.items() if count}

    @property
    def roles(self) -> tuple[str, ...]:
        info = TASKS[self.task].info
        read = (*info.reads, *info.may_read)
        return tuple(role for role in INPUTS if role in read)

    @property
    def target(self) -> Path | None:
        """Path of the result; a temporary one for a data set or edits."""
        if not self.source_name:
            return None
        if self.format in (DATASET, EDITS):
            return self._studio.home.cache / "applied" / f"{folder_name(self.source_name)}.jsonl"
        name = self.source_name if self.stored is None else folder_name(self.source_name)
        return self.folder / f"{name}-predicted{self.format}"

    def open(self, file: Path) -> None:
        """Recognise a file outside the GUI thread and predict its first rows."""
        self.file, self.folder = file, file.parent

        def read() -> Recognition:
            return recognise(file, model_texts=self._texts())

        self._read(read, self._on_recognised)

    def open_rows(self, version: Path, rows: StoredRows = "all") -> None:
        """Open a stored version outside the GUI thread and predict the first of its rows."""
        self.file, self.rows = None, rows
        self._read(lambda: self._open(version), self._on_stored)

    def propose_rows(self, run: RunFolder) -> None:
        """Open the rows without a label of the data set that a run has learned, if it has some."""

        def read() -> tuple[Dataset, dict[StoredRows, int]] | None:
            data = run.job().data
            parent = data.folder.parent if isinstance(data, StoredData) else None
            version = newest_version(parent) if parent is not None else 0
            opened = self._open(parent / str(version)) if parent is not None and version else None
            return opened if opened is not None and opened[1]["unlabelled"] else None

        def done(opened: tuple[Dataset, dict[StoredRows, int]] | None) -> None:
            if opened is not None and self.file is None and self.stored is None:
                self.rows = "unlabelled"
                self._on_stored(opened)

        background.run(self, read, done, self._studio.notices.show)

    def _texts(self) -> dict[str, str]:
        """Columns or templates of the texts that the model was trained on, by role."""
        return {} if self.described is not None else checkpoint_info(self.checkpoint).texts

    def _open(self, version: Path) -> tuple[Dataset, dict[StoredRows, int]]:
        known = self.described or checkpoint_info(self.checkpoint)
        return open_with_counts(version, self.task, known.labels)

    def choose_rows(self, rows: StoredRows) -> None:
        """Choose rows; by default those without a label get theirs, and others keep them."""
        self.rows = rows
        if rows == "unlabelled" and EDITS in self.formats:
            self.format = EDITS
        elif self.format == EDITS:
            self.format = DATASET
        self._preview()

    def _read(self, work: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        self.recognised = self.mapping = self.stored = None
        self.preview = self.problem = self.applied = None
        self.is_loading = True
        if self._reading is not None:
            self._reading.cancel()
        self._reading = background.run(self, work, on_done, self._on_unreadable)
        self.changed.emit()

    def _on_stored(self, read: tuple[Dataset, dict[StoredRows, int]]) -> None:
        self._reading, (stored, self._counts) = None, read
        self.stored = stored
        texts, spec = self._texts(), stored.spec
        mapping, _ = columns_of_stored(texts, spec.mapping, spec.columns)
        fields = mapping.model_dump(include=set(INPUTS))
        self.mapping = Mapping.model_validate(
            {role: column for role, column in fields.items() if column and role in self.roles}
        )
        if self.format not in self.formats:
            self.format = self.formats[0]
        self.choose_rows(self.rows)

    def assign(self, role: str, column: str | None) -> None:
        if self.recognised is None:
            return
        inputs = self.mapping.model_dump(include=set(INPUTS)) if self.mapping else {}
        free = {key: None if value == column else value for key, value in inputs.items()}
        self._set_inputs({**free, role: column})

    def choose_endings(self, columns: tuple[str, ...]) -> None:
        inputs = self.mapping.model_dump(include=set(INPUTS) - {"endings"}) if self.mapping else {}
        free = {key: None if value in columns else value for key, value in inputs.items()}
        self._set_inputs({**free, "endings": columns})

    def set_format(self, name: str) -> None:
        self.format = name
        self._preview()

    def set_folder(self, path: Path) -> None:
        self.folder = path
        self._preview()

    def set_threshold(self, threshold: float) -> None:
        self.threshold = threshold
        self._preview()

    def set_exact(self, is_exact: bool) -> None:
        """Choose fp32, or reduced precision, whose agreement a separate process then measures."""
        self.is_exact = is_exact
        if not is_exact and not self.is_measured and self._measuring is None:
            self._measuring = self._studio.one_time_worker(
                MeasureAgreement(checkpoint=self.checkpoint),
                *(self._on_measured, self._on_not_measured),
                owner=self,
            )
        self._preview()

    @property
    def is_measuring(self) -> bool:
        return self._measuring is not None and not self.is_exact

    def _on_measured(self, answer: Answer) -> None:
        assert isinstance(answer, AgreementMeasured)
        self._measuring, self.is_measured, self.agreement = None, True, answer.agreement
        self.changed.emit()

    def _on_not_measured(self, refusal: Refused) -> None:
        self._measuring, self.is_exact, self.problem = None, True, refusal
        self.changed.emit()

    def _set_inputs(self, inputs: dict[str, object]) -> None:
        used = {key: value for key, value in inputs.items() if value}
        guess = self.recognised.mapping if self.recognised else None
        if guess and guess.tags and used.get("text") == guess.text:  # its words, as they are
            used["tags"] = guess.tags
        self.mapping = Mapping.model_validate(used) if "text" in used else None
        self._preview()

    def _on_recognised(self, recognised: Recognition) -> None:
        if self.format not in self.formats:
            self.format = self.formats[0]
        self._reading, self.recognised = None, recognised
        guessed = recognised.mapping.model_dump(include=set(INPUTS)) if recognised.mapping else {}
        self._set_inputs({role: column for role, column in guessed.items() if role in self.roles})

    def _on_unreadable(self, error: BaseException) -> None:
        self._reading, self.is_loading = None, False
        if not isinstance(error, StudioError):
            raise error
        self.problem = Refused(problem=error.problem, advice=error.advice)
        self.changed.emit()

    # ── the first rows ───────────────────────────────────────────────────────────────────────

    def question(self, resume: bool = False) -> Apply | None:
        """Question for the worker; None while the file or its text column is unknown."""
        if not (self.mapping and self.target):
            return None
        if self.stored is not None:
            spec, label = self.stored.spec, self.stored.spec.mapping.label
            data = StoredData(folder=self.stored.folder, fingerprint=spec.fingerprint, target=label)
            given: FileInput | StoredInput = StoredInput(data=data, rows=self.rows)
        elif self.file and self.recognised:
            reading = self.recognised.reading
            given = FileInput(path=self.file, reading=reading, mapping=self.mapping)
        else:
            return None
        return Apply(
            checkpoint=self.checkpoint,
            given=given,
            out=self.target,
            threshold=self.threshold if self.threshold and self.has_probabilities else None,
            exact=self.is_exact,
            resume=resume,
            described=self.described,
        )

    def _preview(self) -> None:
        question = self.question()
        self.is_loading = question is not None
        self.problem = None
        if question is not None:
            self._question = self._studio.explorer.ask(PredictFirst(apply=question))
        else:
            self.preview = None
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._question or not answer.is_final:
            return
        self.is_loading = False
        self.preview = answer if isinstance(answer, FirstPredicted) else None
        self.problem = answer if isinstance(answer, Refused) else None
        self.changed.emit()

    # ── progress ─────────────────────────────────────────────────────────────────────────────

    @property
    def is_running(self) -> bool:
        return self.working is not None

    def start(self) -> None:
        """Predict every row in a separate process; reuses chunks of an earlier attempt."""
        question = self.question(resume=self.preview is not None and self.preview.cached > 0)
        if question is None or self.is_running:
            return
        self.applied = self.problem = self.dataset = None
        self.working = Working(stage=self.tr("Starting"))
        question.out.parent.mkdir(parents=True, exist_ok=True)
        self._worker = self._studio.one_time_worker(
            question, self._on_applied, self._on_refused, self._on_working, self
        )
        self.changed.emit()

    def cancel(self) -> None:
        """Stop; predicted rows are kept next to the future result."""
        if self._worker is not None:
            self.stop()
            self._preview()

    def stop(self) -> None:
        """End the worker when the dialog or the program closes."""
        if self._measuring is not None:
            self._measuring.cancel()
            self._measuring, self.is_exact = None, True
        if self._worker is not None:
            self._worker.cancel()
            self._worker = self.working = None

    def discard_result(self) -> None:
        """Discard the last outcome and keep the choices."""
        self.applied = self.dataset = None
        self._preview()

    def _on_working(self, working: Working) -> None:
        self.working = working
        self.changed.emit()

    def _on_refused(self, refusal: Refused) -> None:
        self._worker, self.working, self.problem = None, None, refusal
        self.changed.emit()

    def _on_applied(self, answer: Answer) -> None:
        assert isinstance(answer, Applied)
        self._worker = None
        if self.format == DATASET:
            self._import(answer)
            return
        if self.format == EDITS:
            self._label(answer)
            return
        self.working, self.applied = None, answer
        self.changed.emit()

    def _import(self, answer: Applied) -> None:
        assert self.mapping is not None
        name = self.tr("{0}, predicted").format(self.source_name)
        folder = free_folder(self._studio.home.datasets, name) / "1"
        given = self.task, self.mapping, self.stored, self.rows
        work = partial(import_result, answer, *given, name, folder)

        def done(version: Path) -> None:
            self.review = answer.positions
            self._studio.datasets_changed.emit()
            self._finish(answer, version)

        self.working = Working(stage=self.tr("Importing the data set"))
        background.run(self, work, done, self._on_failed)
        self.changed.emit()

    def _label(self, answer: Applied) -> None:
        """Make the predictions labels of the stored rows, as edits that are not saved yet."""
        stored = self.stored
        assert stored is not None

        work = partial(read_result, answer, stored)

        def done(cells: Cells) -> None:
            self.review = tuple(int(row[0]) for row in answer.least)  # the first column has them
            edit_rows(
                *(self, self._studio, stored.folder, stored.spec, cells),
                lambda _: self._finish(answer, stored.folder),
                self._on_failed,
            )

        self.working = Working(stage=self.tr("Labelling the rows"))
        background.run(self, work, done, self._on_failed)
        self.changed.emit()

    def _finish(self, answer: Applied, version: Path) -> None:
        self.working, self.applied, self.dataset = None, answer, version
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self.working = None
        if not isinstance(error, StudioError):
            self.changed.emit()
            raise error
        self.problem = Refused(problem=error.problem, advice=error.advice)
        self.changed.emit()
