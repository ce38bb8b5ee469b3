"""Reduced precision is used only as far as it agrees with fp32 on the validation rows of a run."""

import json

import numpy as np
import pytest
import torch

from engine.errors import StudioError
from engine.files.home import Home
from engine.serving.network import pack_network
from engine.serving.quantized_matmul import is_available
from engine.tasks import precision_agreement
from engine.tasks.precision_agreement import FOLDER, MAX_LOSS, MIN_EQUAL, equal_fraction
from engine.tasks.predicting import Predictor
from tests.engine.fine_tuned import KINDS

pytestmark = pytest.mark.skipif(not is_available("int8"), reason="int8 is unavailable")


@pytest.fixture(autouse=True)
def in_a_home_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(precision_agreement, "KINDS", ("int8",))
    monkeypatch.setattr(precision_agreement, "MIN_SPEEDUP", 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_agreement_of_every_task_is_measured_once(tuned, kind, monkeypatch):
    monkeypatch.setattr(precision_agreement, "MIN_EQUAL", 0.9)
    monkeypatch.setattr(precision_agreement, "MAX_LOSS", 1.0)
    found = Predictor(tuned(kind).checkpoint, exact=False)
    measured = found.agreement
    assert measured is not None and measured.rows > 0 and 0.9 <= measured.equal <= 1
    assert found.computed == measured.computed and found.notes() == (measured.phrase,)
    monkeypatch.setattr(precision_agreement, "collect_predictions", lambda *_: pytest.fail("again"))
    again = Predictor(tuned(kind).checkpoint, exact=False)
    assert again.agreement == measured
    [file] = (Home().cache / FOLDER).iterdir()
    file.write_text(json.dumps({"rows": "many"}))
    with pytest.raises(pytest.fail.Exception, match="again"):
        Predictor(tuned(kind).checkpoint, exact=False)


def damaged(layers):
    """Packing in which these layers are useless, unless they stay exact."""

    def pack(network, kind, exact=()):
        packed = pack_network(network, kind, exact)
        for index in layers:
            if index not in exact:
                block = packed.encoder.layers[index].feed_forward
                block.forward = lambda x: torch.flip(x, (-1,)) * 30
        return packed

    return pack


def test_a_layer_that_changes_the_predictions_stays_exact(tuned, monkeypatch):
    model = tuned("regression")
    monkeypatch.setattr(precision_agreement, "pack_network", damaged({1}))
    predictor = Predictor(model.checkpoint, exact=False)
    measured = predictor.agreement
    assert measured.exact_layers == (1,) and measured.computed == "int8"
    assert measured.equal >= MIN_EQUAL and abs(measured.score - measured.exact_score) <= MAX_LOSS
    assert str(measured.phrase).endswith("1 layer in fp32.")


def test_without_agreement_everything_is_exact(tuned, monkeypatch):
    model = tuned("regression")
    monkeypatch.setattr(precision_agreement, "pack_network", damaged({0, 1}))
    predictor = Predictor(model.checkpoint, exact=False)
    assert predictor.computed == "float32" and predictor.agreement.equal == 1
    assert predictor.notes()[0].startswith("fp32: nothing faster agrees")


def test_a_slower_precision_is_not_used(tuned, monkeypatch):
    monkeypatch.setattr(precision_agreement, "MIN_SPEEDUP", 1e9)
    assert Predictor(tuned("text_classification").checkpoint, exact=False).computed == "float32"


def test_a_model_without_validation_rows_is_compared_on_built_in_texts(tuned, monkeypatch):
    def gone(*_):
        raise StudioError("The data set is gone.")

    monkeypatch.setattr(precision_agreement, "evaluation_question", gone)
    predictor = Predictor(tuned("text_classification").checkpoint, exact=False)
    assert predictor.agreement is None
    assert "built-in texts" in predictor.notes()[0] or "fp32" in predictor.notes()[0]


def test_numbers_may_differ_by_a_hundredth_of_their_range():
    exact = ["1", "51", "101"]
    assert equal_fraction(["1.9", "50.1", "103"], exact, is_number=True) == pytest.approx(2 / 3)
    assert equal_fraction(["1", "51", "101.5"], exact, is_number=False) == np.mean([1, 1, 0])
