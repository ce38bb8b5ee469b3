"""The checks of a device, in order, each compared with the CPU in fp32."""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.config.dataset import Mapping, Reading, Split
from engine.config.families import FAMILIES
from engine.config.tasks import FIRST_TASK, POOLING, PRETRAINING, TASKS, heads
from engine.config.tasks.token_classification import TokenClassification
from engine.config.training import HardwareSpec
from engine.data.datasets.importing import import_dataset
from engine.doctor import questions
from engine.doctor.bench import PROCESSOR, Bench, curves, max_curve_difference
from engine.doctor.material import SIZE, rows_for
from engine.doctor.report import CheckResult, Figure, StepError, bounded_figure, unbounded_figure
from engine.errors import is_out_of_memory
from engine.messages.events import Measured
from engine.messages.question import Question
from engine.models import checkpoint
from engine.models.fast.padded_blocks import AttentionShape
from engine.models.fast.unpadded import unpad
from engine.models.heads import Heads
from engine.models.network import Network
from engine.runs.folder import RunFolder
from engine.serving.serving import Serving
from engine.system.errors import explain_error
from engine.system.precision import Precision
from engine.tasks.learner import Batch
from engine.tasks.predicting import Predictor
from engine.tasks.sending import copy_together
from engine.tasks.similarity import save_array
from engine.training import loop
from engine.training.device.cuda_graphs import GRAPH_DEVICES
from engine.training.device.fastest import NESTED_DEVICES, measure_attention
from engine.training.device.machine import DTYPES, matmul_speeds, peak_memory
from engine.training.estimate import estimate
from engine.training.network import set_dropout
from engine.worker.context import WorkerContext

FORWARD = 1e-4  # for one forward pass in fp32: sums may be in another order
MAX_LOSS = 1e-3  # for losses after a few steps in fp32
# the same in each precision
MAX_LOSSES: dict[Precision, float] = {"fp32": MAX_LOSS, "bf16": 0.05, "fp16": 0.02}
MAX_PRODUCT: dict[Precision, float] = {
    "fp32": 1e-5,
    "bf16": 0.02,
    "fp16": 0.005,
}  # of a matrix product
TOO_MANY_BYTES = 2**50
COARSE_LIMITS = {"PlaceTexts": 0.01, "CompareModels": 0.01}  # their vectors are stored in float16

Step = tuple[str, Callable[[], Iterator[Figure]]]  # name, and generator of figures
Steps = Iterator[Step]

KINDS = tuple(TASKS)
OPTIONS: dict[str, dict[str, Any]] = {  # training settings with separate code paths
    "gradient checkpointing": {"gradient_checkpointing": True},
    "micro-batches": {"micro_batch_size": 3},
    "weight averaging": {"ema_decay": 0.9},
    "frozen layers": {"frozen_layers": 1},
    "cached frozen layers": {"frozen_layers": 1, "cache_frozen_layers": True},
    "layer-wise learning-rate decay": {"layer_lr_decay": 0.8},
}
MODEL_OPTIONS: dict[str, dict[str, Any]] = {
    "LoRA": {"lora_rank": 2},
    "linear probe": {"features": {"vectors": "last", "probe": "linear"}},
    "BiLSTM probe": {"features": {"vectors": "learned mix", "probe": "bilstm", "probe_size": 8}},
}


def numbers(bench: Bench) -> Steps:
    """Dtypes, copies, products and dropout."""
    yield "Numbers", partial(_numbers, bench)


