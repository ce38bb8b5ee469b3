"""engine/evaluation/mood.py"""

from engine.evaluation.measures import Measure, ScoredRows, mean_measure
from engine.evaluation.text_classification import ClassReport


class MoodReport(ClassReport):
    def metrics(self) -> dict[str, float]:
        return {"errors": 1 - self.accuracy, "loss": self.loss, "examples": self.examples}


def measures(rows: ScoredRows) -> tuple[Measure, ...]:
    return (mean_measure("errors", 1 - rows.figure("score"), higher_is_better=False),)
