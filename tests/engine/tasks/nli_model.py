"""A small pair classifier with random weights, as published models for NLI."""

from pathlib import Path

import torch
import transformers

from engine.files.shipped import starter_model

MNLI = ("contradiction", "neutral", "entailment")


def save_nli_model(folder: Path, labels: tuple[str, ...] = MNLI, max_length: int = 40) -> Path:
    """Save the model with its tokenizer, as transformers does. Without labels: three unnamed."""
    tokenizer = transformers.BertTokenizerFast.from_pretrained(
        starter_model(), model_max_length=max_length
    )
    names = {"num_labels": 3} if not labels else {"id2label": dict(enumerate(labels))}
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        initializer_range=0.4,
        label2id={label: index for index, label in enumerate(labels)} or None,
        **names,
    )
    torch.manual_seed(3)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
