"""Summed embeddings of each token, compared with transformers."""

import numpy as np
import pytest
import torch

from engine.explore.embeddings import embed
from engine.messages.explore.embeddings import Embed

CLOSE = 1e-5
TEXT, PAIR = "A quiet film.", "Nobody laughs."


def tables(known):
    """The word, position and segment tables of transformers, and their module."""
    part = known.model.base_model.embeddings
    names = {"position": "position_embeddings", "segment": "token_type_embeddings"}
    names["task"] = "task_type_embeddings"
    words = "tok_embeddings" if known.family == "modernbert" else "word_embeddings"
    result = {"token": getattr(part, words)}
    for name, theirs in names.items():
        if (table := getattr(part, theirs, None)) is not None:
            result[name] = table
    return result, part


@torch.no_grad()
@pytest.mark.parametrize("pair", [None, PAIR])
def test_norms_match_transformers(known, pair):
    inputs = known.encode_text(TEXT, pair, 2)
    question = Embed(checkpoint=known.folder, text=TEXT, pair=pair, masked=(2,))
    answer = embed(known.checkpoint, question)
    result, part = tables(known)
    assert [item.table for item in answer.addends] == list(result)
    total = 0
    for addend in answer.addends:
        rows = result[addend.table].weight[list(addend.rows)].numpy()  # [T, E]
        assert addend.norms == pytest.approx(np.linalg.norm(rows, axis=1), abs=CLOSE)
        total = total + rows
    assert answer.sums == pytest.approx(np.linalg.norm(total, axis=1), abs=CLOSE)
    hidden = known.run(inputs, output_hidden_states=True).hidden_states[0][0]  # [T, D]
    if known.family == "albert":
        widen = known.model.albert.encoder.embedding_hidden_mapping_in
        hidden = widen(part(inputs.tokens, inputs.segments))[0]
    if known.family == "electra":
        hidden = known.model.electra.embeddings_project(part(inputs.tokens, inputs.segments))[0]
    assert answer.outcome == pytest.approx(hidden.norm(dim=-1).numpy(), abs=CLOSE)


def test_rows_are_ids_positions_and_segments(known):
    answer = embed(known.checkpoint, Embed(checkpoint=known.folder, text=TEXT, pair=PAIR))
    by_table = {addend.table: addend.rows for addend in answer.addends}
    assert by_table["token"] == tuple(token.id for token in answer.tokens)
    spec = known.checkpoint.network.spec
    first = spec.position_rows - spec.max_positions
    if spec.parts.positions != "learned":
        assert "position" not in by_table
    else:
        assert by_table["position"] == tuple(range(first, first + len(answer.tokens)))
    if not spec.segment_rows:
        assert "segment" not in by_table
    else:
        segments = [token.segment for token in answer.tokens]
        assert by_table["segment"] == tuple(
            segments if known.family != "roberta" else [0] * len(segments)
        )


def test_a_masked_word_has_the_vector_of_the_mask(known):
    unmasked = embed(known.checkpoint, Embed(checkpoint=known.folder, text=TEXT))
    masked = embed(known.checkpoint, Embed(checkpoint=known.folder, text=TEXT, masked=(2,)))
    assert masked.addends[0].rows[2] == known.checkpoint.tokenizer.mask
    assert masked.addends[0].norms[2] != pytest.approx(unmasked.addends[0].norms[2], abs=CLOSE)
    assert masked.addends[1:] == unmasked.addends[1:]
    assert masked.tokens == unmasked.tokens


def test_the_network_is_unchanged(tiny, tiny_folder):
    embed(tiny, Embed(checkpoint=tiny_folder, text="the cat"))
    assert not any(m._forward_hooks for m in tiny.network.modules())
