"""The losses and weights of small runs are those that were recorded before the code was rearranged.

On the processor where they were recorded they are equal to the last bit, fp32 on one thread; other
processors take the same sums in another order. `same_losses.json` has what was recorded.

Where numbers are meant to change, they are recorded again by
`python -m tests.engine.training.test_same_losses`.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from engine import cores
from engine.config.dataset import FileData, Mapping, Reading
from engine.config.features import Features
from engine.config.job import FromCheckpoint, FromScratch, JobSpec
from engine.config.tasks.pair_classification import PairClassification
from engine.config.tasks.pretraining import Pretraining
from engine.data.datasets import importing
from engine.data.datasets.splitting import draw_splits
from engine.messages.events import Event, Measured
from engine.models.weight_files import SAFE
from engine.runs.folder import RunFolder
from engine.runs.groups import expand
from engine.training.loop import train
from tests.engine.training import small

RECORDED = Path(__file__).with_suffix(".json").with_stem("same_losses")
SETTINGS = {"steps": 14, "evaluate_every": 7, "save_every": 14, "dropout": 0.1}
ELSEWHERE = 1e-4  # relative


def pair_classification(folder: Path, **training: object) -> JobSpec:
    data = FileData(
        path=small.labelled(folder / "labelled.csv"),
        reading=Reading(format="csv"),
        mapping=Mapping(text="text", pair="ending0", label="sad"),
    )
    update = {"data": data, "task": PairClassification()}
    return small.classifying(folder, **training).model_copy(update=update)


def learning(task: str) -> Callable[..., JobSpec]:
    return lambda folder, **training: small.learning(task, folder, **training)


def pretraining(task: Pretraining, **base_model: object) -> Callable[..., JobSpec]:
    update: dict[str, object] = {"task": task}
    if base_model:
        update["base_model"] = FromScratch.model_validate(base_model)

    def make(folder: Path, **training: object) -> JobSpec:
        return small.pretraining(folder, **training).model_copy(update=update)

    return make


def from_checkpoint(**features: object) -> Callable[..., JobSpec]:
    def make(folder: Path, **training: object) -> JobSpec:
        first = exact(small.classifying(folder, steps=2, dropout=0.0, epsilon=1e-6))
        run = small.new_run(folder / "base", first)
        train(first, run, run.append)
        job = small.classifying(folder)
        settings = job.training.model_copy(update=training)
        base_model = FromCheckpoint(path=run.checkpoint(2))
        job = job.model_copy(update={"base_model": base_model, "training": settings})
        if not features:
            return job
        return expand(job.model_copy(update={"features": Features.model_validate(features)}))[0]

    return make


CAUSAL = small.NETWORK.model_copy(update={"causal": True})
PROBE = {"vectors": "sum of last four", "probe_size": 8, "learning_rate": 1e-2, "epochs": 2}
RUNS: dict[str, tuple[Callable[..., JobSpec], dict[str, object]]] = {
    "text_classification": (small.classifying, {}),
    "pair_classification": (pair_classification, {}),
    "class weights and label smoothing": (learning("weighted classes"), {}),
    "multi_label": (learning("labels"), {}),
    "regression": (learning("number"), {}),
    "token_classification": (small.tagging, {}),
    "multiple_choice": (learning("choices"), {}),
    "question_answering": (small.answering, {}),
    "masked words": (small.pretraining, {}),
    "next sentence and whole words": (
        pretraining(Pretraining(nsp=True, whole_word_masking=True)),
        {},
    ),
    "next token": (pretraining(Pretraining(objective="clm"), model=CAUSAL), {}),
    "long inputs": (
        pretraining(Pretraining(long_length=48, long_share=0.3, masking="static")),
        {},
    ),
    "warm initialisation": (pretraining(Pretraining(), model=small.NETWORK, warm_init=True), {}),
    "LoRA": (from_checkpoint(), {"lora_rank": 2, "lora_dropout": 0.1}),
    "frozen features": (from_checkpoint(**PROBE), {}),
    "micro-batches": (small.classifying, {"micro_batch_size": 3}),
    "gradient checkpointing": (small.classifying, {"gradient_checkpointing": True}),
    "weight averaging": (small.classifying, {"ema_decay": 0.9}),
    "layer-wise decay and frozen layers": (
        from_checkpoint(),
        {"layer_lr_decay": 0.8, "frozen_layers": 1},
    ),
    "no clipping, fraction of the data": (
        small.classifying,
        {"max_grad_norm": 0.0, "train_fraction": 0.5, "warmup_ratio": 0.3, "epsilon": 1e-6},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_has_the_losses_that_were_recorded(name: str, tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    wanted, found = recorded["runs"][name], trained(name, tmp_path)
    if {key: recorded[key] for key in machine()} == machine():
        assert found == wanted
    for curve in ("losses", "evaluations"):
        there = [float.fromhex(value) for value in wanted[curve]]
        here = [float.fromhex(value) for value in found[curve]]
        assert here == pytest.approx(there, rel=ELSEWHERE), curve


def test_every_recorded_run_is_tried() -> None:
    assert set(json.loads(RECORDED.read_text(encoding="utf-8"))["runs"]) == set(RUNS)


def machine() -> dict[str, str]:
    """What the last bit of a sum depends on."""
    about = Path("/proc/cpuinfo")  # several processors go by the same name
    lines = about.read_text(encoding="utf-8").splitlines() if about.is_file() else []
    details = dict(line.replace("\t", "").split(": ", 1) for line in lines if ": " in line)
    kinds = ("cpu family", "model", "stepping", "cache size")
    return {
        "processor": cores.cpu_name(),
        "kind": ", ".join(f"{kind} {details[kind]}" for kind in kinds if kind in details),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
    }


def exact(job: JobSpec) -> JobSpec:
    update = {"precision": "fp32", "threads": 1, "device": "cpu"}
    return job.model_copy(update={"hardware": job.hardware.model_copy(update=update)})


def trained(name: str, folder: Path) -> dict[str, Any]:
    """All losses of a run, as hexadecimal floats, and the SHA-256 of its last weights."""
    make, settings = RUNS[name]
    measured = list[Measured]()

    def emit(event: Event) -> None:
        run.append(event)
        if isinstance(event, Measured):
            measured.append(event)

    with data_of_then():
        job = exact(make(folder, **SETTINGS | settings))
        run = small.new_run(folder / "run", job)
        assert train(job, run, emit) == ("finished", SETTINGS["steps"])
    return {
        "losses": [float(e.value or 0).hex() for e in measured if e.name == "loss"],
        "evaluations": [float(e.value or 0).hex() for e in measured if e.name == "validation_loss"],
        "weights": sum_of_weights(run),
    }


@contextmanager
def data_of_then() -> Iterator[None]:
    """Splits as they were drawn before equal texts were kept together, and the texts of then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing, "draw_splits", splits_of_then)
        patch.setattr(small, "labelled", partial(small.labelled, distinct=False))
        yield


def splits_of_then(
    rows: int, validation: float, test: float, seed: int, labels: Any, groups: Any
) -> tuple[Any, int]:
    """Rows were drawn one by one; of questions, which have no labels, the passages were."""
    if labels is not None or groups is None:  # no two rows are of one passage
        return draw_splits(rows, validation, test, seed, labels)
    _, first, places = np.unique(groups, return_index=True, return_inverse=True)
    passages = np.argsort(np.argsort(first))[places]  # numbered as they come
    drawn, rare = draw_splits(len(first), validation, test, seed)
    return drawn[passages], rare


def sum_of_weights(run: RunFolder) -> str:
    weights = safetensors.torch.load_file(run.checkpoint_folders()[-1] / SAFE)
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(f"{name}{tuple(tensor.shape)}".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def record() -> None:
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["BERT_STUDIO_HOME"] = scratch
        for name in RUNS:
            folder = Path(tempfile.mkdtemp(dir=scratch))
            found[name] = trained(name, folder)
            print(name, file=sys.stderr)
    text = json.dumps({**machine(), "runs": found}, indent=1)
    RECORDED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
