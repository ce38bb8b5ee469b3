"""Every user setting has its title, help text and level in its spec."""

from pydantic import BaseModel

from engine.config.dataset import Mapping, Reading, Split
from engine.config.families import FAMILIES
from engine.config.families.bert import BertSpec
from engine.config.features import Features
from engine.config.fields import (
    LEVELS,
    branch_fields,
    fields_at,
    get_level,
    get_settings,
    may_branch,
)
from engine.config.job import FromScratch
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec

SPECS: tuple[type[BaseModel], ...] = (
    TrainingSpec,
    HardwareSpec,
    Features,
    FromScratch,
    *(family.spec for family in FAMILIES.values()),
    Reading,
    Mapping,
    Split,
    *TASKS.values(),
)
INTERNAL = {"kind", "model", "window_length"}  # not settings


def test_each_setting_has_a_title_a_help_text_and_a_level():
    for spec in SPECS:
        for name, info in spec.model_fields.items():
            if name in INTERNAL:
                assert name not in get_settings(spec)
                continue
            assert info.title and not info.title.endswith(".")
            assert info.description and info.description.endswith((".", "…"))
            assert get_level(info) in LEVELS


def test_each_setting_has_one_level():
    for spec in SPECS:
        by_level = [fields_at(spec, level) for level in LEVELS]
        assert sorted(name for names in by_level for name in names) == sorted(get_settings(spec))
        assert fields_at(spec, *LEVELS) == tuple(get_settings(spec))


def test_a_branch_may_change_fields_that_fit_any_checkpoint():
    fixed = set(get_settings(TrainingSpec)) - set(branch_fields(TrainingSpec))
    assert fixed == {
        *("lora_rank", "lora_alpha", "lora_dropout", "lora_layers"),
        *("ema_decay", "seeds", "best_metric"),
    }
    assert branch_fields(HardwareSpec) == tuple(get_settings(HardwareSpec))
    assert not any(map(may_branch, BertSpec.model_fields.values()))
