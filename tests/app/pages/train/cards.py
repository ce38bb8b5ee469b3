"""Goals of the wizard by short names."""

from app.pages.train.choices import Goal

SENTENCE = Goal("text_classification")
PAIR = Goal("pair_classification")
SIMILAR = Goal("sentence_similarity")
LABELS = Goal("multi_label")
NUMBER = Goal("regression")
TAGS = Goal("token_classification")
QUESTIONS = Goal("question_answering")
CHOICES = Goal("multiple_choice")
ONWARD = Goal("pretraining")
SCRATCH = Goal("pretraining", from_scratch=True)
