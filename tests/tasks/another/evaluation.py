"""engine/evaluation/mood.py"""

from engine.evaluation.text_classification import ClassReport


class MoodReport(ClassReport):
    def metrics(self) -> dict[str, float]:
        return {"errors": 1 - self.accuracy, "loss": self.loss, "examples": self.examples}
