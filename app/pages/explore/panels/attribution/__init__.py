"""Attributions: word effects on a prediction, their faithfulness, and edits of the text."""
