"""Small folders of each family, as transformers saves them, with widely spread weights."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers

from engine.config.families import FAMILIES
from engine.config.families.albert import AlbertSpec
from engine.config.families.bert import BertSpec
from engine.config.families.camembert import CamembertSpec
from engine.config.families.deberta import DebertaSpec
from engine.config.families.distilbert import DistilBertSpec
from engine.config.families.electra import ElectraSpec
from engine.config.families.ernie import ErnieSpec
from engine.config.families.gte import GteSpec
from engine.config.families.modernbert import ModernBertSpec
from engine.config.families.mpnet import MpnetSpec
from engine.config.families.nomic import NomicBertSpec
from engine.config.families.roberta import RobertaSpec
from engine.config.families.xlm_roberta import XlmRobertaSpec
from engine.config.model import EncoderSpec
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import SPECIAL, WordPiece
from tests.engine.models import added_heads
from tests.engine.tokenizers.published_tokenizers import (
    byte_level,
    many_languages,
    sentence_pieces,
    word_pieces,
)

TEXTS = ["A quiet wonder of a film, isn't it?", "Nobody laughs; 12 of us — naïve — left."] * 20
LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = (*LETTERS, *(f"##{letter}" for letter in LETTERS), "quiet", "film", ".", ",", "?")
LABELS = ("bad", "good", "so-so")


@dataclass(frozen=True)
class Example:
    """A family at a small size and at that of its base model."""

    classes: str  # the beginning of transformers' names
    spec: EncoderSpec
    base: EncoderSpec
    sizes: dict[str, Any]  # for transformers' config, at the small size
    suffixes: tuple[str, ...]  # of transformers' classes for pre-training

    @property
    def has_segments(self) -> bool:
        """True if transformers uses segments for this family."""
        return self.spec.segment_rows > 1


SIZES = {
    "vocab_size": 700,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "initializer_range": 0.2,
}
SMALL: dict[str, Any] = {
    "vocab_size": 700,
    "hidden_size": 24,
    "layers": 3,
    "heads": 4,
    "intermediate_size": 40,
    "initializer_range": 0.2,
}
EXAMPLES = {
    "bert": Example(
        "Bert",
        BertSpec(**SMALL, max_positions=48),
        BertSpec(),
        SIZES | {"max_position_embeddings": 48},
        ("Model", "ForMaskedLM", "ForNextSentencePrediction", "ForPreTraining"),
    ),
    "distilbert": Example(
        "DistilBert",
        DistilBertSpec(**SMALL, max_positions=48),
        DistilBertSpec(layers=6),
        {
            "vocab_size": 700,
            "dim": 24,
            "n_layers": 3,
            "n_heads": 4,
            "hidden_dim": 40,
            "initializer_range": 0.2,
            "max_position_embeddings": 48,
        },
        ("Model", "ForMaskedLM"),
    ),
    "roberta": Example(
        "Roberta",
        RobertaSpec(**SMALL, max_positions=48, layer_norm_eps=1e-5),
        RobertaSpec(vocab_size=50265, layer_norm_eps=1e-5),
        SIZES | {"max_position_embeddings": 50, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        ("Model", "ForMaskedLM"),
    ),
    "xlm-roberta": Example(
        "XLMRoberta",
        XlmRobertaSpec(**SMALL, max_positions=48, layer_norm_eps=1e-5),
        XlmRobertaSpec(vocab_size=250002, layer_norm_eps=1e-5),
        SIZES | {"max_position_embeddings": 50, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        ("Model", "ForMaskedLM"),
    ),
    "camembert": Example(
        "Camembert",
        CamembertSpec(**SMALL, max_positions=48, layer_norm_eps=1e-5),
        CamembertSpec(vocab_size=32005, layer_norm_eps=1e-5),
        SIZES | {"max_position_embeddings": 50, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        ("Model", "ForMaskedLM"),
    ),
    "albert": Example(
        "Albert",
        AlbertSpec(**SMALL, max_positions=48, embedding_size=10),
        AlbertSpec(vocab_size=30000),
        SIZES | {"max_position_embeddings": 48, "embedding_size": 10, "hidden_act": "gelu_new"},
        ("Model", "ForMaskedLM", "ForPreTraining"),
    ),
    "electra": Example(
        "Electra",
        ElectraSpec(**SMALL, max_positions=48, embedding_size=10),
        ElectraSpec(embedding_size=768),
        SIZES | {"max_position_embeddings": 48, "embedding_size": 10},
        ("Model", "ForMaskedLM"),
    ),
    "ernie": Example(
        "Ernie",
        ErnieSpec(**SMALL, max_positions=48, task_embedding=True),
        ErnieSpec(),
        SIZES | {"max_position_embeddings": 48, "use_task_id": True},
        ("Model", "ForMaskedLM", "ForNextSentencePrediction", "ForPreTraining"),
    ),
    "mpnet": Example(
        "MPNet",
        MpnetSpec(**SMALL, max_positions=48),
        MpnetSpec(vocab_size=30527),
        SIZES | {"max_position_embeddings": 50},
        ("Model", "ForMaskedLM"),
    ),
    "deberta-v2": Example(
        "DebertaV2",
        DebertaSpec(
            **SMALL,
            max_positions=48,
            absolute_positions=False,
            position_buckets=4,
            segments=2,
            convolution=3,
            convolution_activation="gelu",
        ),
        DebertaSpec(vocab_size=128100, absolute_positions=False, position_buckets=256),
        SIZES
        | {
            "max_position_embeddings": 48,
            "position_biased_input": False,
            "position_buckets": 4,
            "type_vocab_size": 2,
            "conv_kernel_size": 3,
            "conv_act": "gelu",
            **FAMILIES["deberta-v2"].constants,
        },
        ("Model", "ForMaskedLM"),
    ),
    "modernbert": Example(
        "ModernBert",
        ModernBertSpec(**SMALL, max_positions=48, window=6, global_every=2, rotary_base=100.0),
        ModernBertSpec(vocab_size=50368, layers=22, intermediate_size=1152),
        SIZES
        | {
            "max_position_embeddings": 48,
            "local_attention": 6,
            "global_attn_every_n_layers": 2,
            "pad_token_id": 0,
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 160_000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
            },
        },
        ("Model", "ForMaskedLM"),
    ),
    "nomic_bert": Example(
        "NomicBert",
        NomicBertSpec(**SMALL, max_positions=48, rotary_base=100.0),
        NomicBertSpec(vocab_size=30528),
        SIZES
        | {
            "max_position_embeddings": 48,
            "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
        },
        ("Model", "ForMaskedLM"),
    ),
    "gte": Example(
        "Gte",
        GteSpec(**SMALL, max_positions=48, rotary_base=100.0),
        GteSpec(vocab_size=250048),
        SIZES
        | {
            "max_position_embeddings": 48,
            "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
        },
        ("Model", "ForMaskedLM"),
    ),
}

OTHERS = tuple(name for name in EXAMPLES if name != "bert")
OWN_NETWORKS = tuple({FAMILIES[name].network: name for name in reversed(OTHERS)}.values())[::-1]


def write_tokenizer(family: str, folder: Path) -> Path:
    """A tokenizer of the kind the family uses, trained once."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in _tokenizer_files(family).items():
        (folder / name).write_bytes(content)
    return folder


