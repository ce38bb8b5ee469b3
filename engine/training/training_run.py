"""State of a run from its first step to its last."""

from dataclasses import dataclass
from functools import cached_property

from engine.config.job import JobSpec
from engine.config.training import TrainingSpec
from engine.models.network import Network
from engine.training.context import RunContext, TrainingProgress
from engine.training.device.cuda_graphs import CudaGraphs
from engine.training.device.machine import Machine
from engine.training.device.ranks import Ranks
from engine.training.gradients import GradientAccumulator
from engine.training.optimiser import AdamW, WeightAverage
from engine.training.setup import TrainingSetup


@dataclass
class TrainingRun:
    """A run in training, seen from one rank."""

    context: RunContext
    setup: TrainingSetup
    machine: Machine
    ranks: Ranks
    optimiser: AdamW
    average: WeightAverage
    progress: TrainingProgress
    graphs: CudaGraphs | None = None  # None: eager passes

    @cached_property
    def accumulator(self) -> GradientAccumulator:
        return GradientAccumulator(self.network, self.setup.data.learner, self.machine)

    @property
    def job(self) -> JobSpec:
        return self.context.job

    @property
    def settings(self) -> TrainingSpec:
        return self.context.job.training

    @property
    def network(self) -> Network:
        return self.setup.network

    @property
    def micro_batch_size(self) -> int:
        """Examples computed at once; 0: the whole batch."""
        requested, fitting = self.settings.micro_batch_size, self.progress.micro_batch_size
        return min(requested, fitting) if requested and fitting else requested or fitting

    @property
    def is_finished(self) -> bool:
        limit = self.settings.early_stopping_patience
        stops_early = 0 < limit <= self.progress.evaluations_without_improvement
        return self.progress.step >= self.setup.data.steps or stops_early

    @property
    def evaluates_now(self) -> bool:
        """True if an evaluation follows the last step."""
        step = self.progress.step
        return step == self.setup.data.steps or step % self.setup.evaluate_every == 0

    @property
    def saves_now(self) -> bool:
        """True if a checkpoint follows the last step, regardless of its score."""
        return self.is_finished or self.progress.step % self.setup.save_every == 0
