"""Save weight snapshots; `engine.runs.snapshots` defines their steps."""

from engine.errors import StudioError
from engine.files.atomic_write import MANIFEST, atomic_folder, check_free_space
from engine.files.snapshot_folder import CONFIG
from engine.models import checkpoint
from engine.models.network import Network
from engine.runs import snapshots
from engine.training.checkpoints import TOKENIZER_SIZE
from engine.training.training_run import TrainingRun

DTYPE = checkpoint.HALF_DTYPES["float16"]


def begin_snapshots(run: TrainingRun, resumed: bool) -> None:
    """Discard snapshots of later steps, and save step 0, before the first step. Collective."""
    if not run.settings.snapshot_every:
        return
    if run.ranks.is_writer:
        snapshots.discard_after(run.context.folder, run.progress.step if resumed else -1)
    if not resumed:
        count = snapshots.count_snapshots(run.setup.data.steps, run.settings.snapshot_every)
        size = snapshot_size(run.network)
        run.context.note(
            "{count} snapshots of the weights, {size:.1f} MB each: {total:.0f} MB.",
            count=count,
            size=size / 1e6,
            total=count * size / 1e6,
        )
        _save(run)


def save_snapshot(run: TrainingRun) -> bool:
    """Save a snapshot if one is due at this step. Collective."""
    step, every = run.progress.step, run.settings.snapshot_every
    if not every or not (snapshots.is_snapshot_step(step, every) or run.is_finished):
        return False
    _save(run)
    return True


def snapshot_size(network: Network) -> int:
    """Approximate size of a snapshot in bytes."""
    return DTYPE.itemsize * sum(parameter.numel() for parameter in network.parameters())


def _save(run: TrainingRun) -> None:
    """Write averaged and merged weights, as in a checkpoint.

    Skipped with a note if a weight overflows fp16.
    """
    network = run.ranks.gather_network(run.network)
    if not run.ranks.is_writer:
        return
    folder = snapshots.snapshot_folder(run.context.folder, run.progress.step)
    try:
        with run.average.applied():
            tensors = checkpoint.finite_tensors(network, DTYPE)
    except StudioError as error:
        step = run.progress.step
        run.context.note("No snapshot of step {step}: {error}", step=step, error=error.problem)
        return

    def write() -> None:
        check_free_space(folder, snapshot_size(network) + TOKENIZER_SIZE)
        _write_shared(run, network)
        with atomic_folder(folder) as inside:
            checkpoint.write_weights(inside, tensors)

    run.context.retry_when_full(write)


def _write_shared(run: TrainingRun, network: Network) -> None:
    """Write config and tokenizer once for all snapshots."""
    shared, data = run.context.folder.snapshots, run.setup.data
    if (shared / CONFIG).is_file() and (shared / MANIFEST).is_file():
        return
    with atomic_folder(shared) as inside:
        checkpoint.write_config(
            *(inside, network, data.tokenizer, data.learner.labels, DTYPE), data.config_entries
        )