@cache
def _tokenizer_files(family: str) -> dict[str, bytes]:
    with TemporaryDirectory() as name:
        _train_tokenizer(family, Path(name))
        return {file.name: file.read_bytes() for file in Path(name).iterdir()}


def _train_tokenizer(family: str, folder: Path) -> Path:
    if family == "roberta":
        return byte_level(folder, TEXTS, 500)
    if family in ("xlm-roberta", "camembert", "gte"):
        written = "xlm-roberta" if family == "gte" else family
        return many_languages(folder, TEXTS, 120, written)
    if family == "mpnet":
        return word_pieces(folder, WORDS)
    if family in ("albert", "deberta-v2"):
        return sentence_pieces(folder, TEXTS, 120)
    Tokenizer(WordPiece(tokens=(*SPECIAL, *WORDS))).save(folder)
    return folder


def transformers_class(family: str, suffix: str) -> Any:
    """Class in transformers, or our head on its encoder if there is none."""
    name = f"{EXAMPLES[family].classes}{suffix}"
    return getattr(transformers, name, None) or getattr(added_heads, name)


def published_model(family: str, suffix: str, **settings: Any) -> Any:
    """A model of transformers with random weights, biases and norms included."""
    example = EXAMPLES[family]
    torch.manual_seed(3)
    config = getattr(transformers, f"{example.classes}Config")(**{**example.sizes, **settings})
    config._attn_implementation = "eager"
    model = transformers_class(family, suffix)(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def published_folder(family: str, suffix: str, folder: Path, **settings: Any) -> tuple[Path, Any]:
    """The folder of such a model with a tokenizer, and the model."""
    model = published_model(family, suffix, **settings)
    model.save_pretrained(folder)
    return write_tokenizer(family, folder), model
