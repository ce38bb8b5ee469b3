"""Outputs of a network and of transformers with the same weights."""

import re
from pathlib import Path

import torch
from torch import Tensor, nn

from engine.models.network import Network


def reference(kind: type, folder: Path, complete: bool = True) -> nn.Module:
    """The checkpoint, loaded by transformers without missing or unexpected tensors."""
    model, info = kind.from_pretrained(
        folder, attn_implementation="eager", output_loading_info=True, local_files_only=True
    )
    if complete:
        assert not info["missing_keys"]
        assert not info["unexpected_keys"]
    assert not info["mismatched_keys"]
    return model.float().eval()


def assert_close(ours: Tensor, other: Tensor) -> None:
    """Equal to 1e-5, relative to the largest number if that exceeds 1."""
    largest = max(1.0, other.abs().max().item())
    assert (ours - other).abs().max().item() <= 1e-5 * largest


@torch.no_grad()
def assert_equal(ours: Network, model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> None:
    """Hidden states of every layer, attention and outputs of every head."""
    ids, segments, real = batch
    inputs = {"input_ids": ids, "attention_mask": real.long()}
    if ours.spec.segment_rows > 1:
        inputs["token_type_ids"] = segments
    suffix = re.sub(r".*(?=For|Model)", "", type(model).__name__)
    if suffix == "ForMultipleChoice":  # there, all sequences are choices of one question
        inputs = {name: value[None] for name, value in inputs.items()}
    output = model(**inputs, output_hidden_states=True, output_attentions=True)
    explicit = ours.encoder(ids, segments, real, keep_weights=True, keep_hidden=True)
    fused = ours.encoder(ids, segments, real, keep_hidden=True)
    for a, b in zip(explicit.weights, output.attentions, strict=True):
        rows = real[:, None, :, None]
        assert torch.allclose(a * rows, b * rows, atol=1e-5, rtol=0)
    for encoded in (explicit, fused):
        for a, b in zip(encoded.hidden, output.hidden_states, strict=True):
            assert_close(a[real], b[real])
        match suffix:
            case "Model" if encoded.pooled is not None:
                assert_close(encoded.pooled, output.pooler_output)
            case "ForMaskedLM":
                assert_close(ours.mlm(encoded.last)[real], output.logits[real])
            case "ForNextSentencePrediction":
                assert_close(ours.nsp(encoded.pooled), output.logits)
            case "ForPreTraining":
                assert_close(ours.mlm(encoded.last)[real], output.prediction_logits[real])
                sop = getattr(output, "sop_logits", None)
                assert_close(
                    ours.nsp(encoded.pooled), output.seq_relationship_logits if sop is None else sop
                )
    if ours.task is None:
        return
    logits = ours.logits(ids, segments, real)
    if suffix == "ForQuestionAnswering":
        spans = torch.stack([output.start_logits, output.end_logits], -1)
        assert_close(logits[real], spans[real])
    else:
        index = real if suffix == "ForTokenClassification" else slice(None)
        assert_close(logits[index], output.logits.reshape(logits.shape)[index])
