"""Names of published weights ↔ ours, and their config.json ↔ our spec."""

import re
from typing import Any

from pydantic import ValidationError

from engine.data.foreign import shown
from engine.data.head_kinds import ARCHITECTURES, NAMED, PROBLEMS, head_names
from engine.errors import BadCheckpoint
from engine.models.heads import Heads
from engine.spec.model import BertSpec
from engine.spec.task import HeadKind

PARTS = (  # ours, published; the first of each that fits is put in the other's place
    ("encoder.embeddings.token.", "bert.embeddings.word_embeddings."),
    ("encoder.embeddings.position.", "bert.embeddings.position_embeddings."),
    ("encoder.embeddings.segment.", "bert.embeddings.token_type_embeddings."),
    ("encoder.embeddings.norm.", "bert.embeddings.LayerNorm."),
    ("encoder.layers.", "bert.encoder.layer."),
    (".attention.query.", ".attention.self.query."),
    (".attention.key.", ".attention.self.key."),
    (".attention.value.", ".attention.self.value."),
    (".attention.output.", ".attention.output.dense."),
    (".attention.norm.", ".attention.output.LayerNorm."),
    (".feed_forward.wide.", ".intermediate.dense."),
    (".feed_forward.narrow.", ".output.dense."),
    (".feed_forward.norm.", ".output.LayerNorm."),
    ("encoder.pooler.dense.", "bert.pooler.dense."),
    ("masked_words.dense.", "cls.predictions.transform.dense."),
    ("masked_words.norm.", "cls.predictions.transform.LayerNorm."),
    ("masked_words.bias", "cls.predictions.bias"),
    ("next_sentence.dense.", "cls.seq_relationship."),
)
DECODER = "cls.predictions.decoder.weight"  # tied to the token embedding, and often stored again
DECODER_BIAS = "cls.predictions.decoder.bias"  # the same as cls.predictions.bias
LAYER = re.compile(r"bert\.encoder\.layer\.(\d{1,9})\.")

CONFIG = "config.json"
SIZES = {  # config.json → spec; a config has all of these
    "vocab_size": "vocabulary",
    "hidden_size": "width",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "inner",
}
SETTINGS = {  # and may leave out these
    "max_position_embeddings": "positions",
    "type_vocab_size": "segments",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "hidden_act": "activation",
    "layer_norm_eps": "norm_eps",
    "initializer_range": "initial_spread",
}
CAUSAL = "is_decoder"  # a network without cross-attention is then left-to-right, and nothing else
# Of a left-to-right network we pool the last token, as Radford et al. 2018 do: [CLS] has seen
# nothing. transformers has no such class and pools [CLS] all the same; hence this entry of our own.
POOLED_FROM, LAST = "pooled_from", "last"
ACTIVATIONS = {"gelu_python": "gelu", "gelu_pytorch_tanh": "gelu_new"}  # other names of the same
CODE = ("auto_map", "trust_remote_code", "custom_pipelines", "kernel_config", "use_kernels")
ANOTHER_NETWORK = {  # what would make it another network than ours, and the values that do not
    "position_embedding_type": (None, "absolute"),
    "add_cross_attention": (None, False),
    "pruned_heads": (None, {}),
    "quantization_config": (None, {}),
}


def published_name(ours: str, kind: HeadKind = "classes") -> str:
    """The name under which transformers keeps one of our tensors, in a network with such a head."""
    if ours.startswith("task.dense."):
        return head_names(kind)[ours.endswith("bias")]
    name = ours
    for mine, theirs in PARTS:
        name = name.replace(mine, theirs, 1)
    return name


def present_name(published: str) -> str:
    """A published name as it is written today: old ones lack the prefix, or say gamma and beta."""
    name = published.removeprefix("module.")
    if name.startswith(("embeddings.", "encoder.", "pooler.")):
        name = f"bert.{name}"
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


def is_buffer(name: str) -> bool:
    """Whether a tensor only counts positions, which old files store and no network needs."""
    return name.endswith((".position_ids", ".token_type_ids"))


