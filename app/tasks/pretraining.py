"""Pre-training in the window."""

from app.tasks.part import Plan, TaskPart, translate
from app.tasks.picture import Scene
from app.widgets.results.group_table import (
    FrequencyPicture,
    TokenPositionPicture,
    WorstTokensPicture,
)


class PretrainingPart(TaskPart):
    kind = "pretraining"
    pictures = (FrequencyPicture, TokenPositionPicture, WorstTokensPicture)

    def card_title(self, from_scratch: bool = False) -> str:
        if from_scratch:
            return translate("Tasks", "Pre-training from scratch")
        return translate("Tasks", "Continue pre-training")

    def description(self, from_scratch: bool = False) -> str:
        if from_scratch:
            return translate(
                "Tasks",
                "Train a new model on plain text by predicting masked tokens. Needs a lot of text.",
            )
        return translate("Tasks", "Adapt an existing model to the language of your domain.")

    def scene(self, from_scratch: bool = False) -> Scene:
        words = ("[CLS]", "Paris", "is", "the", "[MASK]", "of", "France", "[SEP]")
        return Scene(words, 8, 4, translate("Tasks", "token"), "capital", fresh=from_scratch)

    def outputs(self, count: int) -> str:
        return translate("Tasks", "masked-language-modelling head")

    def plan(self, plan: Plan) -> str:
        learned = translate("Tasks", "MLM")
        if plan.task.causal:
            learned = translate("Tasks", "next-token prediction, left to right")
        elif plan.task.needs_nsp:
            learned = translate("Tasks", "MLM and NSP")
        if plan.from_scratch:
            template = translate("Tasks", "Pre-train a new BERT ({model}) on “{data}” ({learned}).")
        else:
            template = translate(
                "Tasks", "Continue pre-training “{model}” on “{data}” ({learned})."
            )
        return template.format(model=plan.model, data=plan.data, learned=learned)
