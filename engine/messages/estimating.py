"""Estimate the time and memory of a job."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.config.job import JobSpec
from engine.messages.question import Answer, Question


class Estimated(Answer):
    kind: Literal["estimated"] = "estimated"
    steps: int
    seconds_per_step: float
    seconds: float
    memory: int = Field(description="Peak bytes of the measuring process.")
    available: int = Field(description="Bytes of memory that are free on the device.")
    parameters: int
    device: str
    precision: str = Field("", description="fp32, bf16 or fp16; empty: not known.")
    threads: int = Field(0, description="Threads of each process; 0: not known.")
    runs: int = Field(1, description="Number of runs in `seconds` and `checkpoints`.")
    checkpoint: int = Field(0, description="Bytes of one checkpoint on the disk; 0: not known.")
    checkpoints: int = Field(0, description="Maximum number of checkpoints.")
    snapshot: int = Field(0, description="Bytes of one snapshot: only weights, in fp16.")
    snapshots: int = Field(0, description="Number of snapshots in the end.")
    cache: int = Field(0, description="Bytes of results cached until a run has finished.")
    disk_free: int | None = Field(None, description="Bytes that are free where runs are stored.")

    @property
    def disk(self) -> int:
        """Maximum bytes of checkpoints, snapshots and cached vectors."""
        return self.checkpoint * self.checkpoints + self.snapshot * self.snapshots + self.cache


class Estimate(Question):
    """Estimate the time and memory of a job from one measured worst-case step."""

    answered_by: ClassVar[type[Answer]] = Estimated
    kind: Literal["estimate"] = "estimate"
    job: JobSpec
