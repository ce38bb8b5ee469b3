"""The choices of an import, what they lead to, and the import itself. No widgets."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, cast

from pydantic import ValidationError
from PySide6.QtCore import QObject, QTimer, Signal

from app import background
from app.library import DataEntry
from app.pages.data.importing.files import data_files, guess_parts, suggested_name
from app.pages.data.importing.preview import (
    Example,
    Look,
    count,
    examples,
    look_at,
    part_sizes,
)
from app.studio import Studio
from engine.data.datasets.collecting import Collected, Source, reading_alike
from engine.data.datasets.importing import import_dataset
from engine.data.formats.lines import Cancelled
from engine.data.formats.reading import check, likely_task, recognise_reading
from engine.errors import StudioError
from engine.home import free_folder
from engine.spec.dataset import Mapping, Reading, Split, SplitName
from engine.tokenizers.tokenizer import Tokenizer

PAUSE = 250  # ms after a choice before all rows are read for it
LONGEST_NAME = 120
PARTS_OF_ROWS = tuple(Mapping.model_fields)


@dataclass(frozen=True)
class Problem:
    """What is wrong, and what to do. One that `blocks` keeps the data from being imported."""

    text: str
    advice: str = ""
    blocks: bool = True


@dataclass(frozen=True)
class Roles:
    """What the columns are, as in a `Mapping`; None for a part that no column plays."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    flags: tuple[str, ...] = ()
    tags: str | None = None
    answers: str | None = None
    beginning: str | None = None
    endings: tuple[str, ...] = ()

    @classmethod
    def of(cls, mapping: Mapping | None) -> Self:
        """Those of a mapping; none where there is none."""
        return cls() if mapping is None else cls(**mapping.model_dump())

    @property
    def columns(self) -> dict[str, str]:
        """The columns in use, and the part that each plays; the last where it plays two."""
        parts = ((part, getattr(self, part)) for part in PARTS_OF_ROWS)
        return {
            column: part
            for part, value in parts
            for column in (value if isinstance(value, tuple) else (value,))
            if column is not None
        }

    def mapping(self) -> Mapping | None:
        """As a mapping; None while there is no text or one column has two roles."""
        try:
            return Mapping.model_validate(asdict(self))
        except ValidationError:
            return None


