"""Write a checkpoint in Google's original TensorFlow 1 layout."""

import json
from pathlib import Path
from typing import Any

from engine.checkpoints.config import config_entries
from engine.checkpoints.tf1.bundle import write_bundle
from engine.checkpoints.tf1.names import google_name, is_transposed
from engine.config.families import FAMILIES
from engine.errors import StudioError
from engine.models.checkpoint import finite_tensors
from engine.models.network import Network
from engine.models.published import architecture, head_entries
from engine.phrases import phrase
from engine.tokenizers.folder import GOOGLE_CONFIG
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import WordPiece

PREFIX = "bert_model.ckpt"


def write_tf1(
    folder: Path, network: Network, tokenizer: Tokenizer, labels: tuple[str, ...] = ()
) -> None:
    """Write bert_config.json, vocab.txt and bert_model.ckpt into an empty folder.

    Weights are float32, named as in github.com/google-research/bert, with matrices [in, out]. The
    other tokenizer files are written too. The config also contains the norm epsilon and the class
    names, which Google's code ignores and `checkpoint.load` reads. Google's code supports relu and
    gelu only.

    Raises StudioError if a weight is not finite, if `vocab.txt` cannot hold the vocabulary, or if
    the network is causal or not of the BERT family.
    """
    problem = None
    if network.spec.family != "bert":
        problem = phrase(
            "The TensorFlow 1 format is for BERT only; this model is of the family {family}.",
            family=FAMILIES[network.spec.family].title,
        )
    elif not isinstance(tokenizer.vocabulary, WordPiece):
        problem = phrase("The TensorFlow 1 format has WordPiece vocabularies only.")
    elif any("\n" in token or "\r" in token for token in tokenizer.tokens):
        problem = phrase(
            "A token of this vocabulary contains a line break, which vocab.txt cannot store."
        )
    elif network.spec.is_causal:
        problem = phrase("The TensorFlow 1 format has no causal (left-to-right) models.")
    elif network.heads.own_decoder:
        problem = phrase(
            "The TensorFlow 1 format has no MLM head with a separate decoder, as in this model."
        )
    if problem is not None:
        raise StudioError(problem, "Choose the Hugging Face layout or ONNX.")
    tensors = {}
    for name, tensor in finite_tensors(network).items():
        google = google_name(name)
        tensors[google] = ("float32", (tensor.t() if is_transposed(google) else tensor).numpy())
    write_bundle(folder, PREFIX, tensors)
    spec, heads = network.spec, network.heads
    config: dict[str, Any] = config_entries(spec)
    if heads.outputs:
        config["architectures"] = [architecture(heads)]
        config |= head_entries(heads, labels)
    text = json.dumps(config, indent=2, ensure_ascii=False)
    (folder / GOOGLE_CONFIG).write_text(text + "\n", encoding="utf-8")
    tokenizer.save(folder, spec.max_positions)
