"""Models, data and settings that the sides of a comparison train with."""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.defaults.measure import sample_file
from benchmarks.defaults.plan import SETS
from benchmarks.fidelity.settings import data_folder
from engine.checkpoints.info import checkpoint_info
from engine.config.dataset import FileData
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.recommended import Recipe
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec
from engine.data.formats.reading import recognise


@dataclass(frozen=True)
class Work:
    """One run of a side, as it is sent to a process."""

    work: str  # folder of `fidelity prepare`
    model: str  # folder of a checkpoint
    data: str  # name in SETS
    seed: int
    rows: int
    validation: int  # rows
    threads: int
    recipe: Recipe = "paper"
    changed: dict[str, Any] = field(default_factory=dict)  # fields of `TrainingSpec`
    attention: str = "eager"  # of transformers

    @property
    def model_name(self) -> str:
        """A short name of the checkpoint: its layers and width."""
        info = checkpoint_info(Path(self.model))
        return f"L{info.layers} H{info.hidden_size}"

    def job(self) -> JobSpec:
        """The job with every setting that the recipe recommends."""
        from engine.cli.recommending import recommend_for

        data = SETS[self.data]
        train, validation = (
            sample_file(data_folder(Path(self.work)), name, count).absolute()
            for name, count in ((data.train, self.rows), (data.validation, self.validation))
        )
        recognised = recognise(train)
        job = JobSpec(
            name=f"{self.data} {self.recipe}",
            task=TASKS[data.task](kind=data.task),
            base_model=FromCheckpoint(path=Path(self.model).absolute()),
            data=FileData(
                path=train,
                validation=validation,
                reading=recognised.reading,
                mapping=recognised.mapping,
            ),
            hardware=HardwareSpec(device="cpu", precision="fp32", threads=self.threads),
        )
        training = recommend_for(job, self.recipe).training.model_dump()
        training |= {"seed": self.seed, "max_length": data.max_length, **self.changed}
        return JobSpec.model_validate(job.model_dump() | {"training": training})


class Watch:
    """Seconds of clock and CPU since the inputs were tokenized, and scores by then."""

    def __init__(self) -> None:
        self.scores = list[tuple[int, float, float, float]]()  # step, seconds, CPU seconds, score
        self.begin()

    def begin(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def seconds(self) -> tuple[float, float]:
        now = time.perf_counter(), time.process_time()
        return now[0] - self._began[0], now[1] - self._began[1]

    def add(self, step: int, score: float) -> None:
        wall, cpu = self.seconds()
        self.scores.append((step, round(wall, 2), round(cpu, 2), round(score, 5)))

    def print_result(self, **more: Any) -> None:
        """Print a line of JSON at the end of the run."""
        wall, cpu = self.seconds()
        result = {"seconds": round(wall, 2), "cpu": round(cpu, 2), "scores": self.scores}
        print(json.dumps(result | more), flush=True)


def read_work(doc: str | None) -> Work:
    """The run that the process gets as its argument."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("work", type=json.loads)
    return Work(**parser.parse_args(sys.argv[1:]).work)


def as_argument(work: Work) -> str:
    return json.dumps(asdict(work))
