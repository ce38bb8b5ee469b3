"""Every question of Explore works for every family, with its own mask and tokens."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from engine.explore.attention import attend
from engine.explore.fill_mask import fill_mask
from engine.messages.explore.attention import Attend
from engine.messages.explore.fill_mask import FillMask
from tests.engine.models.family_folders import EXAMPLES


def test_masked_words_are_guessed_as_transformers_guesses_them(known):
    family, folder, checkpoint, _ = known
    mask = checkpoint.tokenizer.token(checkpoint.tokenizer.mask)
    text, pair = f"a quiet {mask}, isn't it?", "nobody left"
    answer = fill_mask(checkpoint, FillMask(checkpoint=folder, text=text, pair=pair, top=5))
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True).eval()
    asked = {"return_token_type_ids": True} if EXAMPLES[family].has_segments else {}
    encoded = tokenizer(text, pair, return_tensors="pt", **asked)
    assert [token.id for token in answer.tokens] == encoded["input_ids"][0].tolist()
    place = encoded["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    with torch.no_grad():
        logits = model(**encoded).logits[0, place]
    best = logits.softmax(-1)[: checkpoint.tokenizer.size].topk(5)
    (guess,) = answer.predictions
    assert guess.first == guess.last == place
    ids = best.indices.tolist()
    assert [likely.label for likely in guess.ranked] == [checkpoint.tokenizer.token(i) for i in ids]
    assert [likely.probability for likely in guess.ranked] == pytest.approx(
        best.values.tolist(), abs=1e-5
    )


def test_a_hidden_word_is_told_beside_the_guesses(known):
    _, folder, checkpoint, _ = known
    tokens = checkpoint.tokenizer.encode("quiet film").tokens
    number = next(n for n, token in enumerate(tokens) if not token.special)
    answer = fill_mask(checkpoint, FillMask(checkpoint=folder, text="quiet film", masked=(number,)))
    assert answer.actual[0].label == tokens[number].text
    assert 0 < answer.actual[0].probability < 1


def test_every_layer_and_head_shows_where_it_looks(known, tmp_path):
    _, folder, checkpoint, _ = known
    question = Attend(checkpoint=folder, text="A quiet film.", pair="Nobody laughs.", number=1)
    answer = attend(checkpoint, question, tmp_path)
    weights = np.load(answer.weights.path).astype(np.float32)
    assert weights.shape == (3, 4, len(answer.tokens), len(answer.tokens))
    assert np.allclose(weights.sum(-1), 1, atol=1e-2)
    assert not np.allclose(weights[0], weights[1], atol=1e-2), "shared weights, other passes"
    between = [t for t in answer.tokens if t.id == checkpoint.tokenizer.sep]
    assert len(between) == 1 + checkpoint.tokenizer.vocabulary.separators
