"""Sentence-pair classification in the window."""

from app.tasks.picture import Scene
from app.tasks.text_classification import TextClassificationPart
from app.translation import marked


class PairClassificationPart(TextClassificationPart):
    kind = "pair_classification"
    purpose = marked(
        "One label per pair of texts: does the second follow from, repeat or answer the first?"
    )
    scene = Scene("[CLS] he left [SEP] he is gone [SEP]", 4, 0, marked("label"), "same meaning")
