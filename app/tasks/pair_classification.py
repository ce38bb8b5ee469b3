"""Sentence-pair classification in the window."""

from app.tasks.picture import Scene
from app.tasks.text_classification import TextClassificationPart
from app.translation import tr


class PairClassificationPart(TextClassificationPart):
    kind = "pair_classification"

    def description(self, from_scratch: bool = False) -> str:
        return tr(
            "One label per pair of texts: does the second follow from, repeat or answer the first?"
        )

    def scene(self, from_scratch: bool = False) -> Scene:
        words = ("[CLS]", "he", "left", "[SEP]", "he", "is", "gone", "[SEP]")
        return Scene(words, 4, 0, tr("label"), "same meaning")
