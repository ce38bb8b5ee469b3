"""Rules of a job report all their problems together, with the fields."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from engine.config.families.bert import PRESETS
from engine.config.job import RULES, JobSpec
from engine.config.validation import list_problems
from engine.phrases import Phrase

CHECKPOINT = {"kind": "checkpoint", "path": Path("model")}
SCRATCH = {"kind": "scratch", "model": PRESETS["tiny"].model_dump()}
CAUSAL = {"kind": "scratch", "model": PRESETS["tiny"].model_dump() | {"causal": True}}
CLM = {"kind": "pretraining", "objective": "clm"}
WINDOWS = {"kind": "text_classification", "long_texts": "windows"}
SHARDED = {"sharded": True, "processes": 2}
CASES = {
    ("task.nsp", "task.objective"): {"task": CLM | {"nsp": True}},
    ("task.mask_token_share", "task.random_token_share"): {
        "task": {"kind": "pretraining", "mask_token_share": 0.9, "random_token_share": 0.2}
    },
    ("training.best_metric", "task"): {"training": {"best_metric": "pearson"}},
    ("base_model.model.causal", "task.objective"): {"task": CLM, "base_model": SCRATCH},
    ("base_model.warm_init", "task.objective"): {
        "task": CLM,
        "base_model": CAUSAL | {"warm_init": True},
    },
    ("features.vectors", "base_model", "task"): {
        "base_model": SCRATCH,
        "features": {"vectors": "last"},
    },
    ("training.lora_rank", "features.vectors"): {
        "features": {"vectors": "last"},
        "training": {"lora_rank": 8},
    },
    ("training.cache_frozen_layers", "training.frozen_layers"): {
        "training": {"cache_frozen_layers": True}
    },
    ("features.vectors", "task"): {
        "task": {"kind": "ordinal_classification"},
        "features": {"vectors": "contrastive"},
    },
    ("features.vectors", "training.lora_rank"): {
        "features": {"vectors": "contrastive"},
        "training": {"lora_rank": 8},
    },
    ("training.cache_frozen_layers", "task"): {
        "task": {"kind": "pretraining"},
        "training": {"cache_frozen_layers": True, "frozen_layers": 2},
    },
    ("training.cache_frozen_layers", "features.vectors"): {
        "features": {"vectors": "last"},
        "training": {"cache_frozen_layers": True, "frozen_layers": 2},
    },
    ("task.windows_per_text", "training.cache_frozen_layers"): {
        "task": WINDOWS | {"windows_per_text": 2},
        "training": {"cache_frozen_layers": True, "frozen_layers": 2},
    },
    ("task.windows_per_text", "features.vectors"): {
        "task": WINDOWS | {"windows_per_text": 2},
        "features": {"vectors": "last"},
    },
    ("task.windows_per_text", "task.aggregate"): {"task": WINDOWS | {"aggregate": "attention"}},
    ("task.aggregate",): {
        "task": {
            "kind": "sentence_similarity",
            "long_texts": "windows",
            "aggregate": "attention",
            "windows_per_text": 2,
        }
    },
    ("training.lora_rank", "base_model"): {"base_model": SCRATCH, "training": {"lora_rank": 8}},
    ("teacher", "task"): {"task": {"kind": "pretraining"}, "teacher": "models/teacher"},
    ("hardware.processes", "training.batch_size"): {
        "hardware": {"processes": 8},
        "training": {"batch_size": 4},
    },
    ("hardware.processes", "hardware.device"): {"hardware": {"processes": 2, "device": "mps"}},
    ("hardware.sharded", "hardware.processes"): {"hardware": {"sharded": True}},
    ("hardware.sharded", "training.ema_decay", "training.lora_rank", "features.vectors"): {
        "hardware": SHARDED,
        "training": {"ema_decay": 0.9},
    },
    ("search", "features.vectors"): {
        "features": {"vectors": "layer sweep"},
        "search": {"fields": [{"path": "training.epochs", "values": [1, 2]}]},
    },
}


VALID_JOB = {
    "name": "a run",
    "task": "text_classification",
    "base_model": CHECKPOINT,
    "data": {"kind": "file", "path": Path("reviews.csv")},
}


def problems(**fields: object):
    with pytest.raises(ValidationError) as caught:
        JobSpec.model_validate(VALID_JOB | fields)
    return list_problems(caught.value)


@pytest.mark.parametrize("paths", CASES, ids=" ".join)
def test_a_rule_names_its_fields(paths):
    (problem,) = problems(**CASES[paths])
    assert problem.fields == paths
    assert isinstance(problem.text, Phrase) and not problem.text.endswith(".")


def test_every_rule_is_broken_by_a_case():
    names = {rule.__name__ for rule in RULES}
    broken = set()
    for fields in CASES.values():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("engine.config.job.RULES", ())
            job = JobSpec.model_validate(VALID_JOB | fields)
        broken |= {rule.__name__ for rule in RULES if list(rule(job))}
    assert broken == names


def test_all_broken_rules_are_reported_together():
    errors = problems(hardware={"processes": 8, "device": "mps"}, training={"batch_size": 4})
    assert len(errors) == 2


def test_a_field_of_the_task_is_named_by_its_path():
    (problem,) = problems(task={"kind": "pretraining", "mlm_probability": 2})
    assert problem.fields == ("task.mlm_probability",)
