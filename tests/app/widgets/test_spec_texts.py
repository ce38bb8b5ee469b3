"""Every choice of every setting has its own name in the window."""

from collections.abc import Iterator
from typing import Literal, get_args, get_origin

from pydantic import BaseModel

from app.widgets.text.spec_texts import value_text
from engine.config.dataset import Cleaning, Mapping, Split
from engine.config.families import FAMILIES
from engine.config.features import Features
from engine.config.fields import get_settings
from engine.config.prediction import PredictionSettings
from engine.config.search import SearchField, SearchSpec
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec

AS_WRITTEN = {"fp32", "bf16", "fp16", "int8", "tanh"}  # technical terms


def literal_choices(spec: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Each literal choice of each setting, with its field."""
    for name, info in get_settings(spec).items():
        for kind in (info.annotation, *get_args(info.annotation)):
            if get_origin(kind) is Literal:
                yield from ((f"{spec.__name__}.{name}", str(value)) for value in get_args(kind))


SPECS = (
    *(TrainingSpec, HardwareSpec, Features, SearchSpec, SearchField, PredictionSettings),
    *(Mapping, Split, Cleaning),
    *TASKS.values(),
    *{family.spec: family for family in FAMILIES.values()},
)


def test_every_choice_has_its_own_name():
    fields = set()
    for spec in SPECS:
        by_field: dict[str, list[str]] = {}
        for field, value in dict.fromkeys(literal_choices(spec)):
            text = value_text(value)
            assert text != value or value in AS_WRITTEN, (field, value)
            by_field.setdefault(field, []).append(text)
        assert all(len(set(texts)) == len(texts) for texts in by_field.values())
        fields |= by_field.keys()
    assert {"SentenceSimilarity.objective", "HardwareSpec.precision"} <= fields