class ImportState(QObject):
    """One import from the choice of files to the new folder.

    Signals:
        opened: files were chosen; `files`, `parts`, `name` are there.
        looked: `look` or `look_problem`, `reading` and `roles` are others now.
        exemplified: `examples` are others now.
        counted_changed: `counted`, its problem or its progress is another now.
        judged: `problems` may be others now.
        progressed: bytes read and in all.
        ended: the import is over, done or not.
        imported: the folder of the new version.
    """

    opened = Signal()
    looked = Signal()
    exemplified = Signal()
    counted_changed = Signal()
    judged = Signal()
    progressed = Signal(object, object)
    ended = Signal()
    imported = Signal(Path)

    def __init__(
        self, studio: Studio, known: Callable[[], list[DataEntry]], parent: QObject | None = None
    ) -> None:
        """`known` gives the data sets that there are, for the number of a new version."""
        super().__init__(parent)
        self._studio, self._known = studio, known
        self.files: list[Path] = []
        self.parts: list[SplitName | None] = []
        self.shown = 0  # the file whose rows are shown
        self.reading: Reading | None = None
        self.notes: tuple[str, ...] = ()  # on how the file was recognised
        self.look: Look | None = None
        self.look_problem: StudioError | None = None
        self.roles = Roles()
        self.split = Split()
        self.name = ""
        self.tokenizer: Path | None = None
        self.examples: list[Example] = []
        self.examples_problem = ""
        self.unknown = -1  # id of [UNK]
        self.counted: Collected | None = None
        self.part_rows: dict[SplitName, int] | None = None
        self.count_problem: StudioError | None = None
        self.count_done = (0, 0)  # bytes
        self.import_problem: StudioError | None = None
        self._tokenizers: dict[Path, Tokenizer] = {}
        self._looking: background.Job | None = None
        self._exemplifying: background.Job | None = None
        self._counting: background.Job | None = None
        self._dealing: background.Job | None = None
        self._importing: background.Job | None = None
        self._pause = QTimer(self, singleShot=True, interval=PAUSE)
        self._pause.timeout.connect(self._count)

    # ── the files ────────────────────────────────────────────────────────────────────────────

    def open(self, paths: Sequence[Path]) -> None:
        """Begin with these files, or with the data files in these folders."""
        self.close()
        self.files, self.parts, self.shown = [], [], 0
        self.reading, self.look, self.look_problem = None, None, None
        self.roles, self.split, self.name = Roles(), Split(), ""
        self.counted, self.part_rows, self.count_problem, self.import_problem = (
            None,
            None,
            None,
            None,
        )
        self.examples, self.notes = [], ()
        self._looking = background.run(
            self, lambda: _begin(paths), self._on_begun, self._on_no_look
        )

    def close(self) -> None:
        """Stop whatever is under way."""
        jobs = (self._looking, self._exemplifying, self._counting, self._dealing, self._importing)
        for job in jobs:
            if job is not None:
                job.cancel()
        self._looking = self._exemplifying = self._counting = None
        self._dealing = self._importing = None
        self._pause.stop()

    def set_part(self, file: int, part: SplitName | None) -> None:
        self.parts[file] = part
        self._count_anew()

    def show_file(self, file: int) -> None:
        """Show the rows of another of the files."""
        self.shown = file
        self._look_anew()

    @property
    def sources(self) -> dict[Source, Path]:
        """The files by part; a single file holds all rows."""
        if len(self.files) == 1:
            return {"all": self.files[0]}
        pairs = zip(self.parts, self.files, strict=True)
        chosen = {part: file for part, file in pairs if part is not None}
        if set(chosen) == {"train"}:
            return {"all": chosen["train"]}
        return cast(dict[Source, Path], chosen)

    @property
    def dealt(self) -> tuple[SplitName, ...]:
        """The parts that have no file of their own and get a share of the rows for training."""
        sources = self.sources
        parts: tuple[SplitName, ...] = ("validation", "test")
        return tuple(part for part in parts if part not in sources)

    # ── how they are read ────────────────────────────────────────────────────────────────────

    def set_reading(self, reading: Reading) -> None:
        if reading != self.reading:
            self.reading, self.notes = reading, ()
            self._look_anew()

    def set_roles(self, roles: Roles) -> None:
        if roles != self.roles:
            self.roles = roles
            self._exemplify()
            self._count_anew()

    def set_split(self, split: Split) -> None:
        if split != self.split:
            counts_again = split.column != self.split.column
            self.split = split
            if counts_again:
                self._count_anew()
            else:
                self._deal()

    def set_name(self, name: str) -> None:
        self.name = name
        self.judged.emit()

    def set_tokenizer(self, folder: Path | None) -> None:
        """Show the examples as the model in this folder sees them."""
        self.tokenizer = folder
        self._exemplify()

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    @property
    def columns(self) -> tuple[str, ...]:
        return self.look.columns if self.look else ()

    @property
    def is_counting(self) -> bool:
        return self._counting is not None or self._pause.isActive()

    @property
    def is_importing(self) -> bool:
        return self._importing is not None

    @property
    def version(self) -> int:
        """The number that the new version gets."""
        return 1 + max((entry.version for entry in self._versions()), default=0)

    def _versions(self) -> list[DataEntry]:
        name = self.name.strip()
        return [entry for entry in self._known() if entry.spec and entry.spec.name == name]

    def problems(self) -> list[Problem]:
        """All that is wrong, what blocks first."""
        found = [*self._problems_of_choices(), *self._problems_of_rows()]
        return sorted(found, key=lambda problem: not problem.blocks)

    def why_not(self) -> str:
        """Why the import cannot start now; “” when it can."""
        if not self.files and self.look_problem is None:
            return self.tr("The files are being opened.")
        blocking = next((problem for problem in self.problems() if problem.blocks), None)
        if blocking is not None:
            return blocking.text
        if self.look is None:
            return self.tr("The first rows are being read.")
        return ""

    def _problems_of_choices(self) -> list[Problem]:
        found = []
        if self.look_problem is not None:
            found.append(Problem(self.look_problem.problem, self.look_problem.advice))
        if self.import_problem is not None:
            found.append(Problem(self.import_problem.problem, self.import_problem.advice, False))
        named = [part for part in self.parts if part is not None]
        twice = next((part for part in named if named.count(part) > 1), None)
        if len(self.files) > 1 and twice is not None:
            found.append(
                Problem(
                    self.tr("Two files are for the same part, “{0}”.").format(twice),
                    self.tr("Choose another part for one of them, or leave it out."),
                )
            )
        elif len(self.files) > 1 and "train" not in named:
            found.append(
                Problem(
                    self.tr("No file is for training."),
                    self.tr("Choose “train” for one of the files."),
                )
            )
        if self.look is not None and self.roles.text is None:
            found.append(
                Problem(
                    self.tr("No column is chosen as text."),
                    self.tr("Choose the column with the text to learn from."),
                )
            )
        elif self.look is not None and self.roles.mapping() is None:
            found.append(
                Problem(
                    self.tr("One column has two roles."),
                    self.tr("Text, second text, label and the like need a column each."),
                )
            )
        if self.files and not self.name.strip():
            found.append(
                Problem(self.tr("The data set has no name."), self.tr("Type one at the right."))
            )
        return found

    def _problems_of_rows(self) -> list[Problem]:
        if self.count_problem is not None:
            return [Problem(self.count_problem.problem, self.count_problem.advice)]
        mapping = self.roles.mapping()
        if self.counted is None or mapping is None:
            return []
        found = []
        task = likely_task(mapping, self.counted.labels)
        wrong = check(self.columns, mapping, task, self.counted.labels)
        found += [Problem(error.problem, error.advice, False) for error in wrong]
        return found

    # ── work off the window's thread ─────────────────────────────────────────────────────────

    def _on_begun(self, begun: "_Begun") -> None:
        self.files, self.parts, self.name = begun.files, begun.parts, begun.name
        self.reading, self.notes = begun.reading, begun.notes
        self.look_problem = begun.problem
        self.opened.emit()
        if begun.problem is None:
            self._look_anew()
        else:
            self._looking = None
            self.looked.emit()
            self.judged.emit()

    def _look_anew(self) -> None:
        assert self.reading is not None
        self._stop_counting()
        if self._looking is not None:
            self._looking.cancel()
        file, reading, is_first = self.files[self.shown], self.reading, self.shown == 0

        def work() -> Look:
            return look_at(file, reading if is_first else reading_alike(file, reading))

        self._looking = background.run(self, work, self._on_look, self._on_no_look)

    def _on_look(self, look: Look) -> None:
        self._looking = None
        self.look, self.look_problem = look, None
        used = {*self.roles.columns, self.split.column} - {None}
        if self.roles.text is None or not used <= set(look.columns):
            self.roles = Roles.of(look.mapping)
            self.split = self.split.model_copy(update={"column": None})
            self.notes = tuple(dict.fromkeys((*self.notes, *filter(None, [look.note]))))
        self.looked.emit()
        self._exemplify()
        self._count_anew()

    def _on_no_look(self, error: BaseException) -> None:
        self._looking = None
        if not isinstance(error, StudioError):
            raise error
        self.look, self.look_problem = None, error
        self.counted, self.part_rows = None, None
        self.looked.emit()
        self.judged.emit()

    def _exemplify(self) -> None:
        """Show the first rows as word pieces."""
        if self._exemplifying is not None:
            self._exemplifying.cancel()
            self._exemplifying = None
        look, mapping, folder = self.look, self.roles.mapping(), self.tokenizer
        if look is None or mapping is None or folder is None:
            self.examples = []
            self.exemplified.emit()
            return
        known = self._tokenizers.get(folder)

        def work() -> tuple[Tokenizer, list[Example]]:
            tokenizer = known or Tokenizer.from_folder(folder)
            return tokenizer, examples(look, mapping, tokenizer)

        def done(result: tuple[Tokenizer, list[Example]]) -> None:
            self._exemplifying = None
            self._tokenizers[folder], self.examples = result
            self.unknown, self.examples_problem = result[0].unknown, ""
            self.exemplified.emit()

        self._exemplifying = background.run(self, work, done, self._on_no_examples)

    def _on_no_examples(self, error: BaseException) -> None:
        self._exemplifying = None
        if not isinstance(error, StudioError):
            raise error
        self.examples, self.examples_problem = [], error.problem
        self.exemplified.emit()

    def _stop_counting(self) -> None:
        self._pause.stop()
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
        self.counted, self.part_rows = None, None
        self.count_problem, self.import_problem = None, None

    def _count_anew(self) -> None:
        self._stop_counting()
        if self.look is not None and self.roles.mapping() is not None and self.sources:
            self._pause.start()
        self.counted_changed.emit()
        self.judged.emit()

    def _count(self) -> None:
        """Read all rows once: a wrong line deep in the file is told before the import."""
        mapping, reading = self.roles.mapping(), self.reading
        assert mapping is not None and reading is not None
        sources, column = self.sources, self.split.column
        scratch = self._studio.home.cache

        def work(progress: background.Progress) -> Collected | None:
            try:
                return count(
                    sources, reading, mapping, column, scratch, progress, progress.cancelled
                )
            except Cancelled:
                return None

        self.count_done = (0, 0)
        self._counting = background.run(
            self, work, self._on_counted, self._on_not_counted, progress=self._on_count_progress
        )
        self.counted_changed.emit()

    def _on_count_progress(self, done: int, total: int) -> None:
        self.count_done = (done, total)
        self.counted_changed.emit()

    def _on_counted(self, counted: Collected | None) -> None:
        self._counting, self.counted = None, counted
        self.judged.emit()
        self._deal()

    def _deal(self) -> None:
        """Find out how many rows each part will have."""
        if self._dealing is not None:
            self._dealing.cancel()
            self._dealing = None
        self.part_rows = None
        counted, sources, split = self.counted, self.sources, self.split
        if counted is not None:
            self._dealing = background.run(
                self, lambda: part_sizes(counted, sources, split), self._on_dealt
            )
        self.counted_changed.emit()

    def _on_dealt(self, rows: dict[SplitName, int]) -> None:
        self._dealing, self.part_rows = None, rows
        self.counted_changed.emit()

    def _on_not_counted(self, error: BaseException) -> None:
        self._counting = None
        if not isinstance(error, StudioError):
            raise error
        self.count_problem = error
        self.counted_changed.emit()
        self.judged.emit()

    # ── the import ───────────────────────────────────────────────────────────────────────────

    def start_import(self) -> None:
        """Make the data set; nothing happens while something blocks it."""
        mapping, reading = self.roles.mapping(), self.reading
        if self.why_not() or self.is_importing or mapping is None or reading is None:
            return
        self._stop_counting()
        name, version = self.name.strip(), self.version
        sources, into, split = self.sources, self._target(), self.split

        def work(progress: background.Progress) -> Path | None:
            try:
                import_dataset(
                    name,
                    sources,
                    reading,
                    mapping,
                    split,
                    into,
                    version,
                    progress,
                    progress.cancelled,
                )
            except Cancelled:
                return None
            return into

        self._importing = background.run(
            self, work, self._on_imported, self._on_not_imported, progress=self.progressed.emit
        )
        self.judged.emit()

    def cancel_import(self) -> None:
        """Stop reading; nothing of it stays."""
        if self._importing is not None:
            self._importing.cancel()
            self._importing = None
            self.ended.emit()
            self._count_anew()

    def _target(self) -> Path:
        """The folder of the new version: beside the older ones of its name, or on its own."""
        older = self._versions()
        home = self._studio.home.datasets
        if older:
            return free_folder(older[0].folder.parent, str(self.version))
        return free_folder(home, self.name) / "1"

    def _on_imported(self, folder: Path | None) -> None:
        self._importing = None
        self.ended.emit()
        if folder is not None:
            self._studio.datasets_changed.emit()
            self.imported.emit(folder)

    def _on_not_imported(self, error: BaseException) -> None:
        self._importing = None
        self.ended.emit()
        if not isinstance(error, StudioError):
            raise error
        self.import_problem = error
        self.judged.emit()


