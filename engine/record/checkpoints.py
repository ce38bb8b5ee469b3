"""Checkpoints saved by runs, and imported ones."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import ForeignKey, bindparam, delete, select, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Mapped, Session, mapped_column

from engine.messages.events import Saved
from engine.record.runs import Run
from engine.record.tables import Moment, PathColumn, Table
from engine.runs.folder import RunFolder, checkpoint_step, modified_at
from engine.system.errors import may_exist
from engine.visible import is_valid_text


class Checkpoint(Table):
    """A folder with weights. Without a run it was imported."""

    __tablename__ = "checkpoints"

    folder: Mapped[Path] = mapped_column(PathColumn, primary_key=True)
    run_id: Mapped[str | None] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), index=True)
    step: Mapped[int] = mapped_column(default=0)
    best: Mapped[bool] = mapped_column(default=False)  # of its run
    saved: Mapped[datetime] = mapped_column(Moment)


# Built once, and from the table, not the class: with a thousand runs these statements are executed
# thousands of times, and building one takes longer than executing it.
_TABLE = Checkpoint.metadata.tables[Checkpoint.__tablename__]
_NEW = insert(_TABLE)
_ADD = _NEW.on_conflict_do_update(
    set_={name: _NEW.excluded[name] for name in ("run_id", "step", "best", "saved")}
)
_UNMARK = update(_TABLE).where(_TABLE.c.run_id == bindparam("run")).values(best=False)
_FOLDERS = select(_TABLE.c.folder).where(_TABLE.c.run_id == bindparam("run"))


def get_checkpoints(session: Session, run_id: str) -> Sequence[Checkpoint]:
    return session.scalars(
        select(Checkpoint).where(Checkpoint.run_id == run_id).order_by(Checkpoint.step)
    ).all()


def all_checkpoints(session: Session) -> Sequence[Checkpoint]:
    """Every checkpoint: imported ones first, then run by run."""
    return session.scalars(
        select(Checkpoint).order_by(Checkpoint.run_id, Checkpoint.step, Checkpoint.folder)
    ).all()


def best_and_last(session: Session) -> dict[str, tuple[Path, int]]:
    """For every run with a checkpoint: the folder of its best checkpoint, or else of its last, and
    the step of the last one."""
    rows = select(Checkpoint.run_id, Checkpoint.folder, Checkpoint.step, Checkpoint.best)
    folders: dict[str, tuple[Path, int]] = {}
    best: set[str] = set()
    for run_id, folder, step, is_best in session.execute(
        rows.where(Checkpoint.run_id.is_not(None)).order_by(Checkpoint.run_id, Checkpoint.step)
    ):
        assert run_id is not None
        shown = folders[run_id][0] if run_id in best else folder
        folders[run_id] = shown, step
        if is_best:
            best.add(run_id)
    return folders


def add_saved(session: Session, run_id: str, folder: RunFolder, event: Saved) -> None:
    """Record a saved checkpoint; a new best one replaces the previous best."""
    if event.best:
        session.connection().execute(_UNMARK, {"run": run_id})
    _add(session, folder.checkpoint(event.step), run_id, event.step, event.best, event.at)


def remove_checkpoint(session: Session, folder: Path) -> None:
    """Delete the row of a checkpoint; its folder stays."""
    session.execute(delete(Checkpoint).where(Checkpoint.folder == folder))


def match_folders(session: Session, run_id: str, folder: RunFolder) -> None:
    """Make the rows of a run match the folders on the disk.

    A worker can be killed after saving a checkpoint and before writing its event, and a user can
    delete a folder by hand.
    """
    recorded = set(session.connection().scalars(_FOLDERS, {"run": run_id}))
    existing = set(folder.checkpoint_folders())
    for removed in recorded - existing:
        remove_checkpoint(session, removed)
    unrecorded = existing - recorded
    if not unrecorded:
        return  # the usual case; no need to read all events again
    best = max((e.step for e in folder.milestones() if isinstance(e, Saved) and e.best), default=-1)
    for new in unrecorded:
        _add(
            session,
            new,
            run_id,
            checkpoint_step(new),
            checkpoint_step(new) == best,
            modified_at(new),
        )


def match_imported(session: Session, models: Path) -> None:
    """Make the rows of imported models match the folders on the disk."""
    folders = models.iterdir() if models.is_dir() else ()
    model_folders = (f for f in folders if not f.name.startswith(".") and is_valid_text(f.name))
    existing = {f for f in model_folders if may_exist(f / "config.json")}
    recorded = set(session.scalars(select(Checkpoint.folder).where(Checkpoint.run_id.is_(None))))
    for removed in recorded - existing:
        remove_checkpoint(session, removed)
    for new in existing - recorded:
        _add(session, new, None, 0, False, modified_at(new))


def _add(
    session: Session, folder: Path, run_id: str | None, step: int, best: bool, saved: datetime
) -> None:
    new = {"folder": folder, "run_id": run_id, "step": step, "best": best, "saved": saved}
    session.connection().execute(_ADD, new)
