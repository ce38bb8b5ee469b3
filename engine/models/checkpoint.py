"""Save checkpoint folders in the Hugging Face layout; load that layout or Google's.

Imported folders are untrusted: no code in them is run, no file outside of them is read, and every
declaration is verified. Missing weights are always reported.
"""

import json
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from engine.checkpoints.config import CONFIG, parse_spec, with_family
from engine.checkpoints.heads import TASK, TEXTS, label_names
from engine.checkpoints.other_forms import folder_form
from engine.checkpoints.prediction_settings import (
    ACTIVATION,
    CROSS_ENCODER,
    ONE_NUMBER,
    activation_entries,
    activation_notes,
    cross_encoder_prompts,
    parse_settings,
    settings_entries,
    with_settings,
)
from engine.checkpoints.sentence_layout import (
    bounded,
    read_sentence,
    sentence_notes,
    write_cross_encoder,
    write_sentence,
)
from engine.checkpoints.source import copy_source
from engine.config.families import FAMILIES
from engine.config.model import EncoderSpec
from engine.config.sentence import SentenceSpec
from engine.errors import BadCheckpoint, StudioError
from engine.files.atomic_write import atomic_folder
from engine.files.snapshot_folder import shared_folder
from engine.files.untrusted import (
    check_content,
    check_folder,
    json_object,
    plain_file,
    safe_name,
    verify_in_parallel,
)
from engine.messages.reports import CheckpointInfo, LoadReport
from engine.models.adapters import find_adapter
from engine.models.heads import Heads
from engine.models.lora import merge_adapters
from engine.models.network import Network, init_parameter, meta_network
from engine.models.published import (
    build_config,
    custom_code_notes,
    published_name,
)
from engine.models.state_dict_mapping import (
    StateDictMapper,
    StateDictMapping,
    as_float32,
    is_finite,
)
from engine.models.weight_files import (
    SAFE,
    WeightFiles,
    check_memory,
    join_fused,
    open_weight_files,
    save_tensors,
    split_fused,
)
from engine.tokenizers import sentencepiece
from engine.tokenizers.folder import GOOGLE_CONFIG, class_notes
from engine.tokenizers.tokenizer import Tokenizer

TOKENIZER_FILES = (
    *("tokenizer.json", "vocab.txt", "vocab.json", "merges.txt"),
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *sentencepiece.FILES,
)
REMARKS = ("task_specific_params", "finetuning_task", TEXTS)  # of config.json, kept by copies
HALF_DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass
class Checkpoint:
    """Loaded checkpoint; the network is in eval mode, float32, on the CPU."""

    spec: EncoderSpec
    network: Network
    tokenizer: Tokenizer
    labels: tuple[str, ...]
    report: LoadReport
    config: dict[str, Any]
    dtype: str = "float32"  # as stored
    bytes: int = 0  # size of the weight files

    @property
    def max_length(self) -> int:
        """Usual maximum of tokens of an input: as the folder states, at most the positions."""
        return _usual_length(self.network, self.tokenizer)

    @property
    def info(self) -> CheckpointInfo:
        """Summary of the checkpoint."""
        heads = self.network.heads
        present = {
            "mlm": heads.mlm,
            "decoder": heads.own_decoder,
            "nsp": heads.nsp,
            "pooler": heads.pooler,
            heads.kind: heads.outputs > 0,
        }
        return CheckpointInfo(
            family=self.spec.family,
            layers=self.spec.layers,
            hidden_size=self.spec.hidden_size,
            heads=self.spec.heads,
            intermediate_size=self.spec.intermediate_size,
            max_positions=self.spec.max_positions,
            vocab_size=self.spec.vocab_size,
            parameters=sum(parameter.numel() for parameter in self.network.parameters()),
            task_heads=tuple(name for name, exists in present.items() if exists),
            labels=self.labels,
            lowercase=self.tokenizer.lowercase,
            max_length=self.max_length,
            causal=self.spec.is_causal,
            dtype=self.dtype,
            sentence=heads.sentence,
            bytes=self.bytes,
        )


