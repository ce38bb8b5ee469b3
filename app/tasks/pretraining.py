"""Pre-training in the window."""

from app.tasks.part import Plan, TaskPart
from app.tasks.picture import Scene
from app.translation import marked, tr
from app.widgets.results.group_table import (
    FrequencyPicture,
    TokenPositionPicture,
    WorstTokensPicture,
)


class PretrainingPart(TaskPart):
    kind = "pretraining"
    pictures = (FrequencyPicture, TokenPositionPicture, WorstTokensPicture)
    scene = Scene("[CLS] Paris is the [MASK] of France [SEP]", 8, 4, marked("token"), "capital")

    def card_title(self, from_scratch: bool = False) -> str:
        if from_scratch:
            return tr("Pre-training from scratch")
        return tr("Continue pre-training")

    def description(self, from_scratch: bool = False) -> str:
        if from_scratch:
            return tr(
                "Train a new model on plain text by predicting masked tokens. Needs a lot of text."
            )
        return tr("Adapt an existing model to the language of your domain.")

    def outputs(self, count: int) -> str:
        return tr("masked-language-modelling head")

    def describe_plan(self, plan: Plan) -> str:
        learned = tr("MLM")
        if plan.task.causal:
            learned = tr("next-token prediction, left to right")
        elif plan.task.needs_nsp:
            learned = tr("MLM and NSP")
        if plan.from_scratch:
            template = tr("Pre-train a new BERT ({model}) on “{data}” ({learned}).")
        else:
            template = tr("Continue pre-training “{model}” on “{data}” ({learned}).")
        return template.format(model=plan.model, data=plan.data, learned=learned)