@dataclass(frozen=True)
class _Begun:
    """What was found out about the chosen files."""

    files: list[Path]
    parts: list[SplitName | None]
    name: str
    reading: Reading | None
    notes: tuple[str, ...]
    problem: StudioError | None


def _begin(paths: Sequence[Path]) -> _Begun:
    """List the files and recognise the first one."""
    try:
        files = data_files(paths)
    except OSError as error:
        problem = StudioError(f"The folder cannot be read: {error.strerror}.", "Choose another.")
        return _Begun([], [], "", None, (), problem)
    if not files:
        problem = StudioError(
            f"There is no data in {paths[0].name}: no CSV, TSV, JSON lines or text file.",
            "Choose a file, or a folder with such files.",
        )
        return _Begun([], [], "", None, (), problem)
    parts: list[SplitName | None] = guess_parts(files) if len(files) > 1 else [None]
    if "train" in parts:  # it is the one by which the others are read
        first = parts.index("train")
        files.insert(0, files.pop(first))
        parts.insert(0, parts.pop(first))
    name = suggested_name(files)[:LONGEST_NAME]
    try:
        reading, notes = recognise_reading(files[0])
    except StudioError as error:
        return _Begun(files, parts, name, None, (), error)
    return _Begun(files, parts, name, reading, notes, None)
