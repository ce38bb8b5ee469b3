"""Scripts of texts, and tokens that a vocabulary does not know."""

from collections import Counter

import pytest

from engine.data.coverage import scripts, scripts_note, unknown_note
from engine.data.datasets.rows import Rows
from engine.files.shipped import minilm
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.serving.serving import Serving
from engine.tasks.predicting import Predictor
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.models.small import folder

SENTENCES = {
    "Latin": "Maria habite à Paris",
    "Cyrillic": "Мария живёт в Париже",
    "Greek": "Η Μαρία ζει στο Παρίσι",
    "Arabic": "تعيش ماريا في باريس",
    "Hebrew": "מריה גרה בפריז",
    "Devanagari": "मारिया पेरिस में रहती है",
    "Thai": "มาเรียอาศัยอยู่ในปารีส",
    "Chinese": "玛丽亚住在巴黎",
    "Hangul": "마리아는 파리에 산다",
    "Georgian": "მარია პარიზში ცხოვრობს",
}


@pytest.mark.parametrize("script", SENTENCES)
def test_the_script_of_a_text_is_named(script):
    assert scripts(Counter(f"{SENTENCES[script]} 12 + 3 !")) == {script: 1.0}


def test_scripts_are_listed_by_their_letters():
    assert scripts_note(["Париж", "abc"]) == "Scripts: Cyrillic 62 %, Latin 38 %"
    assert scripts_note(["", "42"]) == ""


def test_applying_a_model_notes_a_language_that_it_does_not_know(tmp_path):
    checkpoint = load(folder(tmp_path / "model", Heads(outputs=3, kind="text_classification")))
    predictor = Predictor(Serving(checkpoint))
    predictor.predict(Rows(["a b c d e f g h"] * 40))
    assert predictor.notes() == ()
    predictor.predict(Rows([SENTENCES["Greek"]] * 4))
    (note,) = predictor.notes()
    unknown = 4 * 5 / (40 * 10 + 4 * 7)
    assert note.startswith(unknown_note(unknown)) and note.startswith("5 % of the tokens")
    assert note.endswith(" Scripts: Latin 82 %, Greek 18 %.")
    predictor = Predictor(Serving(checkpoint))
    predictor.collect(Rows([SENTENCES["Greek"]]))  # as to evaluate
    assert predictor.notes()[0].endswith("multilingual one. Scripts: Greek 100 %.")
    predictor = Predictor(Serving(checkpoint))
    predictor.collect(Rows(["…"]))
    assert predictor.notes()[0].endswith("multilingual one.")
    assert unknown_note(0.02) == ""


def test_the_shipped_encoder_knows_the_words_of_a_language_or_not():
    tokenizer = Tokenizer.from_folder(minilm())
    unknown = {
        script: sum(token.id == tokenizer.unknown for token in tokenizer.encode(text).tokens)
        for script, text in SENTENCES.items()
    }
    assert not unknown.pop("Latin") and all(unknown.values())
