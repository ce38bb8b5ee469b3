"""AdamW, learning-rate schedule, layer-wise rates and weight averaging.

Settings follow Devlin et al. 2019, appendix A.2 and A.3; layer-wise learning rates follow Howard
and Ruder 2018, §3.2.
"""

import inspect
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from engine.config.model import EncoderSpec
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.models.network import Network
from engine.training.device.sharding import full_tensor, shard_like
from engine.training.row_moments import STEP, RowMoments, dense_moments


class AdamW(torch.optim.AdamW):
    """torch's AdamW without the decorators that import torch's compiler (1.4 s)."""

    grad_scale: Tensor | None = None  # [], divisor of the gradients, read by the fused step

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = inspect.unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Optimizer.load_state_dict)
    _step_dense = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))

    row_moments: dict[Tensor, RowMoments]  # of tables with sparse gradients

    def step(self) -> None:  # type: ignore[override]
        """Update the weights."""
        for group in self.param_groups:
            for table in self.row_moments.keys() & set(group["params"]):
                if table.grad is not None:
                    self.row_moments[table].update(table.grad, group, self.grad_scale)
                    table.grad = None
        self._step_dense()


def adamw(network: Network, training: TrainingSpec) -> AdamW:
    """Optimiser of the trained parameters; no weight decay for biases and layer norms."""
    layers = network.spec.layers
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            scale = training.layer_lr_decay ** (layers + 1 - layer_index(name, network.spec))
            decay = training.weight_decay if parameter.dim() > 1 else 0.0
            groups.setdefault((scale, decay), []).append(parameter)
    optimiser = AdamW(
        [
            {"params": parameters, "weight_decay": decay, "lr_scale": scale}
            for (scale, decay), parameters in groups.items()
        ],
        lr=training.learning_rate,
        betas=(training.beta1, training.beta2),
        eps=training.epsilon,
        fused=True,
    )
    token = network.encoder.embeddings.token
    is_sparse = token.has_sparse_gradient and token.weight.device.type == "cpu"
    tables = [token.weight] if is_sparse and token.weight.requires_grad else []
    optimiser.row_moments = {table: RowMoments(table) for table in tables}
    return optimiser


def gradients(parameters: Iterable[Tensor]) -> list[Tensor]:
    """Gradients of the parameters that have one; the values of sparse ones."""
    found = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return [gradient.values() if gradient.is_sparse else gradient for gradient in found]


def layer_index(name: str, spec: EncoderSpec) -> int:
    """Layer index of a parameter: 0 embeddings, 1 to L layers, L + 1 heads.

    Shared layers count as the highest that uses them; relative positions as embeddings.
    """
    if name.startswith(("encoder.embeddings.", "encoder.relative.")):
        return 0
    if name.startswith("encoder.norm."):
        return spec.layers
    if name.startswith("encoder.layers."):
        return spec.layer_indices(int(name.split(".")[2]))[-1]
    return spec.layers + 1


def freeze(network: Network, count: int) -> None:
    """Freeze the embeddings and the `count` lowest layers; 0 freezes nothing.

    Raises StudioError if a frozen layer shares weights with a trained one.
    """
    spec, layers = network.spec, network.spec.layers
    shared = [spec.layer_indices(index) for index in range(spec.stored_layers)]
    for indices in shared:
        if indices[0] <= count < indices[-1]:
            raise StudioError(
                "Layers {first} to {last} of this model share their weights, so the lowest "
                "{frozen} cannot be frozen separately.",
                "Freeze {fewer} or {more} layers.",
                first=indices[0],
                last=indices[-1],
                frozen=count,
                fewer=indices[0] - 1,
                more=indices[-1],
            )
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(not count or layer_index(name, network.spec) > min(count, layers))


def learning_rate_at(step: int, steps: int, training: TrainingSpec) -> float:
    """Learning rate of a step, counted from 0: linear warm-up, then the schedule of the job."""
    peak = training.learning_rate
    warmup_steps = math.ceil(training.warmup_ratio * steps)  # as in transformers' Trainer
    if step < warmup_steps:
        return peak * step / warmup_steps
    decay_steps = max(1, steps - warmup_steps)
    match training.lr_schedule:
        case "linear":
            return peak * (steps - step) / decay_steps
        case "cosine":
            progress = (step - warmup_steps) / decay_steps
            return peak * (0.5 * (1 + math.cos(math.pi * progress)))
        case "constant":
            return peak


def set_learning_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate * group["lr_scale"]


def optimiser_tensors(optimiser: AdamW, network: nn.Module, keep: bool = True) -> dict[str, Tensor]:
    """Optimiser state as named tensors, to be saved.

    Collective if the network is sharded; ranks without `keep` get an empty dict.
    """
    tensors = {}
    for name, parameter in network.named_parameters():
        if parameter in optimiser.row_moments:
            state = optimiser.row_moments[parameter].tensors()
        else:
            state = optimiser.state.get(parameter, {})
        for key, value in state.items():
            tensor = full_tensor(value.detach())
            if keep:
                tensors[f"{name}|{key}"] = tensor.cpu().contiguous()
    return tensors


def load_state(optimiser: AdamW, network: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Load the state saved by `optimiser_tensors`.

    Raises StudioError for the state of another network.
    """
    unexpected = {name.rpartition("|")[0] for name in tensors} - dict(
        network.named_parameters()
    ).keys()
    if unexpected:
        raise StudioError(
            "The optimiser state does not match the model (unexpected {name}).",
            "The checkpoint was written by another version: start a new run from it.",
            name=min(unexpected),
        )
    for name, parameter in network.named_parameters():
        saved = {
            key.removeprefix(f"{name}|"): value
            for key, value in tensors.items()
            if key.startswith(f"{name}|")
        }
        if parameter in optimiser.row_moments:
            optimiser.row_moments[parameter].load(saved)
            continue
        state = optimiser.state[parameter]
        for key, value in dense_moments(saved, parameter).items():
            if key == STEP:  # a scalar, read by the fused kernel on the device
                state[key] = value.to(parameter.device, copy=True)
            else:
                state[key] = shard_like(value, parameter)


class WeightAverage:
    """Exponential moving average of trained weights (Polyak and Juditsky 1992; Tan and Le 2019,
    §5).

    A decay of 0 disables it: the weights are their own average.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._decay = decay
        trained = {n: p for n, p in network.named_parameters() if p.requires_grad and decay}
        self._parameters = trained
        self.means: dict[str, Tensor] = {n: p.detach().clone() for n, p in trained.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """mean ← decay * mean + (1 - decay) * weight.

        The decay is at most (1 + step) / (10 + step), so that early steps count less.
        """
        decay = min(self._decay, (1 + step) / (10 + step))
        for name, parameter in self._parameters.items():
            self.means[name].lerp_(parameter, 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Use the averaged weights within the block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, parameter in self._parameters.items():
            parameter.data, self.means[name] = self.means[name], parameter.data
