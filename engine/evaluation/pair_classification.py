"""Metrics of sentence-pair classification: those of text classification."""

from engine.evaluation import text_classification

measures = text_classification.measures
