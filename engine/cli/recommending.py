"""Recommended settings as the defaults of `bert-studio job`."""

from collections.abc import Collection
from itertools import islice
from pathlib import Path

from engine.checkpoints.info import checkpoint_info
from engine.config.dataset import DataSource, StoredData
from engine.config.features import CONTRASTIVE, FINE_TUNED, Features
from engine.config.job import FromScratch, JobSpec
from engine.config.recommended import (
    QUICK_FIELDS,
    RECOMMENDED,
    Network,
    Recipe,
    Recommendation,
    Situation,
    few_note,
    recommend,
    with_probe_rate,
)
from engine.config.task import TaskSpec, WindowedTask
from engine.config.training import TrainingSpec
from engine.data.coverage import unknown_note
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import read
from engine.data.formats.sources import split_files
from engine.data.lengths import lengths_in_dataset, lengths_in_file
from engine.errors import StudioError
from engine.system.terminal import echo_error
from engine.tokenizers.tokenizer import Tokenizer

MAX_COUNTED_ROWS = 20_000  # of a file; more make no difference


def apply_recommended(
    job: JobSpec,
    fixed: Collection[str],
    fixed_features: Collection[str] = (),
    recipe: Recipe = "paper",
) -> JobSpec:
    """Apply the recommended settings except those that are `fixed`; explains them on stderr.

    `fixed_features` names the fixed settings of the features.

    Raises StudioError if the data or the base model cannot be read, or if the recipe does not
    suit this job.
    """
    situation = situation_of(job, recipe)
    result = recommend(situation)
    if job.features.vectors == FINE_TUNED and (note := few_note(situation)) is not None:
        echo_error(f"{note} (--set features.vectors=contrastive)")
    names = RECOMMENDED + (QUICK_FIELDS if recipe == "quick" else ())
    update = {name: getattr(result.training, name) for name in names if name not in fixed}
    if "frozen_layers" in fixed and not job.training.frozen_layers:
        update.pop("cache_frozen_layers", None)  # nothing to cache
    for name, value in update.items():
        if name in result.reasons:
            title = TrainingSpec.model_fields[name].title
            echo_error(f"{title} {value:g}: {result.reasons[name]}")
    features = job.features
    if "learning_rate" not in fixed_features:
        features = with_probe_rate(Features(), features)
    training = job.training.model_copy(update=update)
    return job.model_copy(update={"training": training, "features": features})


def recommend_for(job: JobSpec, recipe: Recipe = "paper") -> Recommendation:
    """The wizard's recommended settings for a job. Raises StudioError as `situation_of`."""
    return recommend(situation_of(job, recipe))


def situation_of(job: JobSpec, recipe: Recipe = "paper") -> Situation:
    """The inputs of the recommendation for a job.

    Raises StudioError if the data or the base model cannot be read, or if the recipe is not for
    this job.
    """
    base, shares_layers, encodes = job.base_model, False, False
    network: Network | None = None  # unknown if the model is on another machine
    vocabulary: Path | None = None
    if isinstance(base, FromScratch):
        network, vocabulary = base.model, base.tokenizer
    elif base.path.is_dir():
        network = info = checkpoint_info(base.path)
        vocabulary, shares_layers = base.path, info.shares_layers
        encodes = info.sentence is not None
    rows, typical = _rows_and_length(job.data, vocabulary, job.task)
    situation = Situation(
        task=type(job.task).info,
        from_scratch=isinstance(base, FromScratch),
        network=network,
        rows=rows,
        typical_length=typical,
        lora=bool(job.training.lora_rank),
        contrastive=job.features.vectors == CONTRASTIVE,
        recipe=recipe,
        shares_layers=shares_layers,
        encodes_sentences=encodes,
        reads_windows=isinstance(job.task, WindowedTask) and job.task.reads_windows,
    )
    if recipe == "quick" and (situation.quick is None or job.features.vectors != FINE_TUNED):
        raise StudioError(
            "The recipe “quick” is only for fine-tuning all weights of models of MiniLM's size; it "
            "was not measured for others.",
            "Leave out --recipe quick.",
        )
    return situation


def _rows_and_length(
    source: DataSource, vocabulary: Path | None, task: TaskSpec
) -> tuple[int, int]:
    """Training rows, and the 99th percentile of input lengths in tokens; 0 if unknown."""
    tokenizer = Tokenizer.from_folder(vocabulary) if vocabulary is not None else None
    if isinstance(source, StoredData):
        dataset = open_dataset(source.folder).with_target(source.target).for_task(task)
        rows = dataset.spec.rows.get("train", 0)
        lengths = lengths_in_dataset(dataset, tokenizer) if tokenizer else None
    else:
        assert source.reading is not None
        files = split_files(source.path, source.validation)
        table = read(files.main_file, source.reading, head_only=True)
        held_back = 0 if "test" in files.sources else source.split.test
        held_back += 0 if "validation" in files.sources else source.split.validation
        rows = round((1 - held_back) * sum(1 for _ in islice(table, MAX_COUNTED_ROWS)))
        lengths = None
        if tokenizer is not None and source.mapping is not None:
            lengths = lengths_in_file(files.main_file, source.reading, source.mapping, tokenizer)
    if lengths is not None and (note := unknown_note(lengths.unknown)):
        echo_error(f"note: {note}")
    return rows, lengths.percentile_99 if lengths is not None else 0
