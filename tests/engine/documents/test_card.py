"""A model card agrees with its run and checkpoint, in the format of the Hugging Face Hub."""

from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from engine.documents.card import model_card
from engine.models.heads import Heads
from engine.results.measures import main_score
from engine.results.predictions import read_predictions
from engine.results.store import predictions_file
from tests.engine.fine_tuned import FineTuned
from tests.engine.models.small import folder


@pytest.fixture(scope="module")
def model(tuned):
    return tuned("text_classification")


def test_the_hub_reads_the_metadata_and_people_the_rest(model: FineTuned) -> None:
    kept = read_predictions(predictions_file(model.run.results, "validation"))
    assert kept.info.step is not None
    best = model.run.checkpoint(kept.info.step)
    text, score = model_card(best, "hf"), main_score(kept)
    card = ModelCard(text)
    assert card.data.pipeline_tag == "text-classification"
    assert card.data.library_name == "transformers"
    (found,) = [one for one in card.data.eval_results if one.metric_type == "accuracy"]
    assert found.metric_value == pytest.approx(kept.info.metrics["accuracy"], abs=1e-4)
    assert f"| this model | {score.value:.4f} | {score.low:.4f} to {score.high:.4f} |" in text
    assert "| labels | bad, good |" in text and "| trained on | sentences.csv |" in text
    assert f"Computed in {kept.info.precision};" in text
    assert "AutoModelForSequenceClassification" in text and "chose the checkpoint" in text
    assert "onnxruntime" in model_card(best, "onnx") and "```" not in model_card(best, "tf1")


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    text = model_card(folder(tmp_path / "model", Heads(mlm=True)), "hf")
    assert ModelCard(text).data.pipeline_tag is None
    assert "## Scores" not in text and "trained on" not in text and "## Use" not in text
