"""State of an import, and the import itself. No widgets."""

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.library import DataEntry
from app.pages.data.importing.checks import (
    Problem,
    cleaning_effects,
    column_problems,
    file_problems,
    name_problems,
)
from app.pages.data.importing.counting import CountState
from app.pages.data.importing.files import OpenedFiles, open_files
from app.pages.data.importing.findings import FindingsState
from app.pages.data.importing.preview import ExamplesState, FilePreview, preview_file
from app.pages.data.importing.roles import Roles
from app.studio import Studio
from engine.config.dataset import Cleaning, Reading, Source, Split, SplitName
from engine.config.dataset import Mapping as ColumnMapping
from engine.config.joined_texts import SEPARATOR
from engine.data.checks.fixing import FixName, apply_fixes_by_name
from engine.data.columns.mapping import guess_mapping, guess_note
from engine.data.datasets.collecting import NO_CLEANING, FileImport, similar_reading
from engine.data.datasets.importing import import_dataset
from engine.data.formats.reading import recognise_reading
from engine.errors import StudioError
from engine.files.home import free_folder
from engine.hub.fetched import Fetched
from engine.phrases import join
from engine.progress import Cancelled


class ImportState(QObject):
    """One import, from the choice of files to the new folder.

    `count` reads all rows for the choices, `examples` tokenizes the first ones.

    Signals:
        opened: files were chosen; `files`, `splits`, `name` are set.
        previewed: `preview` or `preview_problem`, `reading` and `roles` changed.
        checked: `problems` may have changed.
        progressed: bytes read and in total.
        ended: the import has ended, successfully or not.
        imported: folder of the new version.
    """

    opened = Signal()
    previewed = Signal()
    checked = Signal()
    progressed = Signal(object, object)
    ended = Signal()
    imported = Signal(Path)

    def __init__(
        self,
        studio: Studio,
        get_entries: Callable[[], list[DataEntry]],
        parent: QObject | None = None,
    ) -> None:
        """`get_entries` returns the existing data sets, for the number of a new version."""
        super().__init__(parent)
        self._studio, self._get_entries = studio, get_entries
        self.count = CountState(studio.home.cache, self)
        self.count.checked.connect(self.checked)
        self.findings = FindingsState(self.count, studio.home.cache)
        self.findings.changed.connect(self.checked)
        self.examples = ExamplesState(self)
        self._previewing = background.LatestJob(self)
        self._importing = background.LatestJob(self)
        self._reset()

    def _reset(self) -> None:
        self.fetched: Fetched | None = None  # from the hub; None: files of the user
        self.files: list[Path] = []
        self.splits: list[SplitName | None] = []
        self.shapes: Mapping[Path, tuple[int, int]] = {}  # rows and columns of sheets
        self.file_index = 0  # index of the file shown
        self.reading: Reading | None = None
        self.notes: tuple[str, ...] = ()  # on the recognised format
        self.columns_note: str = ""  # on guessed columns, until the user chooses some
        self.preview: FilePreview | None = None
        self.preview_problem: StudioError | None = None
        self.import_problem: StudioError | None = None
        self.roles, self.split, self.name = Roles(), Split(), ""
        self.cleaning = NO_CLEANING
        self.findings.chosen_fixes.clear()

    # ── the files ────────────────────────────────────────────────────────────────────────────

    def open(self, paths: Sequence[Path], fetched: Fetched | None = None) -> None:
        """Start with these files, or with the data files in these folders.

        `fetched` has the split of each file from the hub.
        """
        self.close()
        self._reset()
        self.fetched = fetched

        def work() -> OpenedFiles:
            if fetched is None:
                return open_files(paths)
            return open_files(paths, fetched.splits(), fetched.name)

        self._previewing.run(work, self._on_opened, self._on_preview_failed)

    def close(self) -> None:
        """Cancel all jobs."""
        self._previewing.cancel()
        self._importing.cancel()
        self.examples.clear()
        self.count.stop()
        self.findings.stop()

    def set_file_split(self, file: int, split: SplitName | None) -> None:
        """Choose the split of a file; None to leave it out.

        If the columns come from another file now, that file is shown and read as recognised.
        """
        main = self._main_index
        self.splits[file] = split
        if self._main_index == main:
            self._recount()
        else:
            self.file_index, self.reading = self._main_index, None
            self._update_preview()

    def show_file(self, index: int) -> None:
        self.file_index = index
        self._update_preview()

    @property
    def _main_index(self) -> int:
        """Index of the file with the columns: the first for training, else the first in use."""
        used = [index for index, split in enumerate(self.splits) if split is not None]
        training = [index for index in used if self.splits[index] == "train"]
        return next(iter([*training, *used]), 0)

    @property
    def sources(self) -> dict[Source, tuple[Path, ...]]:
        """Files by split; if all files are for training, they are listed as “all”."""
        if len(self.files) == 1:
            return {"all": tuple(self.files)}
        files: dict[Source, tuple[Path, ...]] = {}
        for split, file in zip(self.splits, self.files, strict=True):
            if split is not None:
                files[split] = (*files.get(split, ()), file)
        return {"all": files["train"]} if set(files) == {"train"} else files

    @property
    def random_splits(self) -> tuple[SplitName, ...]:
        """Splits without a file, which get a fraction of the training rows."""
        sources = self.sources
        splits: tuple[SplitName, ...] = ("validation", "test")
        return tuple(split for split in splits if split not in sources)

    # ── reading and columns ──────────────────────────────────────────────────────────────────

    def set_reading(self, reading: Reading) -> None:
        if reading != self.reading:
            self.reading, self.notes = reading, ()
            self._update_preview()

    def set_roles(self, roles: Roles) -> None:
        if roles != self.roles:
            is_first = self.roles == Roles() and roles == Roles(roles.text)
            self.roles, self.columns_note = roles, ""
            if is_first:
                self._guess_roles()
            self.examples.show(self.preview, self._mapping())
            self._recount()

    def _mapping(self) -> ColumnMapping | None:
        """The columns that are read; None before the preview, or if they are inconsistent."""
        if self.preview is None or column_problems(self.roles, self.preview.columns):
            return None
        return self.roles.mapping()

    def _guess_roles(self) -> None:
        """Guess the other roles from a text column chosen by the user."""
        if self.preview is None:
            return
        columns, rows, _ = self.preview.table
        text = self.roles.text
        mapping, guessed = guess_mapping(columns, [row.cells for row in rows], text)
        if mapping is not None and mapping.text == text:
            self.roles, self.columns_note = Roles.from_mapping(mapping), guess_note(guessed)

    def template(self) -> str | None:
        """The template in use, or one that joins all columns of texts; a pair of two."""
        text = self.roles.text
        if text is not None and text not in self.columns:
            return text
        roles = self.roles.columns
        names = [
            facts.name
            for facts in (self.preview.facts if self.preview else ())
            if roles.get(facts.name, "text" if facts.kind == "text" else "") in ("text", "pair")
        ]
        between = f" {SEPARATOR} " if len(names) == 2 else ". "
        return between.join(f"{{{name}}}" for name in names) or None

    def levels_template(self) -> str | None:
        """The template of the label in use, or one that joins the label and all columns of
        categories, those with fewest first."""
        label = self.roles.label
        if label is not None and label not in self.columns:
            return label
        roles = self.roles.columns
        found = [
            facts
            for facts in (self.preview.facts if self.preview else ())
            if roles.get(facts.name, "label" if facts.kind == "category" else "") == "label"
        ]
        found.sort(key=lambda facts: facts.distinct)
        return " > ".join(f"{{{facts.name}}}" for facts in found) or None

    def first_cells(self, column: str) -> list[str]:
        """The cells of a column in the first rows."""
        if self.preview is None:
            return []
        columns, rows, _ = self.preview.table
        return [row.cells[columns.index(column)] for row in rows]

    def set_split(self, split: Split) -> None:
        if split != self.split:
            needs_count = (split.column, split.by) != (self.split.column, self.split.by)
            self.split = split
            if needs_count:
                self._recount()
            else:
                self.count.split_again(split)

    def set_cleaning(self, cleaning: Cleaning) -> None:
        """Skip rows, or merge spellings of labels."""
        if cleaning != self.cleaning:
            self.cleaning = cleaning
            self._recount()

    def clean(self, problem: Problem) -> None:
        """Perform the action of a problem's button."""
        self.set_cleaning(problem.cleaning)

    def set_name(self, name: str) -> None:
        self.name = name
        self.checked.emit()

    # ── results ──────────────────────────────────────────────────────────────────────────────

    @property
    def columns(self) -> tuple[str, ...]:
        return self.preview.columns if self.preview else ()

    @property
    def is_importing(self) -> bool:
        return self._importing.is_busy

    @property
    def version(self) -> int:
        """Number of the new version."""
        return 1 + max((entry.version for entry in self._versions()), default=0)

    def _versions(self) -> list[DataEntry]:
        name = self.name.strip()
        return [entry for entry in self._get_entries() if entry.spec and entry.spec.name == name]

    def problems(self) -> list[Problem]:
        """All problems, blocking ones first."""
        problems = []
        if self.preview_problem is not None:
            problems.append(Problem.from_error(self.preview_problem))
        if self.import_problem is not None:
            problems.append(Problem.from_error(self.import_problem, is_blocking=False))
        problems += file_problems(self.splits)
        if self.preview is not None:
            problems += column_problems(self.roles, self.preview.columns)
        if self.files:
            problems += name_problems(self.name)
        if self.count.problem is not None:
            problems.append(Problem.from_error(self.count.problem))
        problems += self.count.problems
        problems += cleaning_effects(self.cleaning)
        return sorted(problems, key=lambda problem: not problem.is_blocking)

    def obstacle(self) -> str:
        """Reason why the import cannot start; “” if it can."""
        if not self.files and self.preview_problem is None:
            return self.tr("Opening the files…")
        blocking = next((problem for problem in self.problems() if problem.is_blocking), None)
        if blocking is not None:
            return blocking.text
        if self.preview is None:
            return self.tr("Reading the first rows…")
        return ""

    # ── background work ────────────────────────────────────────────────────────────────────

    def _on_opened(self, opened: OpenedFiles) -> None:
        self.files, self.splits, self.name = opened.files, opened.splits, opened.name
        self.reading, self.notes, self.shapes = opened.reading, opened.notes, opened.shapes
        self.preview_problem = opened.problem
        self.opened.emit()
        if opened.problem is None:
            self._update_preview()
        else:
            self.previewed.emit()
            self.checked.emit()

    def _update_preview(self) -> None:
        self.count.stop()
        self.import_problem = None
        file, reading = self.files[self.file_index], self.reading
        is_main = self.file_index == self._main_index

        def work() -> FilePreview:
            if reading is None:
                return preview_file(file, recognise_reading(file)[0])
            return preview_file(file, reading if is_main else similar_reading(file, reading))

        self._previewing.run(work, self._on_preview, self._on_preview_failed)

    def _on_preview(self, preview: FilePreview) -> None:
        self.preview, self.preview_problem = preview, None
        self.reading = self.reading or preview.reading
        used_columns = {*self.roles.columns, self.split.column} - {None}
        if self.roles.text is None or not used_columns <= set(preview.columns):
            had_roles = self.roles.text is not None
            self.roles = Roles.from_mapping(preview.mapping).with_coders(preview.coders)
            self.split = self.split.model_copy(update={"column": None, "by": "name"})
            self.cleaning = NO_CLEANING
            self.findings.chosen_fixes.clear()
            guessed = [role for role in preview.guessed_roles if getattr(self.roles, role)]
            notes = [self._changed_note() if had_roles else "", guess_note(guessed)]
            notes += preview.notes
            if preview.mapping is None:
                notes.append(self.tr("No column looks like text. Please choose one."))
            self.columns_note = join("\n", filter(None, notes))
        self.previewed.emit()
        self.examples.show(preview, self._mapping())
        self._recount()

    def _changed_note(self) -> str:
        return self.tr("The columns of the file changed, so the roles were chosen again.")

    def _on_preview_failed(self, error: BaseException) -> None:
        self.preview, self.preview_problem = None, background.as_studio_error(error)
        self.count.stop()
        self.previewed.emit()
        self.checked.emit()

    def _recount(self) -> None:
        mapping, reading, sources = self._mapping(), self.reading, self.sources
        self.import_problem = None
        if mapping is None or reading is None or not sources:
            self.count.count(None)
        else:
            self.count.count(FileImport(sources, reading, mapping, self.split, self.cleaning))

    # ── the import ───────────────────────────────────────────────────────────────────────────

    def start_import(self) -> None:
        """Import the data set, unless a problem blocks it."""
        mapping, reading = self.roles.mapping(), self.reading
        if self.obstacle() or self.is_importing or mapping is None or reading is None:
            return
        self.count.stop()
        self.findings.stop()
        self.import_problem = None
        name, version = self.name.strip(), self.version
        sources, target, split = self.sources, self._target(), self.split
        cleaning, fixes = self.cleaning, frozenset(self.findings.chosen_fixes)
        hub = None if self.fetched is None else self.fetched.origin

        def work(progress: background.Progress) -> Path:
            import_dataset(
                name,
                sources,
                reading,
                mapping,
                split,
                target,
                version,
                progress,
                progress.cancelled,
                cleaning,
                hub,
            )
            return _apply_fixes(target, version, fixes, progress) if fixes else target

        self._importing.run(work, self._on_imported, self._on_import_failed, self.progressed.emit)
        self.checked.emit()

    def cancel_import(self) -> None:
        """Cancel the import; nothing is kept."""
        if self.is_importing:
            self._importing.cancel()
            self.ended.emit()
            self._recount()

    def _target(self) -> Path:
        """Folder of the new version, next to older versions of the same name if there are any."""
        older = self._versions()
        home = self._studio.home.datasets
        if older:
            return free_folder(older[0].folder.parent, str(self.version))
        return free_folder(home, self.name) / "1"

    def _on_imported(self, folder: Path) -> None:
        self.ended.emit()
        self._studio.datasets_changed.emit()
        self.imported.emit(folder)

    def _on_import_failed(self, error: BaseException) -> None:
        self.ended.emit()
        self.import_problem = background.as_studio_error(error)
        self.checked.emit()


def _apply_fixes(
    folder: Path, version: int, fixes: Collection[FixName], progress: background.Progress
) -> Path:
    """Create a version with these fixes; return the imported one if they change nothing.

    If it fails, the imported version is removed as well.
    """
    target = free_folder(folder.parent, str(version + 1))
    try:
        spec = apply_fixes_by_name(fixes, folder, target, version + 1, progress, progress.cancelled)
    except (Cancelled, StudioError):
        shutil.rmtree(folder)
        if not any(folder.parent.iterdir()):
            folder.parent.rmdir()
        raise
    return folder if spec is None else target