def spec_of(config: dict[str, Any], file: str = CONFIG) -> BertSpec:
    """The network that a config.json describes, or another `file` that is made like one.

    Raises BadCheckpoint for another kind of network, and for values that none can have.
    """
    family = config.get("model_type") or first_architecture(config)
    if family not in ("bert", "") and not str(family).startswith("Bert"):
        raise BadCheckpoint(
            f"This is a model of the kind “{shown(family)}”; BERT Studio reads BERT models.",
            "Choose a checkpoint whose config.json says model_type “bert”.",
        )
    for name, usual in ANOTHER_NETWORK.items():
        if config.get(name) not in usual:
            raise BadCheckpoint(
                f"{file} says {name} “{shown(config[name])}”, which this BERT does not have.",
                "Choose a checkpoint of the plain BERT encoder.",
            )
    pools_last = config.get(POOLED_FROM) == LAST
    if config.get(CAUSAL) is True and is_whole_text_head(config) and not pools_last:
        raise BadCheckpoint(
            f"{file} says {CAUSAL}, and its classes are told from [CLS], which sees only itself.",
            "Choose a checkpoint without a head for classes, and fine-tune it here.",
        )
    absent = [name for name in SIZES if name not in config]
    if absent:
        raise _bad_config(file, f"it lacks {', '.join(absent)}")
    known = SIZES | SETTINGS
    values = {ours: config[theirs] for theirs, ours in known.items() if theirs in config}
    if isinstance(values.get("activation"), str):
        values["activation"] = ACTIVATIONS.get(values["activation"], values["activation"])
    values["causal"] = config.get(CAUSAL) or False
    try:
        return BertSpec.model_validate(values, strict=True)
    except ValidationError as error:
        theirs = {"causal": CAUSAL} | {ours: name for name, ours in known.items()}
        raise _bad_config(
            file,
            "; ".join(
                f"{theirs.get(str(item['loc'][0]), '') if item['loc'] else 'sizes'}: {item['msg']}"
                for item in error.errors()
            ),
        ) from error


def first_architecture(config: dict[str, Any]) -> str:
    """The class in transformers that the weights were saved from; empty where none is named."""
    named = config.get("architectures")
    return named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""


def is_whole_text_head(config: dict[str, Any]) -> bool:
    """Whether the weights were saved from a class that reads the pooled vector of [CLS]."""
    read_it = ("ForSequenceClassification", "ForMultipleChoice", "ForNextSentencePrediction")
    return first_architecture(config).endswith(read_it)


def _bad_config(file: str, why: str) -> BadCheckpoint:
    return BadCheckpoint(
        f"{file} describes no network: {why}.", "Copy it again from where the model came."
    )


def notes_of(config: dict[str, Any]) -> list[str]:
    """What of a config.json is passed over, in whole sentences."""
    notes = [
        f"config.json asks for code of its own ({name}); it was passed over."
        for name in CODE
        if config.get(name)
    ]
    if config.get("classifier_dropout") is not None:
        notes.append("The dropout of its class head is not kept; that of the encoder is used.")
    return notes


def labels_of(config: dict[str, Any]) -> tuple[str, ...]:
    """The classes in the order of their ids; empty where they are not named, from 0 on."""
    named = config.get("id2label")
    if not isinstance(named, dict):
        return ()
    by_id = {str(number): str(label) for number, label in named.items()}
    ordered = [by_id.get(str(number)) for number in range(len(by_id))]
    return tuple(label for label in ordered if label is not None) if None not in ordered else ()


def unnamed(count: int) -> tuple[str, ...]:
    """The labels of classes that nobody has named, as transformers calls them."""
    return tuple(f"LABEL_{number}" for number in range(count))


def config_of(spec: BertSpec, heads: Heads, labels: tuple[str, ...], dtype: str) -> dict[str, Any]:
    """The config.json with which transformers loads our checkpoint under the right class."""
    config: dict[str, Any] = {
        "architectures": [architecture(heads, spec.causal)],
        "model_type": "bert",
        CAUSAL: spec.causal,
    }
    for theirs, ours in (SIZES | SETTINGS).items():
        config[theirs] = getattr(spec, ours)
    config |= {"position_embedding_type": "absolute", "tie_word_embeddings": True, "dtype": dtype}
    if spec.causal and heads.pooler:
        config[POOLED_FROM] = LAST
    return config | head_entries(heads, labels)


def head_entries(heads: Heads, labels: tuple[str, ...]) -> dict[str, Any]:
    """What config.json says of the task head."""
    if not heads.outputs:
        return {}
    entries: dict[str, Any] = {}
    if heads.kind in NAMED or heads.kind == "number":
        named = labels if len(labels) == heads.outputs else unnamed(heads.outputs)
        entries["id2label"] = {str(number): label for number, label in enumerate(named)}
        entries["label2id"] = {label: number for number, label in enumerate(named)}
    if heads.kind in PROBLEMS:
        entries["problem_type"] = PROBLEMS[heads.kind]
    return entries


def architecture(heads: Heads, causal: bool = False) -> str:
    """The class in transformers that has these heads."""
    if heads.outputs:
        return "Bert" + ARCHITECTURES[heads.kind]
    if causal and heads.masked_words:
        return "BertLMHeadModel"
    if heads.masked_words and heads.next_sentence:
        return "BertForPreTraining"
    if heads.masked_words:
        return "BertForMaskedLM"
    return "BertForNextSentencePrediction" if heads.next_sentence else "BertModel"
