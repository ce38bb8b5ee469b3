"""LoRA adapters of PEFT, merged with their base model when they are loaded (Hu et al. 2022, §4)."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from engine.checkpoints.config import first_architecture
from engine.checkpoints.heads import TASK
from engine.checkpoints.sentence_layout import encoder_folder
from engine.config.families import FAMILIES
from engine.config.families.family import Family
from engine.config.task import SEQUENCE, SPANS, TOKENS
from engine.errors import BadCheckpoint
from engine.files.untrusted import check_folder, json_object, safe_name
from engine.models.weight_files import WeightFiles, open_weight_files, weight_files
from engine.phrases import phrase

SETTINGS = "adapter_config.json"
FILES = ("adapter_model.safetensors", "adapter_model.bin")
PREFIX = "base_model.model."
WRAPPERS = re.compile(r"\.(?:base_layer|modules_to_save)(?=\.)")
HEADS = {"SEQ_CLS": SEQUENCE, "TOKEN_CLS": TOKENS, "QUESTION_ANS": SPANS}
READ = {  # settings that are read, or affect no result; others are refused if they are set
    *("peft_type", "task_type", "base_model_name_or_path", "revision", "auto_mapping", "bias"),
    *("r", "lora_alpha", "use_rslora", "alpha_pattern", "rank_pattern", "init_lora_weights"),
    *("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern"),
    *("modules_to_save", "trainable_token_indices", "inference_mode", "lora_dropout"),
    *("eva_config", "megatron_core", "qalora_group_size", "peft_version"),
}
KEPT_BASES = (None, True, False, "gaussian", "eva", "orthogonal")  # others change the base
TOKENS_ADAPTER = ".token_adapter.trainable_tokens_delta"  # rows of the token embeddings
PARTS = {"A.weight": "B.weight", "embedding_A": "embedding_B"}  # of the two factors


@dataclass(frozen=True)
class Adapter:
    """An adapter with its base model."""

    folder: Path
    base: Path
    settings: dict[str, Any]

    @property
    def notes(self) -> list[str]:
        return [phrase("The adapter was merged with {base}.", base=self.base.name)]

    def change_config(
        self, config: dict[str, Any], family: Family, merged: WeightFiles
    ) -> dict[str, Any]:
        """The config of the base with the head of the adapter; as many labels stay."""
        head = HEADS.get(str(self.settings.get("task_type")))
        if head is None:
            return config
        names = {ours: name for name, ours in family.current_names(merged.shapes).items()}
        rows = [merged.shapes[names[w]][0] for w, _ in family.all_task_names() if w in names]
        if first_architecture(config).endswith(head) and rows[:1] == [
            len(config.get("id2label", ()))
        ]:
            return config
        replaced = ("id2label", "label2id", "num_labels", "problem_type", TASK)
        kept = {name: value for name, value in config.items() if name not in replaced}
        return kept | {"architectures": [family.classes + head]}

    @contextmanager
    def merged(self, base: WeightFiles, family: Family) -> Iterator[WeightFiles]:
        """A view of the base model with the changes of the adapter.

        Raises BadCheckpoint if it changes what the base model does not have.
        """
        with open_weight_files(self.folder, names=FILES) as own:
            yield self._merge(base, own, family)

    def _merge(self, base: WeightFiles, own: WeightFiles, family: Family) -> WeightFiles:
        names = {ours: name for name, ours in family.current_names(base.shapes, FAMILIES).items()}
        shapes, dtypes = dict(base.shapes), dict(base.dtypes)
        replaced: dict[str, str] = {}
        factors: dict[str, tuple[str, str, float]] = {}
        rows: dict[str, tuple[str, list[int]]] = {}
        for name, shape in own.shapes.items():
            plain = WRAPPERS.sub("", name.removeprefix(PREFIX))
            module, is_factor, part = plain.partition(".lora_")
            if plain.endswith(TOKENS_ADAPTER):
                module = plain.removesuffix(TOKENS_ADAPTER)
                target = names.get(family.current_name(f"{module}.weight"), "")
                numbers = self._token_rows(module)
                size, *width = base.shapes.get(target, (0,))
                if (len(numbers), *width) != shape or not all(0 <= n < size for n in numbers):
                    raise self._absent_error(module)
                rows[target] = name, numbers
            elif not is_factor:
                target = names.get(family.current_name(plain), plain)
                replaced[target] = name
                shapes[target], dtypes[target] = shape, own.dtypes[name]
            elif part in PARTS:
                target = names.get(family.current_name(f"{module}.weight"), "")
                other = name.removesuffix(part) + PARTS[part]
                outer = (own.shapes.get(other, (0,))[0], shape[-1])
                if base.shapes.get(target) != (outer if part == "A.weight" else outer[::-1]):
                    raise self._absent_error(module)
                factors[target] = name, other, self._scale(module, shape[0])
            elif part not in PARTS.values():
                raise _kind_error(self.folder, f"lora_{part}")

        def read(name: str) -> Tensor:
            if name in replaced:
                return own.read(replaced[name])
            tensor = base.read(name)
            if name in rows:
                stored, numbers = rows[name]
                return tensor.float().index_copy(0, torch.tensor(numbers), own.read(stored).float())
            if name not in factors:
                return tensor
            first, second, scale = factors[name]
            change = own.read(second).float() @ own.read(first).float() * scale
            return tensor.float() + (change if change.shape == tensor.shape else change.T)

        return replace(base, shapes=shapes, dtypes=dtypes, read=read)

    def _absent_error(self, module: str) -> BadCheckpoint:
        return BadCheckpoint(
            "The adapter in {folder} changes {name}, which {base} does not have.",
            "Choose the base model that it was trained from.",
            folder=safe_name(self.folder.name),
            name=safe_name(module),
            base=safe_name(self.base.name),
        )

    def _token_rows(self, module: str) -> list[int]:
        """The token ids whose embeddings are replaced."""
        stated = self.settings.get("trainable_token_indices")
        if isinstance(stated, dict):
            stated = next(
                (ids for key, ids in stated.items() if f".{module}".endswith(f".{key}")), ()
            )
        return [n for n in stated if isinstance(n, int)] if isinstance(stated, list) else []

    def _scale(self, module: str, rank: int) -> float:
        """The scaling factor of a module: alpha / rank, or alpha / √rank with rsLoRA."""
        alpha = self.settings.get("lora_alpha")
        for key, value in (self.settings.get("alpha_pattern") or {}).items():
            if re.search(r"[^\w.]", key):
                raise _kind_error(self.folder, f"alpha_pattern {key}")
            if f".{module}".endswith(f".{key}"):
                alpha = value
        if not isinstance(alpha, int | float) or not rank:
            raise _kind_error(self.folder, f"lora_alpha {alpha}")
        return alpha / (math.sqrt(rank) if self.settings.get("use_rslora") else rank)


def find_adapter(folder: Path, base: Path | None) -> Adapter | None:
    """The adapter in a folder without weights of its own; None if there is none.

    Its base model is `base`, or in the folder beside it whose name is in its settings.

    Raises BadCheckpoint if the base model is not found, or the adapter is of another kind.
    """
    settings = json_object(folder, SETTINGS)
    if base is not None:
        check_folder(base)
    if settings is None or weight_files(folder):
        if base is not None:
            raise BadCheckpoint(
                "{folder} is no LoRA adapter, so it has no base model.",
                "Import it without --base.",
                folder=safe_name(folder.name),
            )
        return None
    kind = settings.get("peft_type")
    start = settings.get("init_lora_weights")
    other = next((name for name, value in settings.items() if value and name not in READ), None)
    if kind != "LORA" or other:
        raise _kind_error(folder, str(other if kind == "LORA" else kind))
    if start not in KEPT_BASES:
        raise _kind_error(folder, f"init_lora_weights {start}")
    named = str(settings.get("base_model_name_or_path") or "")
    beside = re.split(r"[\\/]", named.rstrip("\\/"))[-1]
    if base is None and beside.strip("."):
        base = folder.absolute().parent / beside
    if base is None or not base.is_dir():
        raise BadCheckpoint(
            "{folder} is a LoRA adapter (PEFT): it has only the difference to the model {base}.",
            "Put that model into the folder {beside} next to it, or use bert-studio "
            "import-model with --base.",
            folder=safe_name(folder.name),
            base=safe_name(named),
            beside=safe_name(beside),
        )
    return Adapter(folder, encoder_folder(base), settings)


def _kind_error(folder: Path, kind: str) -> BadCheckpoint:
    return BadCheckpoint(
        "The adapter in {folder} is not supported: {kind}.",
        "Merge it with merge_and_unload of PEFT, save the result, and import that.",
        folder=safe_name(folder.name),
        kind=safe_name(kind),
    )
