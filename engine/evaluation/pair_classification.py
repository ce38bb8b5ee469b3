"""How well predicted classes of pairs fit the true ones: as for single texts."""

from engine.evaluation import text_classification

measures = text_classification.measures
