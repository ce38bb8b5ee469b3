"""What each task is called, and what it does, in a sentence."""

from PySide6.QtCore import QCoreApplication

from app.pages.train.choices import Kind

translate = QCoreApplication.translate


def title(kind: Kind) -> str:
    match kind:
        case Kind.SENTENCE:
            return translate("Train", "Classify a sentence")
        case Kind.PAIR:
            return translate("Train", "Classify a pair")
        case Kind.TAGS:
            return translate("Train", "Tag words")
        case Kind.LABELS:
            return translate("Train", "Give several labels")
        case Kind.NUMBER:
            return translate("Train", "Guess a number")
        case Kind.QUESTIONS:
            return translate("Train", "Answer questions")
        case Kind.CHOICES:
            return translate("Train", "Choose an ending")
        case Kind.ONWARD:
            return translate("Train", "Go on pre-training")
        case Kind.SCRATCH:
            return translate("Train", "Pre-train from scratch")


def sentence(kind: Kind) -> str:
    match kind:
        case Kind.SENTENCE:
            return translate(
                "Train",
                "One text, one label: moods, topics, eras. A trained model learns your labels.",
            )
        case Kind.PAIR:
            return translate(
                "Train", "Two texts, one label: does the second follow, repeat or answer the first?"
            )
        case Kind.TAGS:
            return translate(
                "Train", "A tag for each word: names of people and places, parts of speech."
            )
        case Kind.LABELS:
            return translate(
                "Train",
                "A text or a pair, and any number of labels: topics, tones, what a text mentions.",
            )
        case Kind.NUMBER:
            return translate(
                "Train", "A text or a pair, and a number: how alike, how readable, how many stars."
            )
        case Kind.CHOICES:
            return translate(
                "Train", "A text and several endings: which of them fits? Also for quiz questions."
            )
        case Kind.QUESTIONS:
            return translate(
                "Train", "A question and a passage: where in it stands the answer, if anywhere?"
            )
        case Kind.ONWARD:
            return translate(
                "Train",
                "A trained model gets used to the language of your texts. No labels needed.",
            )
        case Kind.SCRATCH:
            return translate(
                "Train", "A new model learns a language by guessing hidden words. Takes many texts."
            )