def load(
    folder: Path,
    heads: Heads | None = None,
    labels: tuple[str, ...] = (),
    tokenizer: Tokenizer | None = None,
    base: Path | None = None,
) -> Checkpoint:
    """Load a checkpoint or snapshot with the given heads; None: those in the file.

    A head that is not in the file, or has other classes than `labels`, is initialised from torch's
    random state and reported. `tokenizer`: the folder's tokenizer, if it is loaded already. `base`:
    the base model of an adapter; by default the folder beside it that has its name.

    Raises BadCheckpoint, before anything is executed.
    """
    check_folder(folder)
    shared = shared_folder(folder)
    layout = read_sentence(shared)
    dense = {} if layout is None else layout.layers
    dense = {name: folder / path.relative_to(shared) for name, path in dense.items()}
    encoder_dir = shared if layout is None else layout.encoder
    folder = folder / encoder_dir.relative_to(shared)
    adapter = find_adapter(encoder_dir, base)
    source = encoder_dir if adapter is None else adapter.base
    folder = folder if adapter is None else adapter.base
    file, config = read_config(source)
    config = with_settings(source, config)
    spec = parse_spec(config, file)
    family = FAMILIES[spec.family]
    with ExitStack() as stack:
        stored = stack.enter_context(open_weight_files(folder, dense))
        if adapter is not None:
            stored = stack.enter_context(adapter.merged(stored, family))
            config = adapter.change_config(config, family, stored)
        weights = split_fused(stored, family.fused)
        names = [file, *TOKENIZER_FILES]
        if any(plain_file(encoder_dir, name) for name in TOKENIZER_FILES):
            source = encoder_dir
        with verify_in_parallel(folder, [*weights.files]), verify_in_parallel(source, names):
            tokenizer = tokenizer or _load_tokenizer(source, spec)
            spec = match_segments(spec, tokenizer)
            pooling = None if layout is None else bounded(layout.spec, spec.max_positions)
            pooling = None if pooling is None else _count_prompt(pooling, tokenizer)
            plan = StateDictMapper(weights, spec, config, file, pooling).map(heads, labels)
            network = _build_network(folder, spec, plan, weights)
    head = plan.heads.task
    count = head.labels_of(plan.heads.outputs) if head is not None and head.has_labels else 0
    report = LoadReport(
        loaded=tuple(plan.sources),
        missing=tuple(plan.missing),
        unexpected=tuple(safe_name(name) for name in plan.unexpected),
        notes=(
            *custom_code_notes(config),
            *(adapter.notes if adapter is not None else ()),
            *class_notes(source, tokenizer.vocabulary),
            *weights.notes,
            *plan.notes,
            *(sentence_notes(shared, pooling) if pooling is not None else ()),
            *(activation_notes(config, plan.heads.outputs) if heads is None else ()),
        ),
    )
    return Checkpoint(
        spec,
        network.eval(),
        tokenizer,
        labels if len(labels) == count else label_names(config, count),
        report,
        config,
        weights.dtype,
        weights.bytes,
    )


def examine(folder: Path) -> tuple[CheckpointInfo, LoadReport]:
    """Load a folder and report its content and the use of its tensors."""
    loaded = load(folder)
    return loaded.info, loaded.report


def write(
    folder: Path,
    network: Network,
    tokenizer: Tokenizer,
    labels: tuple[str, ...] = (),
    dtype: torch.dtype = torch.float32,
    extra: dict[str, Any] | None = None,
) -> None:
    """Write config.json, model.safetensors and the tokenizer into an empty folder.

    Args:
        labels: names of the classes, if there is a classification head.
        dtype: stored type of the weights; they are loaded as float32.
        extra: additional entries of config.json.

    Raises StudioError if a weight is not finite before or after conversion to `dtype`.
    """
    write_weights(folder, finite_tensors(network, dtype))
    write_config(folder, network, tokenizer, labels, dtype, extra)


def write_weights(folder: Path, tensors: dict[str, Tensor]) -> None:
    """Write the tensors of `finite_tensors`; those of dense layers into subfolders."""
    parts: dict[str, dict[str, Tensor]] = {"": {}}  # by subfolder
    for name, tensor in tensors.items():
        folder_name, _, inner = name.rpartition("/")
        parts.setdefault(folder_name, {})[inner] = tensor
    for folder_name, part in parts.items():
        (folder / folder_name).mkdir(exist_ok=True)
        save_tensors(part, folder / folder_name / SAFE, {"format": "pt"})


