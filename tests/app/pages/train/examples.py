"""Short names of goals, and choices for each: data, a model, an estimate."""

from pathlib import Path

from app.pages.train.choices import Choices, Data, Goal, Model
from engine.config.dataset import DatasetSpec, Mapping, Reading, Split, StoredData
from engine.config.tasks import HIERARCHICAL, ORDINAL
from engine.messages.estimating import Estimated
from engine.messages.reports import CheckpointInfo

SENTENCE = Goal("text_classification")
PAIR = Goal("pair_classification")
SIMILAR = Goal("sentence_similarity")
LABELS = Goal("multi_label")
NUMBER = Goal("regression")
ORDERED, LEVELS = Goal(ORDINAL), Goal(HIERARCHICAL)
TAGS = Goal("token_classification")
SPANS = Goal("span_classification")
QUESTIONS = Goal("question_answering")
CHOICES = Goal("multiple_choice")
CONTINUE = Goal("pretraining")
SCRATCH = Goal("pretraining", from_scratch=True)

GB = 1_000_000_000

INFO = CheckpointInfo(
    layers=2,
    hidden_size=128,
    heads=2,
    intermediate_size=512,
    max_positions=256,
    max_length=256,
    vocab_size=1000,
    parameters=500_000,
    task_heads=("mlm",),
)
MODEL = Model("little", Path("/models/little"), INFO)


MAPPINGS = {  # unless rows have a text and a label
    PAIR: Mapping(text="text", pair="other", label="label"),
    SIMILAR: Mapping(text="text", pair="other"),
    TAGS: Mapping(text="text", tags="other"),
    SPANS: Mapping(text="text", tags="other"),
    CHOICES: Mapping(text="text", endings=("other", "another"), label="label"),
    QUESTIONS: Mapping(text="text", pair="other", answers="label"),
}
COUNTS = {  # unless the labels are classes
    LEVELS: {"good > warm": 400, "good > bold": 300, "bad": 300},
    LABELS: {"good|long": 500, "good": 300, "long": 200},
    NUMBER: {f"{n / 10}": 20 for n in range(50)},
    CHOICES: {"0": 500, "1": 500},
}


def dataset(kind: Goal = SENTENCE) -> DatasetSpec:
    return DatasetSpec(
        name="films",
        version=1,
        sources={"all": (Path("films.csv"),)},
        reading=Reading(),
        mapping=MAPPINGS.get(kind, Mapping(text="text", label="label")),
        split=Split(),
        columns=("text", "other", "another", "label"),
        rows={"train": 900, "validation": 100},
        labels=COUNTS.get(kind, {"bad": 500, "good": 500}),
        fingerprint="f" * 64,
    )


def data(kind: Goal = SENTENCE) -> Data:
    source = StoredData(folder=Path("/home/datasets/films/1"), fingerprint="f" * 64)
    return Data("films", source, dataset(kind))


def choose(kind: Goal) -> Choices:
    return Choices(goal=kind, data=data(kind), model=MODEL)


def with_training(choices: Choices, **values: object) -> Choices:
    """The choices with training settings changed by the user."""
    return choices.with_training(choices.training.model_copy(update=values))


def estimate(memory: int = GB, seconds: float = 60) -> Estimated:
    return Estimated(
        steps=100,
        seconds_per_step=0.6,
        seconds=seconds,
        memory=memory,
        available=8 * GB,
        parameters=10_000_000,
        device="cpu",
    )
