"""Checkpoints: those that runs saved and those that were imported."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import ForeignKey, bindparam, delete, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Mapped, Session, mapped_column

from engine.messages.events import Saved
from engine.record.runs import Run
from engine.record.tables import Moment, Place, Table
from engine.runs.folder import RunFolder, changed, step_of
from engine.system.errors import may_be_there
from engine.visible import is_text


class Checkpoint(Table):
    """A folder with weights. Without a run it was imported."""

    __tablename__ = "checkpoints"

    folder: Mapped[Path] = mapped_column(Place, primary_key=True)
    run_id: Mapped[str | None] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), index=True)
    step: Mapped[int] = mapped_column(default=0)
    best: Mapped[bool] = mapped_column(default=False)  # of its run
    saved: Mapped[datetime] = mapped_column(Moment)


# Said once, and of the table, not of the class: a home of a thousand runs asks each of them
# thousands of times, and to put one together takes longer than to carry it out.
_TABLE = Checkpoint.metadata.tables[Checkpoint.__tablename__]
_NEW = insert(_TABLE)
_ADD = _NEW.on_conflict_do_update(
    set_={name: _NEW.excluded[name] for name in ("run_id", "step", "best", "saved")}
)
_UNMARK = update(_TABLE).where(_TABLE.c.run_id == bindparam("run")).values(best=False)
_FOLDERS = select(_TABLE.c.folder).where(_TABLE.c.run_id == bindparam("run"))


def checkpoints_of(session: Session, run_id: str) -> Sequence[Checkpoint]:
    """The checkpoints of a run by step."""
    return session.scalars(
        select(Checkpoint).where(Checkpoint.run_id == run_id).order_by(Checkpoint.step)
    ).all()


def all_checkpoints(session: Session) -> Sequence[Checkpoint]:
    """Every checkpoint: imported ones first, then run by run."""
    return session.scalars(
        select(Checkpoint).order_by(Checkpoint.run_id, Checkpoint.step, Checkpoint.folder)
    ).all()


def best_and_last(session: Session) -> dict[str, tuple[Path, int]]:
    """Of every run that saved something: the folder of its best checkpoint, or else of its last,
    and the step of the last one."""
    rows = select(Checkpoint.run_id, Checkpoint.folder, Checkpoint.step, Checkpoint.best)
    found: dict[str, tuple[Path, int]] = {}
    best: set[str] = set()
    for run_id, folder, step, is_best in session.execute(
        rows.where(Checkpoint.run_id.is_not(None)).order_by(Checkpoint.run_id, Checkpoint.step)
    ):
        assert run_id is not None
        shown = found[run_id][0] if run_id in best else folder
        found[run_id] = shown, step
        if is_best:
            best.add(run_id)
    return found


def add_saved(session: Session, run_id: str, folder: RunFolder, event: Saved) -> None:
    """Record what a run saved; a new best one takes that mark from the one before."""
    if event.best:
        session.connection().execute(_UNMARK, {"run": run_id})
    _add(session, folder.checkpoint(event.step), run_id, event.step, event.best, event.at)


def remove_checkpoint(session: Session, folder: Path) -> None:
    """Forget a checkpoint; its folder is another matter."""
    session.execute(delete(Checkpoint).where(Checkpoint.folder == folder))


def match_folders(session: Session, run_id: str, folder: RunFolder) -> None:
    """Make the rows of a run say what stands on the disk.

    A worker can be killed between the saving of a checkpoint and the line that tells of it, and
    a user can delete a folder by hand.
    """
    known = set(session.connection().scalars(_FOLDERS, {"run": run_id}))
    standing = set(folder.checkpoint_folders())
    for gone in known - standing:
        remove_checkpoint(session, gone)
    untold = standing - known
    if not untold:
        return  # as nearly always, and all events need not be read once more
    best = max((e.step for e in folder.milestones() if isinstance(e, Saved) and e.best), default=-1)
    for new in untold:
        _add(session, new, run_id, step_of(new), step_of(new) == best, changed(new))


def match_imported(session: Session, models: Path) -> None:
    """The same for the folder of imported models."""
    found = models.iterdir() if models.is_dir() else ()
    named = (f for f in found if not f.name.startswith(".") and is_text(f.name))
    standing = {f for f in named if may_be_there(f / "config.json")}
    known = set(session.scalars(select(Checkpoint.folder).where(Checkpoint.run_id.is_(None))))
    for gone in known - standing:
        remove_checkpoint(session, gone)
    for new in standing - known:
        _add(session, new, None, 0, False, changed(new))


def _add(
    session: Session, folder: Path, run_id: str | None, step: int, best: bool, saved: datetime
) -> None:
    new = {"folder": folder, "run_id": run_id, "step": step, "best": best, "saved": saved}
    session.connection().execute(_ADD, new)
