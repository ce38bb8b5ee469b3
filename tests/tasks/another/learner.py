"""engine/tasks/mood.py"""

from engine.tasks.learner import Examples
from engine.tasks.text_classification import ClassCollector, TextClassificationLearner
from tests.tasks.another.evaluation import MoodReport


class MoodLearner(TextClassificationLearner):
    def make_metrics(self, examples: Examples) -> ClassCollector:
        return MoodCollector(examples, self.labels, self.prediction)


class MoodCollector(ClassCollector):
    def report(self) -> MoodReport:
        return MoodReport(**super().report().model_dump())
