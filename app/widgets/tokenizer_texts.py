"""What each kind of tokenizer does in its three steps, in words."""

from PySide6.QtCore import QCoreApplication

from engine.tokenizers.byte_bpe import BytePieces
from engine.tokenizers.unigram import SentencePieces


def step_helps(kind: str) -> tuple[str, str, str]:
    """For normalising, splitting and finding pieces, by the kind of the vocabulary."""
    if kind == BytePieces.kind:
        return (
            _tr("The text stays as it is: case, accents and spaces are part of the pieces."),
            _tr("The text is split before spaces and around punctuation."),
            _tr(
                "The bytes of each word are merged pair by pair, in the order that was learned. "
                "“▁” stands for a space, and “\\x” for a byte that is only a part of a character."
            ),
        )
    if kind == SentencePieces.kind:
        return (
            _tr(
                "Characters take their plain forms, and case and accents go where the vocabulary "
                "ignores them."
            ),
            _tr("The text is split at spaces; a bar stands between words."),
            _tr("Of all ways to cut a word into pieces the likeliest is taken; “▁” begins a word."),
        )
    return (
        _tr(
            "Control characters go, spaces become one kind, and case and accents go too where the "
            "vocabulary ignores them."
        ),
        _tr("The text is split at spaces and punctuation; a bar stands between words."),
        _tr("Each word becomes the longest pieces that the vocabulary has; “##” goes on a word."),
    )


def _tr(text: str) -> str:
    return QCoreApplication.translate("Tokenizer", text)
