"""Map stored tensors to our parameters, and report mismatches.

Names and shapes decide, before a network is built or a tensor is read.
"""

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from engine.checkpoints.config import CONFIG, TIED_KEY, first_architecture
from engine.checkpoints.fit import nsp_head_error
from engine.checkpoints.heads import PROBE_OUTPUT, TASK, head_kind, kind_among, label_names
from engine.config.families import FAMILIES
from engine.config.model import EncoderSpec
from engine.config.sentence import SentenceSpec
from engine.config.tasks import POOLING, TASKS, added_layers, get_head
from engine.errors import BadCheckpoint
from engine.files.untrusted import AGAIN, safe_name
from engine.models.heads import Heads
from engine.models.network import meta_network, mlm_head_parameters
from engine.models.published import (
    NO_HEADS,
    WINDOW_SCORE,
    is_buffer,
    labels_in,
    probe_in,
    published_name,
)
from engine.models.weight_files import WeightFiles
from engine.phrases import fill_template, phrase

NSP_HEAD = ["nsp.dense.weight", "nsp.dense.bias"]


@dataclass
class StateDictMapping:
    """Loading plan: `sources` maps our names to those in the file; the rest is for the report."""

    heads: Heads
    sources: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class StateDictMapper:
    """Compares the tensors of a file with a spec."""

    def __init__(
        self,
        weights: WeightFiles,
        spec: EncoderSpec,
        config: dict[str, Any],
        file: str = CONFIG,
        sentence: SentenceSpec | None = None,
    ) -> None:
        """`file`: name of the config in messages; `sentence`: the pooling, if any."""
        self._sentence = sentence
        self._files, self._spec, self._config, self._file = weights, spec, config, file
        self._family = FAMILIES[spec.family]
        self._decoder, self._decoder_bias = self._family.decoder
        self._notes: list[str] = []
        self._names: dict[str, str] = {}  # normalised name → name in the file
        for name, current in self._family.current_names(weights.shapes, FAMILIES).items():
            if not is_buffer(name):
                self._names.setdefault(current, name)
        detection_head = self._family.detection_head
        if detection_head and any(name.startswith(detection_head) for name in self._names):
            for name in self._mlm_head():  # untrained copy next to a detection head
                self._names.pop(name, None)
        self._copies = {n for n in (self._decoder_bias,) if n in self._names}
        if self._copies:  # stored twice; transformers uses the decoder's
            bias = self._family.published_name("mlm.bias")
            if bias in self._names:
                self._copies.add(bias)
            self._copies = {self._names[name] for name in self._copies}
            self._names[bias] = self._names[self._decoder_bias]
        self._own_decoder = self._has_own_decoder()

    def map(self, requested: Heads | None, labels: tuple[str, ...]) -> StateDictMapping:
        """Plan to load the given heads, or those in the file.

        Raises BadCheckpoint if an encoder tensor is missing, or a shape contradicts config.json.
        """
        self._check_layers()
        plan = StateDictMapping(
            self._present_heads() if requested is None else requested, notes=self._notes
        )
        plan.heads = replace(
            plan.heads,
            own_decoder=plan.heads.mlm and self._own_decoder,
            sentence=plan.heads.sentence or self._sentence,
        ).resolve(self._spec)
        self._check_nsp(plan.heads)
        keep_head = requested is None or self._is_same_head(plan.heads, labels)
        keep_probe = plan.heads == self._probe_in_file() and (
            requested is None
            or labels_in(self._config)[: get_head(plan.heads.kind).labels_of(plan.heads.outputs)]
            == labels
        )
        network = meta_network(self._spec, plan.heads)
        required: list[str] = []
        for ours, parameter in network.named_parameters():
            published = published_name(ours, self._family, plan.heads)
            name = self._names.get(published)
            is_dropped = (ours.startswith("task.") and not keep_head) or (
                ours.startswith("probe.") and not keep_probe
            )
            if name is None or is_dropped:
                needed = ours.startswith("encoder.") and not ours.startswith("encoder.pooler.")
                (required if needed else plan.missing).append(published if needed else ours)
            else:
                self._check_shape(name, tuple(parameter.shape))
                plan.sources[ours] = name
        self._check_missing(required)
        used = {*plan.sources.values(), *self._tied_copies(plan)}
        unused = [n for n in self._files.shapes if n not in used and not is_buffer(n)]
        plan.unexpected = [*unused, *self._files.others]
        for prefix, remark in self._family.remarks.items():
            if any(name.startswith(prefix) for name in unused):
                self.note(remark)
        return plan

    def note(self, text: str, **values: object) -> None:
        self._notes.append(fill_template(text, **values))

    def _present_heads(self) -> Heads:
        if (probe_heads := self._probe_in_file()) is not None:
            return probe_heads
        kind, outputs = (POOLING, 1) if self._sentence is not None else self._head_in_file()
        family = self._family
        mlm = self._has(self._mlm_head(outputs, kind), phrase("MLM head"))
        if mlm and self._own_decoder and not self._decoder_fits():
            self.note(
                "The decoder of the MLM head differs in shape from the token embeddings; the "
                "head was not loaded."
            )
            mlm = False
        declared = first_architecture(self._config)
        layered = tuple(head.architecture for _, head in added_layers())
        if declared.endswith(layered) and not outputs:
            self.note(
                "{file} names {declared}, but the file has no head for it.",
                file=self._file,
                declared=declared,
            )
        pretrains = ("ForMaskedLM", *["ForPreTraining"] * self._family.has_nsp_head)
        if declared.endswith(pretrains) and not mlm:
            self.note("{file} names an MLM head, but none was loaded.", file=self._file)
        pooler = family.pooler(get_head(kind) if outputs else None)
        leaves = ("weight", *["bias"] * self._spec.head_biases)
        return Heads(
            mlm=mlm,
            nsp=self._family.has_nsp_head
            and self._has([family.published_name(n) for n in NSP_HEAD], phrase("NSP head")),
            outputs=outputs,
            pooler=bool(pooler) and self._has([f"{pooler}{leaf}" for leaf in leaves], "pooler"),
            kind=kind,
            sentence=self._sentence,
            scores_windows=outputs > 0 and WINDOW_SCORE in self._names,
        )

    def _mlm_head(self, outputs: int = 0, kind: str = NO_HEADS.kind) -> list[str]:
        """Published names of the MLM head in a file with this task head."""
        heads = Heads(mlm=True, outputs=outputs, kind=kind)
        return [published_name(n, self._family, heads) for n in mlm_head_parameters(self._spec)]

    def _probe_in_file(self) -> Heads | None:
        probe = probe_in(self._config)
        if probe is None or not probe.trains_probe or PROBE_OUTPUT not in self._names:
            return None
        count = self._count_rows(PROBE_OUTPUT)
        heads = Heads(outputs=count, kind=head_kind(self._config, count), features=probe)
        names = [n for n, _ in meta_network(self._spec, heads).named_parameters()]
        needed = [name for name in names if name.startswith("probe.")]
        return heads if count and self._has(needed, "probe") else None

    def _has(self, names: list[str], head: str) -> bool:
        present = [name for name in names if name in self._names]
        if present and len(present) < len(names):
            self.note("The {head} in the file is incomplete; it was not loaded.", head=head)
        return len(present) == len(names)

    def _head_in_file(self) -> tuple[str, int]:
        """Task and number of outputs of the head in the file; 0 outputs: no head."""
        tasks = self._family.all_task_names()
        names = next((n for n in tasks if n[0] in self._names), next(iter(tasks)))
        if not self._has(list(names), phrase("task head")):
            return NO_HEADS.kind, 0
        count = self._count_rows(names[0])
        kind = self._task_kind(names, count)
        head = get_head(kind)
        fits = count == head.outputs_for(max(head.labels_of(count), 1))
        if self._family.task_names(head) != names or not fits:
            self.note(
                "The task head in the file has {count} outputs, and {kind} has {outputs}, so it "
                "was not loaded.",
                count=count,
                kind=TASKS[kind].info.title,
                outputs=head.outputs_for(1),
            )
            return NO_HEADS.kind, 0
        states = (TASK, "problem_type")
        layered = tuple(head.architecture for _, head in added_layers())
        is_stated = first_architecture(self._config).endswith(layered)
        is_open = not is_stated and not any(map(self._config.get, states))
        if is_open and len(tasks[names]) > 1:
            self.note(
                "{file} does not say whether its classifier is for texts or for tokens; it was "
                "loaded for {task}.",
                file=self._file,
                task=TASKS[kind].info.title,
            )
        named = len(self._config.get("id2label") or ()) or count
        if head.has_labels and named < count == self._config.get("num_labels"):
            self.note(
                "{file} names {named} of the {count} outputs of the task head; the others are "
                "called {names}.",
                file=self._file,
                named=named,
                count=count,
                names=", ".join(label_names({}, count)[named:]),
            )
        elif head.has_labels and named != count:
            raise BadCheckpoint(
                "{file} names {named} labels, but the task head in the file has {count} outputs.",
                AGAIN,
                file=self._file,
                named=named,
                count=count,
            )
        return kind, count

    def _task_kind(self, names: tuple[str, str], count: int) -> str:
        """Task of a head with these names; config.json decides between several."""
        return kind_among(self._family.all_task_names()[names], self._config, count)

    def _is_same_head(self, requested: Heads, labels: tuple[str, ...]) -> bool:
        """True if the file has the requested task head, or none."""
        names = self._family.task_names(get_head(requested.kind))
        weight = names[0]
        if requested.pools:
            return requested.sentence in (None, self._sentence)
        if not requested.outputs or weight not in self._names:
            return True
        count = self._count_rows(weight)
        kind = self._task_kind(names, count)
        stored_labels = labels_in(self._config)[: get_head(kind).labels_of(count)]
        is_same = (get_head(kind), count) == (requested.task, requested.outputs)
        if is_same and (not labels or not stored_labels or stored_labels == labels):
            return True
        self.note(
            "The task head in the file does not match ({kind}, {count} outputs); the "
            "required one ({kind2}, {outputs} outputs) is newly initialised.",
            kind=kind,
            count=count,
            kind2=requested.kind,
            outputs=requested.outputs,
        )
        return False

    def _count_rows(self, name: str) -> int:
        shape = self._files.shapes[self._names[name]]
        return shape[0] if shape else 0

    def _check_layers(self) -> None:
        """Compare layer counts first: config.json can claim any number."""
        before, after = (re.escape(part) for part in self._family.layer.split("{}"))
        layer = re.compile(rf"{before}(\d{{1,9}}){after}")
        indices = [int(m[1]) for m in map(layer.match, self._names) if m]
        stored, expected = max(indices, default=-1) + 1, self._spec.stored_layers
        layers = "layers" if expected == self._spec.layers else phrase("layer groups")
        if not stored:
            example = safe_name(next(iter([*self._files.shapes, *self._files.others])))
            raise BadCheckpoint(
                "The file contains no layers of {family}; it contains, for example, {example}.",
                "Choose a checkpoint of {family}.",
                family=self._family.title,
                example=example,
            )
        if stored < expected:
            raise BadCheckpoint(
                "{file} describes {expected} {layers}, but the file has {stored}.",
                AGAIN,
                file=self._file,
                expected=expected,
                layers=layers,
                stored=stored,
            )
        if stored > expected:
            self.note(
                "The file has {stored} {layers}, but {file} describes {expected}; the upper "
                "ones are not used.",
                stored=stored,
                layers=layers,
                file=self._file,
                expected=expected,
            )

    def _check_shape(self, name: str, expected: tuple[int, ...]) -> None:
        shape, dtype = self._files.shapes[name], self._files.dtypes[name]
        if shape != expected:
            raise BadCheckpoint(
                "{name} has the shape {shape} in the file, but {expected} according to {file}.",
                phrase("The two files belong to different models. ") + AGAIN,
                name=safe_name(name),
                shape=list(shape),
                expected=list(expected),
                file=self._file,
            )
        if dtype not in ("float64", "float32", "float16", "bfloat16"):
            raise BadCheckpoint(
                "{name} is stored as {dtype}, not as floating-point numbers.",
                "Choose a copy of this model that is not quantised.",
                name=safe_name(name),
                dtype=safe_name(dtype),
            )

    def _check_missing(self, required: list[str]) -> None:
        if required:
            raise BadCheckpoint(
                "{count} encoder tensors are missing in the file, for example {missing}.",
                "The file is incomplete or does not belong to this {file}. {again}",
                count=len(required),
                missing=required[0],
                file=self._file,
                again=AGAIN,
            )

    def _check_nsp(self, heads: Heads) -> None:
        """Refuse an NSP head in families without one."""
        if problem := nsp_head_error(heads.nsp, self._family):
            raise problem
        if heads.nsp and self._family.orders_pairs:
            self.note(
                "The sentence-order head of {family} is used as its NSP head.",
                family=self._family.title,
            )

    def _has_own_decoder(self) -> bool:
        """True if the MLM decoder is not tied to the token embedding.

        As in transformers: if config.json says so, or if both are stored and differ.
        """
        embedding = self._names.get(self._family.published_name("encoder.embeddings.token.weight"))
        decoder = self._names.get(self._decoder)
        if decoder is None or embedding is None:
            return False
        if self._config.get(TIED_KEY) is False or not self._decoder_fits():
            return True
        read = self._files.read
        return not torch.equal(read(decoder).float(), read(embedding).float())

    def _decoder_fits(self) -> bool:
        embedding = self._family.published_name("encoder.embeddings.token.weight")
        shapes = self._files.shapes
        return shapes[self._names[self._decoder]] == shapes[self._names[embedding]]

    def _tied_copies(self, plan: StateDictMapping) -> set[str]:
        """Duplicate tensors, if the head that uses them is loaded."""
        if not plan.heads.mlm:
            return set()
        self._note_decoder()
        decoder = {self._names[name] for name in (self._decoder,) if name in self._names}
        return self._copies if plan.heads.own_decoder else self._copies | decoder

    def _note_decoder(self) -> None:
        """Note contradictions between file and config.json about the decoder."""
        tied = self._config.get(TIED_KEY)
        if tied is False and not self._own_decoder:
            self.note(
                "{file} says that the MLM head has its own decoder, but the file has none; the "
                "token embeddings are used.",
                file=self._file,
            )
        if tied is not False and self._own_decoder:
            self.note(
                "The decoder in the file differs from the token embeddings, although {file} "
                "ties them; it is used, as in transformers.",
                file=self._file,
            )
        biases = sorted(self._copies) if tied is not False else []
        if len(biases) == 2 and not torch.equal(*(self._files.read(name) for name in biases)):
            self.note(
                "The file has two different biases for the MLM head; {used} is used, as in "
                "transformers.",
                used=safe_name(self._names[self._decoder_bias]),
            )


def as_float32(name: str, tensor: Tensor) -> Tensor:
    """Convert a stored tensor; raises BadCheckpoint if a value is not finite."""
    converted = tensor.detach().float().contiguous()
    if not is_finite(converted):
        raise BadCheckpoint(
            "{name} contains NaN or infinite values: the file is damaged, or the training "
            "diverged.",
            phrase("Use an earlier checkpoint, or ") + AGAIN[0].lower() + AGAIN[1:],
            name=safe_name(name),
        )
    return converted


def is_finite(tensor: Tensor) -> bool:
    """True if all values are finite; one pass, no copy."""
    minimum, maximum = tensor.aminmax()
    return math.isfinite(minimum) and math.isfinite(maximum)