def write_config(
    folder: Path,
    network: Network,
    tokenizer: Tokenizer,
    labels: tuple[str, ...] = (),
    dtype: torch.dtype = torch.float32,
    extra: dict[str, Any] | None = None,
) -> None:
    """Write config.json and the tokenizer, without weights; see `write`."""
    config = build_config(network.spec, network.heads, labels, str(dtype).removeprefix("torch."))
    special = {
        "pad_token_id": tokenizer.pad,
        **dict.fromkeys(("bos_token_id", "cls_token_id"), tokenizer.cls),
        **dict.fromkeys(("eos_token_id", "sep_token_id"), tokenizer.sep),
    }
    entries = {**(extra or {}), **config, **special}
    prompts = cross_encoder_prompts(entries)
    if prompts:  # in a file of their own
        entries[CROSS_ENCODER] = {
            k: v for k, v in entries[CROSS_ENCODER].items() if k == ACTIVATION
        }
    if extra and TASK in extra:
        entries[TASK] = extra[TASK]  # all settings of the task, not only its kind
    if entries.get("problem_type") == ONE_NUMBER:
        entries |= activation_entries(parse_settings(entries))
    if prompts:
        write_cross_encoder(folder, prompts, entries[CROSS_ENCODER].get(ACTIVATION))
    text = json.dumps(entries, indent=2, ensure_ascii=False)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")
    length, sentence = _usual_length(network, tokenizer), network.heads.sentence
    if sentence is not None:
        sentence = sentence.model_copy(update={"max_length": length})
        write_sentence(folder, sentence, network.spec.hidden_size)
    tokenizer.save(folder, length)


def _usual_length(network: Network, tokenizer: Tokenizer) -> int:
    positions, sentence = network.spec.max_positions, network.heads.sentence
    stated = tokenizer.vocabulary.max_length if sentence is None else sentence.max_length
    return min(positions, stated or positions)


