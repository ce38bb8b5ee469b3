"""Measures of attention heads: names and meanings of table columns."""

from dataclasses import dataclass

from app.translation import marked


@dataclass(frozen=True)
class HeadMeasure:
    key: str
    name: str
    meaning: str


MEASURES: tuple[HeadMeasure, ...] = (
    HeadMeasure("entropy", marked("Entropy"), marked("−Σ α ln α in nats; 0: all on one token")),
    HeadMeasure(
        "uniformity",
        marked("Normalised entropy"),
        marked("Entropy divided by its maximum, ln of the token count; 1: uniform"),
    ),
    HeadMeasure(
        "distance",
        marked("Distance"),
        marked("Σ α |i − j|: mean number of tokens between query and key"),
    ),
    HeadMeasure("itself", marked("To itself"), marked("Attention to the query token itself")),
    HeadMeasure("previous", marked("To previous"), marked("Attention to the previous token")),
    HeadMeasure("next", marked("To next"), marked("Attention to the next token")),
    HeadMeasure("first", marked("To [CLS]"), marked("Attention to the special token at the start")),
    HeadMeasure("separators", marked("To [SEP]"), marked("Attention to the other special tokens")),
    HeadMeasure(
        "same", marked("To same token"), marked("Attention to the same token at other positions")
    ),
    HeadMeasure(
        "other_text", marked("To other text"), marked("Attention from a text to the other one")
    ),
    HeadMeasure("punctuation", marked("To punctuation"), marked("Attention to punctuation marks")),
    HeadMeasure(
        "offset_share",
        marked("At one offset"),
        marked("Fraction of the tokens whose largest weight is at the most frequent offset"),
    ),
)
