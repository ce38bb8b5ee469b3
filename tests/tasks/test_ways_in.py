"""A text has one answer, whichever way it comes in."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config.tasks.token_classification import TokenClassification
from engine.data.columns.words import parse_words
from engine.data.datasets.rows import Rows
from engine.explore.prediction import predict
from engine.messages.explore.prediction import Predict
from engine.models.checkpoint import Checkpoint, load
from engine.models.heads import Heads
from engine.serving.serving import Serving
from engine.tasks.predicting import Predictor
from engine.tokenizers.tokenizer import Tokenizer
from tests.engine.models import small
from tests.engine.tokenizers.published_tokenizers import byte_level

TEXTS = (
    "Maria Keller, who lives in Paris, was (very) old.",
    "John York (London) said: “Don't!”\u00ad \u00ad",
    "Мария Келлер, которая живёт в Париже.",
    "Η Μαρία (Παρίσι) ήταν εκεί;",
    "ماريا كيلر، (باريس).",
    "מריה קלר, (פריז).",
    "मारिया केलर, पेरिस।",
    "玛丽亚·凯勒住在巴黎。",
    "マリアはパリに住む。",
    "마리아 켈러, (파리).",
    "มาเรีย (ปารีส)",
    "[1] a list? [no]",
)


@pytest.fixture(scope="module", params=["WordPiece", "byte-level"])
def tagger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A random model of three tags with a small vocabulary."""
    folder = tmp_path_factory.mktemp("tagger")
    if request.param == "WordPiece":
        tokenizer = Tokenizer.train(TEXTS * 5, 400, lowercase=True)
    else:
        tokenizer = Tokenizer.from_folder(byte_level(folder / "bytes", TEXTS * 5))
    heads = Heads(outputs=3, kind=TokenClassification().kind)
    spec = small.SPEC.model_copy(update={"vocab_size": tokenizer.size, "max_positions": 256})
    checkpoint = load(small.folder(folder / "model", heads, spec))
    return replace(checkpoint, tokenizer=tokenizer, labels=("O", "B-x", "I-x"))


def test_tags_of_a_text_are_the_same_typed_in_a_file_and_as_a_list(tagger):
    predictor = Predictor(Serving(tagger))
    of_texts = predictor.predict(Rows(TEXTS))
    words = [parse_words(text) for text in TEXTS]
    assert [row["words"] for row in of_texts] == words
    assert of_texts == predictor.predict(Rows([json.dumps(row) for row in words]))
    found = 0
    for text, row in zip(TEXTS, of_texts, strict=True):
        (alone,) = predictor.predict(Rows([text]))
        assert alone["tags"] == row["tags"]
        spans = predict(tagger, Predict(checkpoint=Path("any"), text=text)).spans
        assert [(span.label, "".join(span.text.split())) for span in spans] == [
            (span["type"], span["text"].replace(" ", "")) for span in row["spans"]
        ]
        assert [span.probability for span in spans] == pytest.approx(
            [span["probability"] for span in row["spans"]], abs=1e-5
        )
        found += len(spans)
    assert found > len(TEXTS)


def test_words_of_a_tagged_file_stay_as_they_are(tagger):
    rows = Rows(["U.S. (EU) now."], tags=["B-x O O"])
    (row,) = Predictor(Serving(tagger)).predict(rows)
    assert row["words"] == ["U.S.", "(EU)", "now."]
