"""How many parameters a network has, and how many of them are trained."""

from torch import nn

from engine.models.lora import merged


def count_parameters(network: nn.Module) -> int:
    """Those of a checkpoint, in which LoRA adapters are merged into the weights."""
    return sum(tensor.numel() for tensor in merged(network).values())


def count_trained(network: nn.Module) -> int:
    """Those that are trained, LoRA adapters among them."""
    return sum(p.numel() for p in network.parameters() if p.requires_grad)
