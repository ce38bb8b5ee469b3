"""A family of networks: its spec and its published layout.

Fields of the spec name their entries of config.json. This file holds the rest: tensor names and
special properties of a family.

Tensor names map from our names to the published ones; {} stands for a layer's index.
"""

import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic.fields import FieldInfo

from engine.config.model import EncoderSpec, is_required, published_names, value_if_absent
from engine.config.task import SEQUENCE, Head
from engine.config.tasks import added_layers

NOT_CAUSAL: dict[str, tuple[object, ...]] = {"is_decoder": (None, False)}

BERT_LAYER = {  # ours → published, inside a layer
    "attention.query.": "attention.self.query.",
    "attention.key.": "attention.self.key.",
    "attention.value.": "attention.self.value.",
    "attention.output.": "attention.output.dense.",
    "attention.norm.": "attention.output.LayerNorm.",
    "feed_forward.wide.": "intermediate.dense.",
    "feed_forward.narrow.": "output.dense.",
    "feed_forward.norm.": "output.LayerNorm.",
}


def embedding_names(prefix: str) -> dict[str, str]:
    return {
        "encoder.embeddings.token.": f"{prefix}.embeddings.word_embeddings.",
        "encoder.embeddings.position.": f"{prefix}.embeddings.position_embeddings.",
        "encoder.embeddings.segment.": f"{prefix}.embeddings.token_type_embeddings.",
        "encoder.embeddings.norm.": f"{prefix}.embeddings.LayerNorm.",
    }


def mlm_names(dense: str, norm: str, bias: str) -> dict[str, str]:
    return {"mlm.dense.": dense, "mlm.norm.": norm, "mlm.bias": bias}


LM_HEAD = mlm_names("lm_head.dense.", "lm_head.layer_norm.", "lm_head.bias")
BERT_HEAD = mlm_names(
    "cls.predictions.transform.dense.",
    "cls.predictions.transform.LayerNorm.",
    "cls.predictions.bias",
)

WRAPPERS = re.compile(r"^(?:module\.|model\.)+|\b_orig_mod\.")  # of DDP, Lightning and compile

OWN_POOLER = ("classifier.dense.", "classifier.out_proj.")  # the pooler, and the layer after it


