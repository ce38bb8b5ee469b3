"""AdamW with linear warm-up and decay (Devlin et al. 2019, appendix A.2 and A.3)."""

import torch
from torch import Tensor, nn

from engine.spec.training import TrainingSpec


def adamw(network: nn.Module, training: TrainingSpec) -> torch.optim.AdamW:
    """Weights decay; biases and layer norms do not."""
    decayed, kept = list[Tensor](), list[Tensor]()
    for parameter in network.parameters():
        (decayed if parameter.dim() > 1 else kept).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": training.weight_decay},
            {"params": kept, "weight_decay": 0.0},
        ],
        lr=training.learning_rate,
        betas=(training.beta1, training.beta2),
        eps=training.epsilon,
        fused=True,
    )


def rate_at(step: int, steps: int, training: TrainingSpec) -> float:
    """The learning rate of a step that counts from 0: up in a line, then down to zero."""
    warm = round(training.warmup * steps)
    if step < warm:
        return training.learning_rate * step / warm
    return training.learning_rate * (steps - step) / max(1, steps - warm)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate


def state_tensors(optimiser: torch.optim.Optimizer, network: nn.Module) -> dict[str, Tensor]:
    """The optimiser's memory under the names of the parameters, as tensors for a file."""
    tensors = {}
    for name, parameter in network.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            tensors[f"{name}|{key}"] = value.detach().cpu().contiguous()
    return tensors


def restore(
    optimiser: torch.optim.Optimizer, network: nn.Module, tensors: dict[str, Tensor]
) -> None:
    """Put back what `state_tensors` took."""
    for name, parameter in network.named_parameters():
        state = optimiser.state[parameter]
        for key in ("step", "exp_avg", "exp_avg_sq"):
            if (value := tensors.get(f"{name}|{key}")) is not None:
                state[key] = value.clone() if key == "step" else value.to(parameter.device).clone()