def _numbers(bench: Bench) -> Iterator[Figure]:
    device, name = bench.machine.device, bench.machine.precision_name
    torch.manual_seed(1)
    kinds = (torch.float32, torch.int64, torch.int32, torch.bool, DTYPES[name])
    tensors = [torch.randn(5, 7).mul(100).to(kind) for kind in kinds]
    copies = [tensor.cpu() for tensor in copy_together(tensors, device)]
    wrong = sum(not torch.equal(*pair) for pair in zip(tensors, copies, strict=True))
    yield bounded_figure("dtypes changed by copies", wrong)
    a, other = torch.randn(300, 200), torch.randn(200, 100)
    exact = a.double() @ other.double()
    on_device = a.to(device), other.to(device)
    for precision in dict.fromkeys(("fp32", name)):
        product = on_device[0].to(DTYPES[precision]) @ on_device[1].to(DTYPES[precision])
        error = (product.cpu().double() - exact).abs().max() / exact.abs().max()
        yield bounded_figure(
            f"product in {precision}, relative error", float(error), MAX_PRODUCT[precision]
        )
    rows = torch.tensor([7, 3, 3, 0])
    gathered = on_device[0].index_select(0, rows.to(device)).cpu()
    yield bounded_figure("rows gathered by index", float((gathered - a[rows]).abs().max()))
    added = torch.zeros(10, 200, device=device).index_add_(0, rows.to(device), on_device[0][:4])
    expected = torch.zeros(10, 200).index_add_(0, rows, a[:4])
    yield bounded_figure(
        "rows added by index", float((added.cpu() - expected).abs().max()), FORWARD
    )
    dropped = (F.dropout(torch.ones(100_000, device=device), 0.1) == 0).float().mean()
    yield bounded_figure(
        "fraction dropped by dropout of 0.1, off by", abs(float(dropped) - 0.1), 0.01
    )
    measured = matmul_speeds(device, bench.machine.threads)
    for precision in ("fp32", "bf16", "fp16"):
        if rate := getattr(measured, precision):
            yield unbounded_figure(f"products in {precision}", rate / 1e12, "TFLOP/s")


def tasks(bench: Bench) -> Steps:
    """A few steps and an evaluation of every task, in fp32 and in the precision of `auto`."""
    for kind in KINDS:
        yield TASKS[kind].info.title, partial(_task, bench, kind)


def _task(bench: Bench, kind: str) -> Iterator[Figure]:
    ours = curves(bench.run(kind))
    for precision in dict.fromkeys(("fp32", bench.machine.precision_name)):
        for graphs, hardware in _by_graphs(bench, precision):
            theirs = curves(bench.run(kind, hardware))
            name = f"{TASKS[kind].info.title}, losses in {precision}{graphs}"
            yield bounded_figure(
                name, max_curve_difference(ours, theirs, _is_loss), MAX_LOSSES[precision]
            )


def options(bench: Bench) -> Steps:
    """Code paths that are selected by a training setting."""
    for name in OPTIONS | MODEL_OPTIONS:
        yield name, partial(_option, bench, name)


def _option(bench: Bench, name: str) -> Iterator[Figure]:
    kind = FIRST_TASK
    base = bench.checkpoint(kind) if name in MODEL_OPTIONS else None
    settings = (OPTIONS | MODEL_OPTIONS)[name]
    ours, theirs = (
        curves(bench.run(kind, hardware, base, **settings))
        for hardware in (PROCESSOR, bench.hardware())
    )
    yield bounded_figure(f"{name}, losses", max_curve_difference(ours, theirs, _is_loss), MAX_LOSS)


def families(bench: Bench) -> Steps:
    """Forward and backward through a network of every family, without padding."""
    for name in FAMILIES:
        yield name, partial(_family, bench, name)
    if bench.machine.device.type in NESTED_DEVICES:
        yield "Attention over sequences of any length", partial(_any_length, bench)


def _family(bench: Bench, name: str) -> Iterator[Figure]:
    torch.manual_seed(1)
    tokens, lengths = torch.randint(5, SIZE["vocab_size"], (4, 20)), torch.tensor([20, 13, 7, 3])
    targets, mask = torch.tensor([0, 1, 1, 0]), torch.arange(20) < lengths[:, None]
    batch = Batch(tokens, torch.zeros_like(tokens), mask, targets, None)
    network = Network(FAMILIES[name].spec(**SIZE), Heads(outputs=2)).train()
    set_dropout(network, 0.0)
    results = list[tuple[float, float]]()
    for device in (torch.device("cpu"), bench.machine.device):
        copy = deepcopy(network).to(device)
        inputs = batch.plan(copy).to(device)
        loss = F.cross_entropy(copy.logits(*inputs.inputs), inputs.targets)
        loss.backward()
        gradients = [p.grad for p in copy.parameters() if p.grad is not None]
        results.append((float(loss.detach()), float(torch.nn.utils.get_total_norm(gradients))))
    (ours, norm), (theirs, their_norm) = results
    yield bounded_figure(f"{name}, loss", abs(ours - theirs), FORWARD)
    yield bounded_figure(f"{name}, norm of the gradient", abs(norm - their_norm) / norm, FORWARD)