@dataclass(frozen=True)
class Family:
    """A family of networks, and its layout in transformers.

    Args:
        title: its name in papers.
        prefix: prefix of the tensor names; empty: its name.
        classes: prefix of the class names in transformers.
        spec: its network; the fields name their entries of config.json.
        layer: the published name of a layer, with {} for its index.
        inner: ours → published, for the parts of a layer.
        names: ours → published, for all other parts; missing heads are absent.
        decoder: additional names of the token embedding and of the bias of masked words.
        parts: prefixes of tensors in files without `prefix`.
        own_pooler: the pooler of its own classes and the layer after it, if they have one.
        network: its encoder, as module and class in `engine.models`.
        positions_after_padding: positions start after the padding id.
        lowercase: its tokenizers ignore case by default.
        pair_head: suffix of the class with only the head for two sentences.
        orders_pairs: that head was trained on their order, not on whether they belong together.
        remarks: prefixes of published tensors that are ignored, and the notes about them.
        aliases: alternative prefix → usual prefix of the same tensors.
        detection_head: prefix of a head for replaced tokens in place of that for masked words.
        constants: entries of config.json common to all our networks of the family.
        fused: parts of published names that hold several of our tensors, and their number.
        answers: prefix of the question-answering layer.
        pooler_of_head: the pooler belongs to a head for whole texts, whose layers are named as in
            the other heads.
        normalize: converts a config.json to the form that the fields name.
        extra_entries: returns further entries of a config.json from those of the fields.
        others: entries of config.json of other networks, with their neutral values.
    """

    title: str
    classes: str
    spec: type[EncoderSpec]
    network: str
    layer: str
    inner: dict[str, str]
    names: dict[str, str]
    decoder: tuple[str, ...]
    prefix: str = ""
    parts: tuple[str, ...] = ("embeddings.", "encoder.", "pooler.")
    own_pooler: tuple[str, str] | None = None
    others: dict[str, tuple[object, ...]] = field(default_factory=dict)
    positions_after_padding: bool = False
    lowercase: bool = True
    pair_head: str = "ForNextSentencePrediction"
    orders_pairs: bool = False
    remarks: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    detection_head: str = ""
    fused: dict[str, int] = field(default_factory=dict)
    answers: str = "qa_outputs."
    pooler_of_head: bool = False
    normalize: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    extra_entries: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    constants: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The “model_type” of a config.json."""
        return self.spec.family

    @property
    def sizes(self) -> dict[str, str]:
        """Entries of config.json → required fields of the spec."""
        return {name: ours for name, ours in self.entries.items() if is_required(self._field(ours))}

    @property
    def settings(self) -> dict[str, str]:
        """Entries of config.json → optional fields of the spec."""
        return {
            name: ours for name, ours in self.entries.items() if not is_required(self._field(ours))
        }

    @property
    def entries(self) -> dict[str, str]:
        """Entries of config.json → fields of the spec."""
        fields = self.spec.model_fields.items()
        return {name: ours for ours, info in fields for name in published_names(info)}

    @property
    def absent_defaults(self) -> dict[str, object]:
        """Defaults of transformers for missing entries, if they differ from ours."""
        defaults = {name: value_if_absent(self._field(ours)) for name, ours in self.entries.items()}
        return {name: value for name, value in defaults.items() if value is not None}

    def get_entry(self, field: str) -> str:
        """The entry of config.json for a field of the spec; one of them if it has several."""
        return published_names(self._field(field))[0]

    def _field(self, ours: str) -> FieldInfo:
        return self.spec.model_fields[ours]

    @property
    def causal(self) -> bool:
        """True if a network may be left-to-right."""
        return "causal" in self.spec.model_fields

    @property
    def tensor_prefix(self) -> str:
        """The prefix of its tensor names."""
        return f"{self.prefix or self.name}."

    def current_names(self, stored: Iterable[str], others: Container[str] = ()) -> dict[str, str]:
        """The normalised name of each tensor in a file, without what its program called the model.

        That is what is before the token embeddings, such as “backbone.”, if there is one encoder
        and it is not called after one of the families `others`.
        """
        names = {name: self.current_name(name) for name in stored}
        token = self.published_name("encoder.embeddings.token.weight")
        inner = token.removeprefix(self.tensor_prefix)
        found = [name for name in names if name.endswith(f".{inner}")]
        if len(found) != 1 or token in names.values():
            return names
        called = found[0].removesuffix(inner).removesuffix(self.tensor_prefix)
        if any(part in others for part in called.split(".")):
            return names
        return {name: self.current_name(name.removeprefix(called)) for name in names}

    def current_name(self, stored: str) -> str:
        """Normalise the name of a tensor in a file: wrappers, missing prefix, gamma and beta."""
        name = WRAPPERS.sub("", WRAPPERS.sub("", stored))
        if name.startswith(self.parts):
            name = f"{self.tensor_prefix}{name}"
        for alias, canonical in self.aliases.items():
            if name.startswith(alias):
                name = canonical + name.removeprefix(alias)
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)

    def published_name(self, ours: str) -> str:
        """Published name of one of our tensors, except those of the task head."""
        for prefix, theirs in self.names.items():
            if ours.startswith(prefix):
                return theirs + ours.removeprefix(prefix)
        if ours.startswith("encoder.layers."):
            _, _, index, inner = ours.split(".", 3)
            return self.layer.format(index) + _replace_prefix(inner, self.inner)
        raise ValueError(f"{ours} has no published name")

    def task_names(self, head: Head) -> tuple[str, str]:
        """The published names of the weight and bias of the fine-tuned layer."""
        if head.finds_spans:
            return f"{self.answers}weight", f"{self.answers}bias"
        pooler_names = self.own_pooler if head.architecture == SEQUENCE else None
        layer_name = pooler_names[1] if pooler_names else "classifier."
        return f"{layer_name}weight", f"{layer_name}bias"

    def all_task_names(self) -> dict[tuple[str, str], list[str]]:
        """The tasks, by the published names of their fine-tuned layer."""
        kinds: dict[tuple[str, str], list[str]] = {}
        for kind, head in added_layers():
            kinds.setdefault(self.task_names(head), []).append(kind)
        return kinds

    @property
    def has_nsp_head(self) -> bool:
        """True if it has a head for two sentences."""
        return "nsp.dense." in self.names

    def pooler(self, head: Head | None) -> str:
        """Published name of the pooler in a network with this head, or without a head (None).

        Empty if the network has no pooler.
        """
        if self.pooler_of_head and (head is None or head.reads_tokens):
            return ""
        if self.own_pooler and head is not None and head.architecture == SEQUENCE:
            return self.own_pooler[0]
        return self.names["encoder.pooler.dense."]


def _replace_prefix(name: str, prefixes: dict[str, str]) -> str:
    for ours, published in prefixes.items():
        if name.startswith(ours):
            return published + name.removeprefix(ours)
    raise ValueError(f"{name} has no published name")
