"""Conversion between config.json and the spec of a network, for each family."""

import re
from collections.abc import Iterable
from typing import Any, get_args

from pydantic import ValidationError

from engine.checkpoints.other_networks import refusal
from engine.config.families import FAMILIES
from engine.config.families.bert import FAMILY as BERT
from engine.config.families.family import Family
from engine.config.model import Activation, EncoderSpec
from engine.config.validation import describe_problem
from engine.errors import BadCheckpoint
from engine.files.untrusted import safe_name
from engine.phrases import join, phrase

CONFIG = "config.json"
CAUSAL_KEY = "is_decoder"  # without cross-attention this means left-to-right
TIED_KEY = "tie_word_embeddings"  # False: the MLM decoder has separate weights
# Left-to-right networks pool the last token, as in Radford et al. 2018, since [CLS] sees nothing.
# transformers has no such class and pools [CLS] regardless; hence this entry of our own.
POOLED_FROM, LAST = "pooled_from", "last"
POOLING = "classifier_pooling"  # of ModernBERT; also in base models, which have no such head
SHOWN_BY = {  # entries of config.json, or files → family
    "num_hidden_groups": "albert",
    "n_layers": "distilbert",
    "merges.txt": "roberta",
    "sentencepiece.bpe.model": "xlm-roberta",
}
ACTIVATIONS = {  # synonyms
    "gelu_python": "gelu",
    "gelu_accurate": "gelu_new",
    "gelu_fast": "gelu_new",
    "gelu_python_tanh": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",
    "swish": "silu",
}
COMPATIBLE_VALUES: dict[
    str, tuple[object, ...]
] = {  # by entry, the values that our networks support
    "position_embedding_type": (None, "absolute"),
    "add_cross_attention": (None, False),
    "pruned_heads": (None, {}),
    "quantization_config": (None, {}),
}


def get_family(config: dict[str, Any]) -> Family:
    """The family of a config.json; BERT if unspecified, as in Google's.

    Raises BadCheckpoint for another kind of network.
    """
    declared = config.get("model_type") or first_architecture(config)
    if declared == "":
        return BERT
    name = str(declared)
    for family in FAMILIES.values():
        if name == family.name or re.match(f"{family.classes}(Model|For|LMHead)", name):
            return family
    *others, last = (family.title for family in FAMILIES.values())
    supported = phrase("{others} and {last}", others=", ".join(others), last=last)
    raise refusal(name, safe_name(name), supported)


def with_family(config: dict[str, Any], files: Iterable[str]) -> dict[str, Any]:
    """The config with its model_type, which transformers before 2.3 did not write.

    Other entries and the names of the `files` with it show the family then; BERT shows nothing.
    """
    if config.get("model_type") or first_architecture(config):
        return config
    shown = {*config, *files}
    family = next((family for name, family in SHOWN_BY.items() if name in shown), None)
    return config if family is None else {**config, "model_type": family}


def parse_spec(config: dict[str, Any], file: str = CONFIG) -> EncoderSpec:
    """The network that a config.json describes, or another `file` of the same form.

    Raises BadCheckpoint for another kind of network, and for invalid values.
    """
    family = get_family(config)
    config = family.normalize(config) if family.normalize else config
    for name, allowed in (COMPATIBLE_VALUES | family.others).items():
        if config.get(name) not in allowed:
            raise BadCheckpoint(
                "{file} sets {name} to “{config}”, which is not supported for {family}.",
                "Choose a checkpoint of the standard {family} encoder.",
                file=file,
                name=name,
                config=safe_name(config.get(name)),
                family=family.title,
            )
    if config.get(POOLING) == "mean" and is_whole_text_head(config):
        raise BadCheckpoint(
            "{file} sets {name} to “mean”, and heads here read [CLS].",
            "Choose a checkpoint without a classifier and fine-tune it here.",
            file=file,
            name=POOLING,
        )
    pools_last = config.get(POOLED_FROM) == LAST
    if config.get(CAUSAL_KEY) is True and is_whole_text_head(config) and not pools_last:
        raise BadCheckpoint(
            "{file} sets {causal}, but the classifier reads [CLS], which attends only to itself.",
            "Choose a checkpoint without a classifier and fine-tune it here.",
            file=file,
            causal=CAUSAL_KEY,
        )
    absent = [name for name in family.sizes if name not in config]
    if absent:
        raise _bad_config(file, phrase("it has no {absent}", absent=", ".join(absent)))
    values = _values(family, config)
    _check_activation(values.get("activation"), file)
    try:
        return family.spec.model_validate(values, strict=True)
    except ValidationError as error:
        names = {ours: name for name, ours in family.entries.items()}
        names["causal"] = CAUSAL_KEY
        raise _bad_config(
            file,
            join(
                "; ",
                (
                    phrase(
                        "{field}: {problem}",
                        field=names.get(str(item["loc"][0]), "")
                        if item["loc"]
                        else phrase("sizes"),
                        problem=describe_problem(item),
                    )
                    for item in error.errors()
                ),
            ),
        ) from error


def _check_activation(name: object, file: str) -> None:
    supported = get_args(Activation)
    if isinstance(name, str) and name not in supported:
        raise BadCheckpoint(
            "{file} asks for the activation “{named}”, which BERT Studio does not have.",
            "Choose a checkpoint with one of these: {known}.",
            file=file,
            named=safe_name(name),
            known=", ".join(supported),
        )


def _values(family: Family, config: dict[str, Any]) -> dict[str, Any]:
    """The unvalidated values of the fields of a spec."""
    entries = family.absent_defaults | config
    values: dict[str, Any] = {
        ours: entries[theirs] for theirs, ours in family.entries.items() if theirs in entries
    }
    if isinstance(values.get("activation"), str):
        values["activation"] = ACTIVATIONS.get(values["activation"], values["activation"])
    if family.causal:
        values["causal"] = config.get(CAUSAL_KEY) or False
    if family.positions_after_padding:
        rows, padding = values.get("max_positions", 512), values.get("pad_token_id", 1)
        if type(rows) is int and type(padding) is int:
            # rows up to the padding index are not positions
            values["max_positions"] = rows - padding - 1
    return values


def config_entries(spec: EncoderSpec) -> dict[str, Any]:
    """The entries of config.json for a network without its heads."""
    family = FAMILIES[spec.family]
    entries = {theirs: getattr(spec, ours) for theirs, ours in family.entries.items()}
    entries |= family.constants | {family.get_entry("max_positions"): spec.position_rows}
    return entries | family.extra_entries(entries) if family.extra_entries else entries


def first_architecture(config: dict[str, Any]) -> str:
    """The class in transformers that the weights were saved from; empty if unspecified."""
    names = config.get("architectures")
    return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""


def is_whole_text_head(config: dict[str, Any]) -> bool:
    """True if the weights were saved from a class that reads the pooled vector of [CLS]."""
    suffixes = ("ForSequenceClassification", "ForMultipleChoice", "ForNextSentencePrediction")
    return first_architecture(config).endswith(suffixes)


def _bad_config(file: str, why: str) -> BadCheckpoint:
    return BadCheckpoint(
        "{file} does not describe a valid model: {why}.",
        "Copy it again from the original model.",
        file=file,
        why=why,
    )