def finite_tensors(network: Network, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """Weights on the CPU by published name, with adapters merged.

    Raises StudioError like `write`.
    """
    family, heads = FAMILIES[network.spec.family], network.heads
    tensors: dict[str, Tensor] = {}
    for name, parameter in merge_adapters(network).items():  # the tied decoder appears once
        tensor = parameter.to("cpu", dtype).contiguous()
        if not is_finite(tensor):
            if is_finite(parameter.detach()):
                dtype_name = str(dtype).removeprefix("torch.")
                raise StudioError(
                    "Some weights are too large for {short} ({name}).",
                    "Choose bfloat16, which is as small but has the range of float32.",
                    short=dtype_name,
                    name=name,
                )
            raise StudioError(
                "The weights contain NaN or infinite values ({name}), so they were not saved.",
                "Resume from an earlier checkpoint with a lower learning rate.",
                name=name,
            )
        tensors[published_name(name, family, heads)] = tensor
    if heads.own_decoder and family.decoder[1]:  # transformers reads its bias from here
        tensors[family.decoder[1]] = tensors[family.published_name("mlm.bias")].clone()
    return join_fused(tensors, family.fused)


def save(
    folder: Path,
    network: Network,
    tokenizer: Tokenizer,
    labels: tuple[str, ...] = (),
    dtype: torch.dtype = torch.float32,
    extra: dict[str, Any] | None = None,
) -> None:
    """Save a checkpoint atomically; see `write`."""
    with atomic_folder(folder) as inside:
        write(inside, network, tokenizer, labels, dtype, extra)


def import_checkpoint(
    source: Path, target: Path, base: Path | None = None
) -> tuple[CheckpointInfo, LoadReport]:
    """Copy a loadable checkpoint and its heads in our layout, atomically.

    Source and licence are copied if known. Half precision is kept. `base` as in `load`.
    """
    loaded = load(source, base=base)
    with atomic_folder(target) as inside:
        dtype = write_copy(loaded, source, inside)
    info = loaded.info.model_copy(
        update={"dtype": str(dtype).removeprefix("torch."), "bytes": (target / SAFE).stat().st_size}
    )
    return info, loaded.report


def write_copy(loaded: Checkpoint, source: Path, folder: Path) -> torch.dtype:
    """Write a loaded checkpoint into an empty folder, in its stored precision.

    Includes task settings, source and licence. Returns the stored type.
    """
    dtype = HALF_DTYPES.get(loaded.dtype, torch.float32)
    extra = {TASK: loaded.config[TASK]} if TASK in loaded.config else {}
    extra |= kept_entries(loaded)
    write(folder, loaded.network, loaded.tokenizer, loaded.labels, dtype, extra)
    copy_source(source, folder)
    return dtype


def kept_entries(loaded: Checkpoint) -> dict[str, Any]:
    """Entries of config.json that copies and exports keep, besides those of network and heads."""
    task = loaded.network.heads.task
    names = (*REMARKS, *(("problem_type",) if task and not task.problem_type else ()))
    kept = {name: loaded.config[name] for name in names if name in loaded.config}
    prompts = cross_encoder_prompts(loaded.config)
    kept |= settings_entries(parse_settings(loaded.config))
    if prompts:
        kept[CROSS_ENCODER] = {**kept.get(CROSS_ENCODER, {}), "prompts": prompts}
    return kept


def read_config(folder: Path) -> tuple[str, dict[str, Any]]:
    """Name and content of the config file of a folder."""
    for name in (CONFIG, GOOGLE_CONFIG):
        if (config := json_object(folder, name)) is not None:
            return name, with_family(config, os.listdir(folder))
    raise folder_form(folder) or BadCheckpoint(
        "{folder} has neither {config} nor {google_config}, so it is not a checkpoint folder.",
        "Choose the folder that contains the files of a model.",
        folder=safe_name(folder.name),
        config=CONFIG,
        google_config=GOOGLE_CONFIG,
    )


def _load_tokenizer(folder: Path, spec: EncoderSpec) -> Tokenizer:
    for name in TOKENIZER_FILES:
        if (path := plain_file(folder, name)) is not None:
            check_content(path)
    tokenizer = Tokenizer.from_folder(folder)
    if spec.fixed_pad_id not in (None, tokenizer.pad):
        raise BadCheckpoint(
            "The padding token has id {pad_token_id} in config.json, but {pad} in the vocabulary.",
            "The tokenizer belongs to a different model. Copy the one that came with this model.",
            pad_token_id=spec.fixed_pad_id,
            pad=tokenizer.pad,
        )
    too_many = tokenizer.tokens[spec.vocab_size :]
    if too_many and tokenizer.vocabulary.unsplit.issuperset(too_many):
        raise BadCheckpoint(
            "The vocabulary has {n} added token(s) without an embedding, such as “{token}”.",
            "Call resize_token_embeddings of transformers, and save the model again.",
            n=len(too_many),
            token=safe_name(too_many[0]),
        )
    if too_many:
        raise BadCheckpoint(
            "The vocabulary has {size} tokens, but the model has embeddings for {vocab_size}.",
            "The tokenizer belongs to a different model. Copy the one that came with this model.",
            size=tokenizer.size,
            vocab_size=spec.vocab_size,
        )
    return tokenizer


def _count_prompt(sentence: SentenceSpec, tokenizer: Tokenizer) -> SentenceSpec:
    """Set the number of tokens of a prompt that is not pooled, with [CLS]."""
    if sentence.pools_prompt or not sentence.prompt:
        return sentence
    tokens = len(tokenizer.encode(sentence.prompt).ids) - 1  # without the last [SEP]
    return sentence.model_copy(update={"prompt_tokens": tokens})


def match_segments(spec: EncoderSpec, tokenizer: Tokenizer) -> EncoderSpec:
    """Enable segment embeddings only if the tokenizer sets segments."""
    if spec.segment_rows < 2:
        return spec
    return spec.model_copy(update={"one_segment": not tokenizer.vocabulary.second_segment})


def _build_network(
    folder: Path, spec: EncoderSpec, plan: StateDictMapping, weights: WeightFiles
) -> Network:
    """Build the network and fill it from the file; missing tensors are initialised."""
    network = meta_network(spec, plan.heads)
    shapes = {name: parameter.shape for name, parameter in network.named_parameters()}
    check_memory(4 * sum(shape.numel() for shape in shapes.values()), folder.name)
    for ours, shape in shapes.items():
        if (name := plan.sources.get(ours)) is not None:
            tensor = as_float32(name, weights.read(name))
        else:
            tensor = torch.empty(shape)
            init_parameter(ours, tensor, spec)
        module, _, leaf = ours.rpartition(".")
        setattr(network.get_submodule(module), leaf, nn.Parameter(tensor))
    network.tie()
    return network
