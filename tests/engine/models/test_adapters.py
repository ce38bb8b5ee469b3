"""LoRA adapters of PEFT: merged with their base, they compute what PEFT computes."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file

from engine.checkpoints.info import checkpoint_info
from engine.errors import BadCheckpoint
from engine.models.checkpoint import import_checkpoint, load
from engine.models.heads import Heads
from tests.engine.models.small import LABELS, SPEC, batch
from tests.engine.models.small import folder as small_folder

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # of peft 0.21

SETTINGS = {
    "queries and values": ("SEQ_CLS", {"target_modules": ["query", "value"]}),
    "every linear layer, rank-stabilised": (
        "TOKEN_CLS",
        {
            "target_modules": ["query", "key", "dense"],
            "use_rslora": True,
            "rank_pattern": {"layer.0.attention.self.query": 2},
            "alpha_pattern": {"key": 3},
        },
    ),
    "answers": ("QUESTION_ANS", {"target_modules": ["query"]}),
    "a few tokens": (
        "TOKEN_CLS",
        {"target_modules": ["query"], "trainable_token_indices": {"word_embeddings": [5, 7]}},
    ),
    "embeddings and biases": (
        "FEATURE_EXTRACTION",
        {"target_modules": ["word_embeddings", "query"], "bias": "lora_only"},
    ),
}
DRY = SPEC.model_copy(update={"dropout": 0.0, "attention_dropout": 0.0})
CLASSES = {
    "SEQ_CLS": transformers.AutoModelForSequenceClassification,
    "TOKEN_CLS": transformers.AutoModelForTokenClassification,
    "QUESTION_ANS": transformers.AutoModelForQuestionAnswering,
    "FEATURE_EXTRACTION": transformers.AutoModel,
}


def write_adapter(folder: Path, name: str, **changes: Any) -> PeftModel:
    """An adapter in `folder`/adapter, and its base in `folder`/base."""
    task, options = SETTINGS[name]
    base = small_folder(folder / "base", Heads(pooler=True), DRY)
    torch.manual_seed(2)
    model = CLASSES[task].from_pretrained(base, **{"num_labels": 3} if "CLS" in task else {})
    config = LoraConfig(task_type=task, r=4, lora_alpha=9, init_lora_weights=False, **options)
    adapted = get_peft_model(model, config).eval()
    if "CLS" not in task and task != "QUESTION_ANS":
        torch.nn.init.normal_(adapted.base_model.model.encoder.layer[0].attention.self.query.bias)
    for part, parameter in adapted.named_parameters():
        if "trainable_tokens" in part:
            torch.nn.init.normal_(parameter)
    adapted.save_pretrained(folder / "adapter")
    path = folder / "adapter" / "adapter_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return adapted


@pytest.mark.parametrize("as_pickle", [False, True], ids=["safetensors", "bin"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_merged_adapter_computes_what_peft_computes(name, as_pickle, tmp_path):
    adapted = write_adapter(tmp_path, name)
    folder = tmp_path / "adapter"
    if as_pickle:
        file = folder / "adapter_model.safetensors"
        torch.save(load_file(file), folder / "adapter_model.bin")
        file.unlink()
    import_checkpoint(folder, tmp_path / "imported")
    tokens, segments, mask = batch()
    with torch.no_grad():
        # unmerged, PEFT 0.21 drops the segments of question answering
        output = adapted.merge_and_unload()(
            input_ids=tokens, token_type_ids=segments, attention_mask=mask.long()
        )
        expected = output[0]
        if "end_logits" in output:
            expected = torch.stack([output.start_logits, output.end_logits], dim=-1)
        for path in (folder, tmp_path / "imported"):
            loaded = load(path)
            network = loaded.network
            logits = network.logits if network.task else lambda *x, n=network: n.encode(*x).last
            result = logits(tokens, segments, mask)
            keep = mask if result.dim() == 3 else slice(None)
            np.testing.assert_allclose(result[keep], expected[keep], atol=1e-5)
    assert "merged with base" in load(folder).report.notes[0]
    assert checkpoint_info(tmp_path / "imported").task == network.heads.kind or not network.task


@pytest.mark.parametrize("count, labels", [(3, LABELS), (2, ("LABEL_0", "LABEL_1"))])
def test_labels_of_a_fine_tuned_base_stay_if_the_adapter_has_as_many(count, labels, tmp_path):
    base = small_folder(tmp_path / "base", Heads(outputs=3), DRY)
    names = {"num_labels": count, "ignore_mismatched_sizes": True} if count != len(LABELS) else {}
    model = CLASSES["SEQ_CLS"].from_pretrained(base, **names)
    config = LoraConfig(task_type="SEQ_CLS", target_modules=["query"], init_lora_weights=False)
    adapted = get_peft_model(model, config).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    loaded = load(tmp_path / "adapter")
    assert loaded.labels == labels
    tokens, segments, mask = batch()
    with torch.no_grad():
        expected = adapted(input_ids=tokens, token_type_ids=segments, attention_mask=mask.long())
        np.testing.assert_allclose(
            loaded.network.logits(tokens, segments, mask), expected.logits, atol=1e-5
        )


def test_the_base_may_be_given_and_is_named_if_it_is_missing(tmp_path):
    write_adapter(tmp_path, "queries and values")
    (tmp_path / "base").rename(tmp_path / "elsewhere")
    with pytest.raises(BadCheckpoint, match=r"only the difference to the model .*base"):
        load(tmp_path / "adapter")
    assert load(tmp_path / "adapter", base=tmp_path / "elsewhere").network.heads.outputs == 3
    with pytest.raises(BadCheckpoint, match="no LoRA adapter"):
        load(tmp_path / "elsewhere", base=tmp_path / "adapter")


@pytest.mark.parametrize(
    "changes",
    [
        *({"peft_type": "IA3"}, {"use_dora": True}, {"alpha_pattern": {"a|b": 1}}),
        *({"init_lora_weights": "pissa"}, {"lora_bias": True}, {"of_a_later_version": 1}),
    ],
    ids=str,
)
def test_other_adapters_are_refused_by_name(changes, tmp_path):
    write_adapter(tmp_path, "queries and values", **changes)
    name = next(iter(changes)) if "peft_type" not in changes else "IA3"
    with pytest.raises(BadCheckpoint, match=f"not supported: {name}"):
        load(tmp_path / "adapter")


def test_an_adapter_of_another_model_is_refused(tmp_path):
    write_adapter(tmp_path, "queries and values")
    shutil.rmtree(tmp_path / "base")
    small_folder(tmp_path / "base", spec=SPEC.model_copy(update={"hidden_size": 8}))
    with pytest.raises(BadCheckpoint, match=r"changes bert\.encoder.*which base does not have"):
        load(tmp_path / "adapter")