def _any_length(bench: Bench) -> Iterator[Figure]:
    """Compare unpadded attention with the CPU's, and time both methods."""
    pairs = zip(
        _run_attention(torch.device("cpu")), _run_attention(bench.machine.device), strict=True
    )
    for name, (ours, theirs) in zip(("vectors", "gradient"), pairs, strict=True):
        difference = float((ours - theirs).abs().max())
        yield bounded_figure(f"attention over sequences of any length, {name}", difference, FORWARD)
    encoder = Network(FAMILIES["bert"].spec(**SIZE), Heads(outputs=2)).encoder
    for method, seconds in measure_attention(encoder, bench.machine).seconds.items():
        yield unbounded_figure(f"attention, {method}", 1000 * seconds, "ms")


def _run_attention(device: torch.device) -> tuple[Tensor, Tensor]:
    """Attention output over four sequences, and a gradient."""
    torch.manual_seed(1)
    x = torch.randn(43, SIZE["hidden_size"]).to(device).requires_grad_()
    shape = AttentionShape(SIZE["heads"], nested=device.type in NESTED_DEVICES)
    plan = unpad(np.array([20, 13, 7, 3]), 20, shape).map_tensors(lambda tensor: tensor.to(device))
    gathered = plan.layout.gather(x, x, x, SIZE["heads"], 0.0)
    gathered.square().sum().backward()
    assert x.grad is not None
    return gathered.detach().cpu(), x.grad.cpu()


def prediction(bench: Bench) -> Steps:
    """Predictions of fine-tuned models."""
    for kind, _ in heads():
        if kind in KINDS:
            yield TASKS[kind].info.title, partial(_predict, bench, kind)


def _predict(bench: Bench, kind: str) -> Iterator[Figure]:
    rows = rows_for(kind)
    model = bench.checkpoint(kind)
    on_device = checkpoint.load(model)
    on_device.network.to(bench.machine.device)
    ours, theirs = (Predictor(serving).predict(rows) for serving in (model, Serving(on_device)))
    yield bounded_figure(TASKS[kind].info.title, questions.max_difference(ours, theirs), FORWARD)


def explore(bench: Bench) -> Steps:
    """Every question of Explore, each kind with all variants."""
    models = _models(bench)
    folders = [bench.folder / name for name in ("cpu", "device")]
    for folder in folders:
        folder.mkdir()
    contexts = [
        WorkerContext(folder, lambda _: None, name)
        for folder, name in zip(folders, ("cpu", bench.device), strict=True)
    ]
    pairs = zip(*(questions.questions(models, folder) for folder in folders), strict=True)
    for kind, group in groupby(pairs, lambda pair: type(pair[0]).__name__):
        yield kind, partial(_answer, kind, list(group), contexts)


def _models(bench: Bench) -> questions.Models:
    data, mapping = bench.folder / "stored", Mapping(text="text", label="label")
    rows = bench.folder / "rows.csv"
    import_dataset("rows", {"all": rows}, Reading(format="csv"), mapping, Split(), data)
    means = bench.folder / "means.npy"
    save_array(means, np.full((SIZE["layers"], SIZE["hidden_size"]), 0.1, np.float32))
    return questions.Models(
        pretrained=bench.checkpoint(PRETRAINING),
        classifier=bench.checkpoint(FIRST_TASK),
        tagger=bench.checkpoint(TokenClassification.task_name()),
        sentences=bench.checkpoint(POOLING),
        data=data,
        means=means,
    )


def _answer(
    kind: str, pairs: list[tuple[Question, ...]], contexts: Sequence[WorkerContext]
) -> Iterator[Figure]:
    largest = 0.0
    for pair in pairs:
        ours, theirs = (questions.answer_fields(*args) for args in zip(pair, contexts, strict=True))
        largest = max(largest, questions.max_difference(ours, theirs))
    yield bounded_figure(kind, largest, COARSE_LIMITS.get(kind, FORWARD))


