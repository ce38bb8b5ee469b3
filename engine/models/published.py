"""Names of published weights ↔ ours, and what config.json says of heads."""

import re
from typing import Any

from pydantic import ValidationError

from engine.checkpoints.config import CAUSAL, LAST, POOLED_FROM, TIED, entries_of
from engine.checkpoints.heads import PROBE_FIELDS, TASK
from engine.checkpoints.sentence_layout import dense_folder
from engine.config.families import FAMILIES
from engine.config.families.bert import FAMILY as BERT
from engine.config.families.family import Family
from engine.config.features import Features
from engine.config.model import EncoderSpec
from engine.config.tasks import head_of
from engine.models.heads import Heads
from engine.phrases import phrase

CODE = ("auto_map", "trust_remote_code", "custom_pipelines", "kernel_config", "use_kernels")
NO_HEADS = Heads()
OWN_DECODER = "mlm.decoder"  # has a name of its own only where it is not the token embedding


def published_name(ours: str, family: Family = BERT, heads: Heads = NO_HEADS) -> str:
    """The name under which transformers keeps one of our tensors, in a network with such heads."""
    if ours.startswith("probe."):  # ours alone: no class of transformers has one
        return ours
    if ours == OWN_DECODER:
        return family.decoder[0]
    if ours.startswith("task.layers."):  # of a head that pools: in files of their own
        _, _, number, rest = ours.split(".", 3)
        return f"{dense_folder(int(number))}/{rest}"
    if ours.startswith("task.dense."):
        return family.task_names(head_of(heads.kind))[ours.endswith("bias")]
    if family.pooler_of_head and heads.outputs and ours.startswith(("mlm.dense.", "mlm.norm.")):
        return ours  # the task head has its names
    if ours.startswith("encoder.pooler.dense."):
        beginning = family.pooler(heads.task) or family.names["encoder.pooler.dense."]
        return beginning + ours.rpartition(".")[2]
    return family.published(ours)


def current_name(published: str, family: Family = BERT) -> str:
    """A published name as it is written today: old ones lack the prefix, or say gamma and beta."""
    name = published.removeprefix("module.")
    if name.startswith(family.parts):
        name = f"{family.beginning}{name}"
    for alias, usual in family.aliases.items():
        if name.startswith(alias):
            name = usual + name.removeprefix(alias)
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)


def is_buffer(name: str) -> bool:
    """Whether a tensor only counts positions, which old files store and no network needs."""
    return name.endswith((".position_ids", ".token_type_ids"))


def custom_code_notes(config: dict[str, Any]) -> list[str]:
    """What of a config.json is passed over, in whole sentences."""
    return [
        phrase("config.json asks for custom code ({name}); it was ignored.", name=name)
        for name in CODE
        if config.get(name)
    ]


def labels_in(config: dict[str, Any]) -> tuple[str, ...]:
    """The classes in the order of their ids; empty where they are not named, from 0 on."""
    named = config.get("id2label")
    if not isinstance(named, dict):
        return ()
    by_id = {str(number): str(label) for number, label in named.items()}
    ordered = [by_id.get(str(number)) for number in range(len(by_id))]
    return tuple(label for label in ordered if label is not None) if None not in ordered else ()


def default_labels(count: int) -> tuple[str, ...]:
    """The labels of classes that nobody has named, as transformers calls them."""
    return tuple(f"LABEL_{number}" for number in range(count))


def build_config(
    spec: EncoderSpec, heads: Heads, labels: tuple[str, ...], dtype: str
) -> dict[str, Any]:
    """The config.json with which transformers loads our checkpoint under the right class."""
    config: dict[str, Any] = {
        "architectures": [architecture(heads, spec.family, spec.is_causal)],
        "model_type": spec.family,
        **entries_of(spec),
        TIED: not heads.own_decoder,
        "dtype": dtype,
    }
    if FAMILIES[spec.family].causal:
        config |= {CAUSAL: spec.is_causal, "position_embedding_type": "absolute"}
    if spec.is_causal and heads.pooler:
        config[POOLED_FROM] = LAST
    return config | head_entries(heads, labels)


def head_entries(heads: Heads, labels: tuple[str, ...]) -> dict[str, Any]:
    """What config.json says of the task head."""
    head = heads.task
    if head is None:
        return {}
    entries: dict[str, Any] = {TASK: {"kind": heads.kind}}
    if head.has_labels or head.problem_type:
        named = labels if len(labels) == heads.outputs else default_labels(heads.outputs)
        entries["id2label"] = {str(number): label for number, label in enumerate(named)}
        entries["label2id"] = {label: number for number, label in enumerate(named)}
    if head.problem_type:
        entries["problem_type"] = head.problem_type
    if heads.features is not None:
        entries["probe"] = heads.features.model_dump(mode="json", include=set(PROBE_FIELDS))
    return entries


def probe_in(config: dict[str, Any]) -> Features | None:
    """The probe that config.json describes; None where it describes none."""
    said = config.get("probe")
    if not isinstance(said, dict):
        return None
    try:
        return Features.model_validate({name: said[name] for name in PROBE_FIELDS if name in said})
    except ValidationError:
        return None


def architecture(heads: Heads, family: str = BERT.name, causal: bool = False) -> str:
    """The class in transformers that has these heads, or the encoder that a probe reads."""
    classes = FAMILIES[family].classes
    if heads.features is not None:
        return f"{classes}Model"
    if heads.task is not None:
        return classes + heads.task.architecture
    if causal and heads.mlm:
        return f"{classes}LMHeadModel"
    if heads.mlm and heads.nsp:
        return f"{classes}ForPreTraining"
    if heads.mlm:
        return f"{classes}ForMaskedLM"
    if not heads.nsp:
        return f"{classes}Model"
    return classes + FAMILIES[family].pair_head
