"""app/tasks/mood.py"""

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.text_classification import ClassesView


class MoodPart(TaskPart):
    kind = "mood"
    view = ClassesView
    purpose = "What mood is this text in?"
    scene = Scene("[CLS] ah [SEP]", 3, 0, "mood", "glad")

    def outputs(self, count: int) -> str:
        return f"{count} mood(s)"
