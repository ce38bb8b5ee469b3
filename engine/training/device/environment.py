"""Environment of a run: everything that must match for bit-identical weights."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import torch
from torch import Tensor

from engine import cores
from engine.models.network import Network
from engine.training.data.training_data import TrainingData
from engine.training.device.machine import Machine

PRODUCTS = "products"  # entry of the environment


def environment(
    machine: Machine,
    data: TrainingData,
    attention: str,
    initial_weights: str,
    processes: str,
    graphs: str = "",
    products: str = "",
) -> dict[str, str]:
    """Return the entries of the environment by name.

    Args:
        attention: one of `ATTENTION_METHODS`, or empty.
        initial_weights: hash from `weights_sha256`.
        graphs: CUDA graphs, “on” or “off”; empty if the device has none.
        products: library of fp32 products, if it is not torch's usual one.
    """
    return {
        "cpu": cores.cpu_and_cores(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "device": device_name(machine.device),
        "threads": str(machine.threads),
        "processes": processes,
        "precision": machine.precision_name,
        **({"attention": attention} if attention else {}),
        **({"CUDA graphs": graphs} if graphs else {}),
        **({PRODUCTS: products} if products else {}),
        "torch": torch.__version__,
        "tokenizers": package_version("tokenizers"),
        "numpy": package_version("numpy"),
        "studio": package_version("bert-studio"),
        "data": data.dataset.spec.fingerprint,
        "vocabulary": data.tokenizer.fingerprint,
        "start": initial_weights,
    }


def differences(old: dict[str, str], new: dict[str, str]) -> tuple[str, ...]:
    """Describe what has changed; entries that `old` lacks are ignored."""
    return tuple(
        f"{name} {value} → {new.get(name, 'unknown')}"
        for name, value in old.items()
        if new.get(name) != value
    )


def reusable_threads(old: dict[str, str], processes: str) -> int:
    """Thread count for a bit-exact resume; 0 if impossible or if there are too few cores."""
    required = {"cpu": cores.cpu_and_cores(), "processes": processes}
    is_same_machine = all(old.get(name) == value for name, value in required.items())
    threads = int(old.get("threads", "0")) if is_same_machine else 0
    return threads if threads <= max(cores.thread_candidates()) else 0


def weights_sha256(network: Network) -> str:
    """SHA-256 over the hashes of all weights, each of its name, shape and bytes."""
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        sums = pool.map(_parameter_sha256, *zip(*network.named_parameters(), strict=True))
        return hashlib.sha256("".join(sums).encode("ascii")).hexdigest()


def _parameter_sha256(name: str, parameter: Tensor) -> str:
    digest = hashlib.sha256(f"{name}{tuple(parameter.shape)}".encode())
    weights = parameter.detach().cpu().contiguous().view(-1).view(torch.uint8)
    digest.update(weights.numpy().data)  # releases the GIL
    return digest.hexdigest()


def device_name(device: torch.device) -> str:
    """Name of a GPU with the CUDA version; the type of any other device."""
    if device.type != "cuda":
        return device.type
    return f"{torch.cuda.get_device_name(device)}, CUDA {torch.version.cuda}"


@cache
def package_version(package: str) -> str:
    """Version of an installed package, or “unknown”."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
