"""A small job of each task."""

from collections.abc import Callable
from pathlib import Path

from engine.config.dataset import FileData, Mapping, Reading
from engine.config.job import JobSpec
from engine.config.tasks import heads
from engine.config.tasks.hierarchical_classification import HierarchicalClassification
from engine.config.tasks.ordinal_classification import OrdinalClassification
from engine.config.tasks.pair_classification import PairClassification
from tests.engine.training import small

STARS = Mapping(text="text", label="label")
HEAD_KINDS = [kind for kind, _ in heads()]


def pairs(folder: Path, **training: object) -> JobSpec:
    """A job on pairs, labelled by whether the second text repeats the first."""
    path = folder / "pairs.csv"
    rows = [f"{small.GOOD[n % 3]},{(small.GOOD if n % 2 else small.BAD)[n % 3]},{n % 2}"
            for n in range(48)]  # fmt: skip
    path.write_text("\n".join(["text,pair,label", *rows]) + "\n", encoding="utf-8")
    mapping = Mapping(text="text", pair="pair", label="label")
    data = FileData(path=path, reading=Reading(format="csv"), mapping=mapping)
    update = {"task": PairClassification(), "data": data}
    return small.classifying(folder, **training).model_copy(update=update)


def stars(folder: Path, **training: object) -> JobSpec:
    """A job on sentences with one to three stars."""
    path = folder / "stars.csv"
    texts = (
        "a dull cold film and a sad end",
        "acting and a film of a story",
        "a lovely warm film to love",
    )
    rows = [f"{texts[n % 3]} {small.GOOD[n % 2][-4:]},{n % 3 + 1}" for n in range(48)]
    path.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    data = FileData(path=path, reading=Reading(format="csv"), mapping=STARS)
    update = {"task": OrdinalClassification(), "data": data}
    return small.classifying(folder, **training).model_copy(update=update)


def paths(folder: Path, **training: object) -> JobSpec:
    """A job on sentences whose labels are paths of different depth."""
    path = folder / "paths.csv"
    labels = ("bad", "bad > cold", "bad > sad", "good > warm > lovely")
    texts = ("a dull film", "a dull cold film", "a sad end", "a lovely warm film to love")
    rows = [f"{texts[n % 4]} {small.GOOD[n % 3][-4:]},{labels[n % 4]}" for n in range(48)]
    path.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    data = FileData(path=path, reading=Reading(format="csv"), mapping=STARS)
    update = {"task": HierarchicalClassification(), "data": data}
    return small.classifying(folder, **training).model_copy(update=update)


JOBS: dict[str, Callable[..., JobSpec]] = {
    "text_classification": small.classifying,
    "pair_classification": pairs,
    "multi_label": lambda folder, **training: small.learning("labels", folder, **training),
    "ordinal_classification": stars,
    "hierarchical_classification": paths,
    "regression": lambda folder, **training: small.learning("number", folder, **training),
    "token_classification": small.tagging,
    "span_classification": small.finding_spans,
    "question_answering": small.answering,
    "multiple_choice": lambda folder, **training: small.learning("choices", folder, **training),
    "sentence_similarity": lambda folder, **training: small.learning("alike", folder, **training),
    "pretraining": small.pretraining,
}
