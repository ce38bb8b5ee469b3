"""Next-sentence prediction, compared with transformers."""

import pytest
import torch
import transformers

from engine.errors import StudioError
from engine.explore.prediction import predict_next_sentence
from engine.messages.explore.prediction import PredictNextSentence
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.tasks.inputs import encode_text
from tests.engine.models.small import folder

CLOSE = 1e-5


@torch.no_grad()
@pytest.mark.parametrize("masked", [(), (2,)])
def test_the_second_text_follows_as_likely_as_in_transformers(tmp_path, masked):
    path = folder(tmp_path / "pair", Heads(mlm=True, nsp=True))
    theirs = transformers.BertForNextSentencePrediction.from_pretrained(
        path, local_files_only=True
    ).eval()
    ours = load(path)
    given = encode_text(ours, "a b c", "d e", masked)
    logits = theirs(given.tokens, token_type_ids=given.segments).logits
    ask = PredictNextSentence(number=5, checkpoint=path, text="a b c", pair="d e", masked=masked)
    answer = predict_next_sentence(ours, ask)
    assert answer.to == 5
    assert answer.probability == pytest.approx(float(logits.softmax(-1)[0, 0]), abs=CLOSE)


def test_what_does_not_apply_is_refused_in_words(tiny, tmp_path):
    with pytest.raises(StudioError, match="no next-sentence"):
        predict_next_sentence(tiny, PredictNextSentence(checkpoint=tmp_path, text="a", pair="b"))
    pair = load(folder(tmp_path / "pair"))
    with pytest.raises(StudioError, match="no second text"):
        predict_next_sentence(pair, PredictNextSentence(checkpoint=tmp_path, text="a", pair=" "))
