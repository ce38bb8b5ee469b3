"""Time and memory that a job will take."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages.question import Answer, Question
from engine.spec.job import JobSpec


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
    threads: int = Field(0, description="Of each process; 0: not known.")
    checkpoint: int = Field(0, description="Bytes of one checkpoint on the disk; 0: not known.")
    checkpoints: int = Field(0, description="How many of them there are at the most.")
    disk_free: int | None = Field(None, description="Bytes that are free where runs are stored.")


class Estimate(Question):
    """Time and memory of a job, from one measured worst-case step."""

    answered_by: ClassVar[type[Answer]] = Estimated
    kind: Literal["estimate"] = "estimate"
    job: JobSpec