def resuming(bench: Bench) -> Steps:
    """A run that is stopped and resumed, compared with an uninterrupted one."""
    yield "Stop and resume", partial(_resume, bench)


def _resume(bench: Bench) -> Iterator[Figure]:
    for name, hardware in _by_graphs(bench):
        kind = FIRST_TASK
        full = curves(bench.run(kind, hardware))
        stopped = bench.new_run(kind, hardware)
        outcome, step = loop.train(
            stopped.job(), stopped, stopped.append, partial(_has_reached, stopped, 2)
        )
        yield bounded_figure(
            f"steps before the stop{name}, off by", abs(step - 2) if outcome == "stopped" else 99
        )
        loop.train(stopped.job(), stopped, stopped.append)
        resumed = curves(stopped)
        yield bounded_figure(
            f"losses after a resume{name}", max_curve_difference(full, resumed, _is_loss), MAX_LOSS
        )
        yield unbounded_figure(f"the same bit for bit{name} (1: yes)", float(full == resumed), "")


def _by_graphs(bench: Bench, precision: Precision = "fp32") -> Iterator[tuple[str, HardwareSpec]]:
    """The device without, then with CUDA graphs if it has them; each with a suffix for names."""
    plain = bench.hardware(precision)
    yield "", plain
    if bench.machine.device.type in GRAPH_DEVICES:
        yield " by CUDA graphs", plain.model_copy(update={"cuda_graphs": "on"})


def memory(bench: Bench) -> Steps:
    """Used and predicted memory, and the behaviour when there is too little."""
    yield "Too little memory", partial(_out_of_memory, bench)
    yield "Memory", partial(_memory, bench)


def _out_of_memory(bench: Bench) -> Iterator[Figure]:
    is_recognised = False
    try:
        torch.empty(TOO_MANY_BYTES, dtype=torch.uint8, device=bench.machine.device)
    except (RuntimeError, MemoryError) as error:
        is_recognised = is_out_of_memory(error)
    yield bounded_figure("out-of-memory errors that are not recognised", float(not is_recognised))


def _memory(bench: Bench) -> Iterator[Figure]:
    estimated = estimate(bench.new_run(FIRST_TASK, bench.hardware()).job(), lambda _: None)
    yield unbounded_figure("predicted for a tiny run", estimated.memory / 1e6, "MB")
    yield unbounded_figure("peak of all checks", peak_memory().network_memory / 1e6, "MB")
    yield unbounded_figure("free", bench.machine.free_memory() / 1e9, "GB")


CHECKS: dict[str, Callable[[Bench], Steps]] = {
    "Numbers": numbers,
    "Training and evaluation of every task": tasks,
    "Training options": options,
    "Model families": families,
    "Prediction": prediction,
    "Explore": explore,
    "Stop and resume": resuming,
    "Memory": memory,
}


def run_check(name: str, bench: Bench) -> CheckResult:
    """Run all steps of a check; an error in one step does not end the others."""
    start, figures, faults = time.monotonic(), list[Figure](), list[StepError]()
    steps = iter(CHECKS[name](bench))
    for step, work in _prepare(steps, name, faults):
        try:
            figures += work()
        except Exception as error:  # noqa: BLE001 (errors of the device are what is tested)
            faults.append(_fault(step, error))
    seconds = time.monotonic() - start
    return CheckResult(name=name, figures=tuple(figures), seconds=seconds, faults=tuple(faults))


def _prepare(steps: Iterator[Step], name: str, faults: list[StepError]) -> Steps:
    """The steps, as far as they can be prepared."""
    try:
        yield from steps
    except Exception as error:  # noqa: BLE001 (as above)
        faults.append(_fault(name, error))


def _fault(name: str, error: Exception) -> StepError:
    if (studio_error := explain_error(error)) is not None:
        return StepError(name=name, problem=str(studio_error))
    problem = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    lines = "".join(traceback.format_exception(error)).replace(str(Path.home()), "~")
    return StepError(name=name, problem=problem, details=lines)


def _is_loss(curve: str) -> bool:
    return "loss" in curve


def _has_reached(run: RunFolder, step: int) -> bool:
    events, _ = run.events_after(0)
    return any(isinstance(e, Measured) and (e.name, e.step) == ("loss", step) for e in events)
