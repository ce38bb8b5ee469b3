"""Network of a run: new or loaded, and configured for training."""

from pathlib import Path

from torch import nn

from engine.checkpoints.fit import direction_error
from engine.config.job import FromCheckpoint, FromScratch, JobSpec
from engine.models import checkpoint
from engine.models.frozen_linear import cache_low_precision
from engine.models.heads import Heads
from engine.models.lora import add_adapters, merge_adapters
from engine.models.network import Network
from engine.tasks.learner import Learner
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.context import RunContext
from engine.training.device.machine import DTYPES, Machine
from engine.training.device.sharding import is_sharded
from engine.training.optimiser import freeze


def network_for(
    context: RunContext, learner: Learner, tokenizer: Tokenizer, resume_from: Path | None
) -> Network:
    """Network of a new run, or of a run that resumes from a checkpoint.

    New weights are drawn from torch's random state.
    """
    base_model = context.job.base_model
    if resume_from is None and isinstance(base_model, FromScratch):
        spec = base_model.model.model_copy(update={"vocab_size": tokenizer.size})
        return Network(checkpoint.match_segments(spec, tokenizer), learner.heads)
    folder = resume_from or (base_model.path if isinstance(base_model, FromCheckpoint) else None)
    assert folder is not None
    loaded = checkpoint.load(folder, heads_for(context.job, learner), learner.labels)
    if problem := direction_error(context.job.task, folder.name, loaded.spec.is_causal):
        raise problem
    if resume_from is None:
        report = loaded.report.sentence()
        context.note("Base model {name}: {report}", name=folder.name, report=report)
        for note in loaded.report.notes:
            context.note(note)
    return loaded.network


def heads_for(job: JobSpec, learner: Learner) -> Heads:
    """Heads of the network of a job; a probe replaces the task head."""
    heads = learner.heads
    if not job.features.trains_probe:
        return heads
    return Heads(outputs=heads.outputs, kind=heads.kind, features=job.features.probe_only())


def configure(network: Network, job: JobSpec) -> None:
    """Configure dropout, checkpointing, freezing and LoRA; the output does not change.

    LoRA adapters are drawn from torch's random state.
    """
    settings = job.training
    if settings.dropout is not None:
        set_dropout(network, settings.dropout)
    network.encoder.activation_checkpointing = settings.gradient_checkpointing
    if network.probe is not None and job.features.trains_probe:
        network.requires_grad_(False)
        network.probe.requires_grad_(True)
        return
    freeze(network, settings.frozen_layers)
    if network.probe is not None:
        network.probe.requires_grad_(False)  # of contrastive fine-tuning: fitted, not trained
    if settings.lora_rank:
        add_adapters(
            network,
            settings.lora_rank,
            settings.lora_alpha,
            settings.lora_dropout,
            settings.lora_layers,
            settings.frozen_layers,
        )


def cache_frozen_weights(network: Network, machine: Machine) -> None:
    """On a CPU in reduced precision, cast frozen weights once instead of in every step.

    Call it after restoring weights. Not used below a probe, since their output is cached.
    """
    is_reduced = machine.device.type == "cpu" and machine.precision_name != "fp32"
    if is_reduced and network.probe is None and not is_sharded(network):
        cache_low_precision(network, DTYPES[machine.precision_name])


def set_dropout(network: nn.Module, probability: float) -> None:
    """Set the probability of every dropout, without changing the spec."""
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability
        if isinstance(module, nn.LSTM):
            module.dropout = probability


def count_parameters(network: nn.Module) -> int:
    """Number of parameters in a checkpoint, with adapters merged."""
    return sum(tensor.numel() for tensor in merge_adapters(network).values())


def count_trained(network: nn.Module) -> int:
    """Number of trained parameters, including adapters."""
    return sum(p.numel() for p in network.parameters() if p.requires_grad)
