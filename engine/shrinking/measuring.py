"""Score, size and speed of a model against its teacher, on the same rows and machine."""

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from engine.checkpoints.info import checkpoint_info, weight_files
from engine.config.dataset import Mapping as ColumnMapping
from engine.data.datasets.rows import Rows
from engine.messages.shrinking import Shape, ShrinkPoint
from engine.models import checkpoint
from engine.models.checkpoint import Checkpoint
from engine.results.intervals import Interval
from engine.results.measures import interval, measures
from engine.serving.serving import Serving
from engine.tasks import checkpoint_learner
from engine.tasks.evaluating import collect_predictions
from engine.tasks.learner import Learner, PredictionCollector
from engine.tasks.precision_agreement import AgreementSearch
from engine.tasks.row_predictions import Origin, build_predictions

ROUNDS = 5  # of timing, in turns
TIMED_ROWS = 128
BATCH = 32  # rows


class Speed(NamedTuple):
    """Speed relative to the teacher: median, lowest and highest of the rounds."""

    median: float
    slowest: float
    fastest: float


@dataclass(frozen=True)
class Model:
    """A loaded model, and how it is used."""

    folder: Path
    loaded: Checkpoint
    learner: Learner
    max_length: int

    def predict(self, rows: Rows) -> PredictionCollector:
        return collect_predictions(self.loaded, self.learner, rows, self.max_length, BATCH)


def load_model(folder: Path, max_length: int) -> Model:
    """The model in a folder, in fp32. It must be fine-tuned."""
    loaded = Serving(checkpoint.load(folder)).exact
    learner = checkpoint_learner(loaded)
    assert learner is not None
    learner.allows_new_labels = True
    return Model(folder, loaded, learner, min(max_length, loaded.spec.max_positions))


class Measuring:
    """Measures models on validation rows against one teacher."""

    def __init__(
        self, teacher: Model, rows: Rows, mapping: ColumnMapping, metric: str, milliseconds: float
    ) -> None:
        """`mapping` belongs to the rows; for `milliseconds` see below."""
        self._teacher, self._rows, self._mapping, self._metric = teacher, rows, mapping, metric
        chosen = np.random.default_rng(0).permutation(len(rows))[:TIMED_ROWS]
        self._timed = rows.take(np.sort(chosen))
        # of the teacher per text, to which all speeds are related; 0: measured with the first
        self.milliseconds = milliseconds

    def points(
        self, model: Model, name: str, shape: Shape | None = None, is_teacher: bool = False
    ) -> list[ShrinkPoint]:
        """The model in fp32, and in the fastest precision that agrees with it, if there is one."""
        variants: dict[str, Model] = {"float32": model}
        batch = (model.max_length, BATCH)
        found = AgreementSearch(model.loaded, model.learner, model.folder, *batch).find()
        if found is not None and found[1].computed != "float32":
            quick, agreement = found
            variants[agreement.computed] = Model(
                model.folder, quick, model.learner, model.max_length
            )
        speeds = self._speeds(variants)
        info = checkpoint_info(model.folder)
        points = []
        for computed, variant in variants.items():
            score, speed = self._score(variant), speeds[computed]
            points.append(
                ShrinkPoint(
                    name=name,
                    checkpoint=model.folder,
                    computed=computed,  # type: ignore[arg-type]
                    shape=shape,
                    layers=info.layers,
                    hidden_size=info.hidden_size,
                    intermediate_size=info.intermediate_size,
                    vocabulary=info.vocab_size,
                    parameters=info.parameters,
                    bytes=sum(file.stat().st_size for file in weight_files(model.folder)),
                    max_length=model.max_length,
                    milliseconds=self.milliseconds / speed.median,
                    times=speed.median,
                    slowest=speed.slowest,
                    fastest=speed.fastest,
                    score=score.value,
                    low=score.low,
                    high=score.high,
                    is_teacher=is_teacher,
                )
            )
        return points

    def _speeds(self, variants: Mapping[str, Model]) -> dict[str, Speed]:
        """Speed of each variant and of the teacher in turns, by processor time."""
        others = {n: model for n, model in variants.items() if model is not self._teacher}
        sides = {"": self._teacher, **others}
        spent: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(ROUNDS + 1):  # the first warms up
            for name, model in sides.items():
                began = time.process_time()
                model.predict(self._timed)
                if turn:
                    spent[name].append(time.process_time() - began)
        if not self.milliseconds:
            self.milliseconds = 1000 * statistics.median(spent[""]) / len(self._timed)
        speeds = dict.fromkeys(variants, Speed(1, 1, 1))
        for name in others:
            ratios = [a / b for a, b in zip(spent[""], spent[name], strict=True)]
            speeds[name] = Speed(statistics.median(ratios), min(ratios), max(ratios))
        return speeds

    def _score(self, model: Model) -> Interval:
        collector, learner = model.predict(self._rows), model.learner
        origin = Origin("validation", "", self._mapping, model.folder.name)
        rows, metrics = collector.row_predictions(), collector.report().metrics()
        predictions = build_predictions(
            rows, None, {}, origin, learner.task.kind, learner.labels, metrics
        )
        measure = next(item for item in measures(predictions) if item.name == self._metric)
        return interval(measure)
