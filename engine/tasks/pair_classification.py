"""One label for a pair of texts (Devlin et al. 2019, §4.1)."""

from engine.tasks.text_classification import TextClassificationLearner


class PairClassificationLearner(TextClassificationLearner):
    """Like text classification; both texts are one input, and [CLS] attends to the pair."""
