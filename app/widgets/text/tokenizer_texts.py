"""Tokenizers in words."""

from app.translation import tr
from engine.tokenizers.byte_bpe import ByteLevelBpe
from engine.tokenizers.tokenizer_json import TokenizerJson
from engine.tokenizers.unigram import Unigram


def step_helps(kind: str) -> tuple[str, str, str]:
    """Explanations of normalisation, pre-tokenisation and tokenisation, by kind of vocabulary."""
    if kind == ByteLevelBpe.kind:
        return (
            tr("The text is unchanged: case, accents and spaces are part of the tokens."),
            tr("The text is split before spaces and around punctuation."),
            tr(
                "The bytes of each word are merged pair by pair, in the learned order. “▁” "
                "stands for a space, and “\\x” for a byte that is only part of a character."
            ),
        )
    if kind == Unigram.kind:
        return (
            tr(
                "Characters are normalised; uncased models also lowercase the text and strip "
                "accents."
            ),
            tr("The text is split at spaces; a bar separates words."),
            tr(
                "The most likely segmentation into tokens is used; “▁” marks the beginning of a "
                "word."
            ),
        )
    if kind == TokenizerJson.kind:
        return (
            tr("The text is normalised by the steps in tokenizer.json."),
            tr("The text is split by the steps in tokenizer.json; a bar separates words."),
            tr("Each word is split into tokens by the model in tokenizer.json."),
        )
    return (
        tr(
            "Control characters are removed and spaces unified; uncased models also "
            "lowercase the text and strip accents."
        ),
        tr("The text is split at spaces and punctuation; a bar separates words."),
        tr(
            "Each word is split into the longest tokens in the vocabulary; “##” marks a token "
            "that continues a word."
        ),
    )
