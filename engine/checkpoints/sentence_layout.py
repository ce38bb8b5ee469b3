"""The layout of sentence-transformers: modules.json, and a folder for each module.

`modules.json` lists the stages: the encoder (in the folder itself or in a subfolder such as
`0_Transformer`), the pooling, dense layers and layer norms, and the normalisation. Dropout changes
no vector and is left out. The files can be read by every version of sentence-transformers.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from engine.checkpoints.other_forms import module_form
from engine.config.sentence import (
    POOLING_MODES,
    DenseActivation,
    DenseSpec,
    NormSpec,
    SentenceSpec,
    Similarity,
)
from engine.errors import BadCheckpoint
from engine.files.untrusted import AGAIN, json_list, json_object, safe_name
from engine.phrases import phrase
from engine.tokenizers.declared import stated_length

MODULES = "modules.json"
SETFIT = "model_head.pkl"
SUPPORTED = ("Transformer", "Pooling", "Dense", "LayerNorm", "Dropout", "Normalize")
CONFIG = "config.json"
PROMPTS = "config_sentence_transformers.json"
ENCODER_CONFIGS = (
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
)
UNREAD = ("processing_kwargs", "query_length", "document_length", "query_expansion")  # of the first
TOKENIZER = "tokenizer_config.json"
SIMILARITY = "similarity_fn_name"
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
MAX_LIST_BYTES = 100_000  # of modules.json
MAX_MODULES = 20
POOLED = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
CROSS_ENCODER_TYPE = "CrossEncoder"  # model_type of sentence-transformers 6
ACTIVATIONS: dict[str, DenseActivation] = {
    "Identity": "identity",
    "Tanh": "tanh",
    "ReLU": "relu",
    "GELU": "gelu",
    "Sigmoid": "sigmoid",
}
CLASSES = {
    "identity": "torch.nn.modules.linear.Identity",
    "tanh": "torch.nn.modules.activation.Tanh",
    "relu": "torch.nn.modules.activation.ReLU",
    "gelu": "torch.nn.modules.activation.GELU",
    "sigmoid": "torch.nn.modules.activation.Sigmoid",
}


class SentenceFolder(NamedTuple):
    """The parts of a sentence encoder's folder."""

    spec: SentenceSpec
    encoder: Path  # the folder with config.json, the weights and the tokenizer
    layers: dict[str, Path]  # by the prefix of their tensors, the folders of the layers


def read_sentence(folder: Path) -> SentenceFolder | None:
    """The pooling of a folder; None if it is no sentence encoder.

    Raises BadCheckpoint if it has an unsupported module, or is damaged.
    """
    listed = _modules(folder)
    if listed is None:
        return None
    kinds = [kind for kind, _ in listed]
    unknown = next((kind for kind in kinds if kind not in SUPPORTED), None)
    if unknown is not None:
        raise module_form(folder.name, kinds) or BadCheckpoint(
            "{file} has a module that is not supported: {name}.",
            "Supported are pooling, dense layers and normalisation behind an encoder.",
            file=MODULES,
            name=safe_name(unknown),
        )
    folders = [_module_folder(folder, path) for _, path in listed]
    _check_first(folders[:1])
    if listed == [("Transformer", "")] and _is_cross_encoder(folder):
        return None
    stages = [(kind, path) for kind, path in zip(kinds, folders, strict=True) if kind != "Dropout"]
    order = [kind for kind, _ in stages]
    if order[:2] != ["Transformer", "Pooling"] or {"Transformer", "Pooling"} & {*order[2:]}:
        raise _layout_error(phrase("it does not begin with an encoder and its pooling"))
    if "Normalize" in order[:-1]:
        raise _layout_error(phrase("it normalises before its last layer"))
    (_, encoder), (_, pooling), *rest = stages
    layers = {
        layer_folder(number, kind == "LayerNorm"): path
        for number, (kind, path) in enumerate(rest)
        if kind != "Normalize"
    }
    stated = json_object(folder, PROMPTS) or {}
    try:
        spec = SentenceSpec(
            pooling=_pooling(pooling),
            pools_prompt=_module_config(pooling).get("include_prompt") is not False,
            dense=tuple(
                _norm(path) if name.endswith("LayerNorm") else _dense(path)
                for name, path in layers.items()
            ),
            normalize="Normalize" in order,
            truncate=stated.get("truncate_dim"),
            max_length=_max_length(encoder),
            prompt=_prompt(folder),
            prompts=_prompts(stated),
            similarity=next((n for n in SIMILARITIES if n == stated.get(SIMILARITY)), "cosine"),
        )
    except ValidationError as error:
        raise _layout_error(phrase("its sizes are not possible")) from error
    return SentenceFolder(spec, encoder, layers)


def encoder_folder(folder: Path) -> Path:
    """The folder with config.json and the weights: usually the checkpoint folder itself."""
    sentence = read_sentence(folder)
    return folder if sentence is None else sentence.encoder


def layer_folder(index: int, is_norm: bool) -> str:
    """The folder name of a layer, also the prefix of its tensors."""
    return f"{index + 2}_{'LayerNorm' if is_norm else 'Dense'}"


def sentence_notes(folder: Path, spec: SentenceSpec) -> list[str]:
    """Notes on parts of a sentence encoder that are not used here."""
    notes: list[str] = []
    if spec.similarity != "cosine" and not (spec.similarity == "dot" and spec.normalize):
        notes.append(
            phrase(
                "{file} names the similarity “{name}”; vectors are compared by their cosine here, "
                "and copies keep the entry.",
                file=PROMPTS,
                name=spec.similarity,
            )
        )
    if "cls" in spec.pooling and not spec.pools_prompt and spec.prompt:
        notes.append(
            phrase(
                "The prompt is not pooled, so the vector of the first token behind it is taken, "
                "as in sentence-transformers 6; before 6 it was the vector of [CLS]."
            )
        )
    if (folder / SETFIT).exists():
        notes.append(
            phrase(
                "The classifier of SetFit in {file} is a pickle of scikit-learn and was not read; "
                "this is its sentence encoder.",
                file=SETFIT,
            )
        )
    return notes


def bounded(spec: SentenceSpec, positions: int) -> SentenceSpec:
    """The pooling with at most as many tokens as the encoder has positions.

    sentence-transformers states two too many for a RoBERTa, whose rows begin after the padding id.
    """
    length = min(spec.max_length or positions, positions)
    return spec.model_copy(update={"max_length": length if spec.max_length else None})


def write_sentence(folder: Path, spec: SentenceSpec, hidden_size: int) -> None:
    """Write the layout without the encoder and the weights of dense layers."""
    modules = [("Transformer", ""), ("Pooling", "1_Pooling")]
    layers = [
        (layer_folder(number, isinstance(layer, NormSpec)), layer)
        for number, layer in enumerate(spec.dense)
    ]
    modules += [(path.partition("_")[2], path) for path, _ in layers]
    modules += [("Normalize", f"{len(modules)}_Normalize")] if spec.normalize else []
    _write(
        folder / MODULES,
        [
            {
                "idx": number,
                "name": str(number),
                "path": path,
                "type": f"sentence_transformers.models.{kind}",
            }
            for number, (kind, path) in enumerate(modules)
        ],
    )
    pooled = {key: mode in spec.pooling for key, mode in POOLED.items()}
    _write(
        folder / "1_Pooling" / CONFIG,
        {"word_embedding_dimension": hidden_size, **pooled, "include_prompt": spec.pools_prompt},
    )
    for path, layer in layers:
        entries: dict[str, Any] = {"dimension": layer.outputs}
        if isinstance(layer, DenseSpec):
            entries = {
                "in_features": layer.inputs,
                "out_features": layer.outputs,
                "bias": layer.bias,
                "activation_function": CLASSES[layer.activation],
            }
        _write(folder / path / CONFIG, entries)
    length = {} if spec.max_length is None else {"max_seq_length": spec.max_length}
    _write(folder / ENCODER_CONFIGS[0], {**length, "do_lower_case": False})
    prompts = spec.prompts or ({"default": spec.prompt} if spec.prompt else {})
    default = next((name for name, text in prompts.items() if text == spec.prompt != ""), None)
    truncated = {} if spec.truncate is None else {"truncate_dim": spec.truncate}
    _write(
        folder / PROMPTS,
        {
            "prompts": prompts,
            "default_prompt_name": default,
            SIMILARITY: spec.similarity,
            **truncated,
        },
    )


def write_cross_encoder(folder: Path, prompts: dict[str, Any], activation: str | None) -> None:
    """Write the files by which sentence-transformers 6 finds the prompts of a cross-encoder.

    `activation`: the class of the activation of a single output.
    """
    kind = "sentence_transformers.base.modules.transformer.Transformer"
    _write(folder / MODULES, [{"idx": 0, "name": "0", "path": "", "type": kind}])
    _write(
        folder / ENCODER_CONFIGS[0],
        {
            "transformer_task": "sequence-classification",
            "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
            "module_output_name": "scores",
        },
    )
    stated = {} if activation is None else {"activation_fn": activation}
    _write(
        folder / PROMPTS,
        {
            "model_type": CROSS_ENCODER_TYPE,
            "prompts": prompts,
            "default_prompt_name": None,
            **stated,
        },
    )


def _modules(folder: Path) -> list[tuple[str, str]] | None:
    """The class and the path of each module; None without modules.json."""
    listed = json_list(folder, MODULES, MAX_LIST_BYTES)
    if listed is None:
        return None
    modules = []
    for entry in listed[:MAX_MODULES]:
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            raise _layout_error(phrase("an entry has no path"))
        kind = str(entry.get("type"))
        is_colbert = kind.startswith("pylate.")
        modules.append(("pylate" if is_colbert else kind.rpartition(".")[2], entry["path"]))
    return modules


def _module_folder(folder: Path, path: str) -> Path:
    """The folder of a module, which must be inside `folder`."""
    path = path.rstrip("/")
    if path in ("", "."):
        return folder
    if Path(path).name != path or path == ".." or "\\" in path or (folder / path).is_symlink():
        raise _layout_error(phrase("“{path}” points outside the folder", path=safe_name(path)))
    return folder / path


def _pooling(folder: Path) -> tuple[Any, ...]:
    config = _module_config(folder)
    declared = config.get("pooling_mode")
    if declared is None:
        modes = [mode for key, mode in POOLED.items() if config.get(key) is True] or ["mean"]
    else:
        modes = [str(mode) for mode in (declared if isinstance(declared, list) else [declared])]
    for mode in modes:
        if mode not in POOLING_MODES:
            raise BadCheckpoint(
                "The pooling “{mode}” is not supported.",
                "Choose an encoder that pools by {modes}.",
                mode=safe_name(mode),
                modes=", ".join(POOLING_MODES),
            )
    return tuple(modes)


def _norm(folder: Path) -> NormSpec:
    return NormSpec(outputs=_module_config(folder).get("dimension", 0))


def _module_config(folder: Path) -> dict[str, Any]:
    config = json_object(folder, CONFIG) if folder.is_dir() else None
    if config is None:
        raise _layout_error(phrase("{path} is missing", path=f"{folder.name}/{CONFIG}"))
    for name in ("module_input_name", "module_output_name"):
        if config.get(name) not in (None, "sentence_embedding"):
            raise _layout_error(
                phrase("{folder} works on {name}", folder=folder.name, name=safe_name(config[name]))
            )
    return config


def _dense(folder: Path) -> DenseSpec:
    config = _module_config(folder)
    name = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
    if name not in ACTIVATIONS or config.get("use_residual"):
        raise BadCheckpoint(
            "The dense layer in {path} is not supported: {name}.",
            "Supported activations are {names}.",
            path=safe_name(folder.name),
            name=safe_name("use_residual" if config.get("use_residual") else name),
            names=", ".join(ACTIVATIONS),
        )
    return DenseSpec(
        inputs=config.get("in_features", 0),
        outputs=config.get("out_features", 0),
        bias=config.get("bias") is not False,
        activation=ACTIVATIONS[name],
    )


def _max_length(folder: Path) -> int | None:
    """The maximum length, stored in different files before and since sentence-transformers 6."""
    entries = [(name, "max_seq_length") for name in ENCODER_CONFIGS]
    for name, key in (*entries, (TOKENIZER, "model_max_length")):
        config = json_object(folder, name) if folder.is_dir() else None
        if length := stated_length(config or {}, key):
            return length
    return None


def _check_first(folders: list[Path]) -> None:
    """Raise BadCheckpoint if a setting of the first module changes what it reads."""
    for folder in folders:
        for name in ENCODER_CONFIGS:
            config = (json_object(folder, name) if folder.is_dir() else None) or {}
            if stated := next((key for key in UNREAD if config.get(key)), ""):
                raise BadCheckpoint(
                    "{file} sets {key}, which is not supported.",
                    "Choose a sentence encoder without it.",
                    file=name,
                    key=stated,
                )


def _is_cross_encoder(folder: Path) -> bool:
    """True for a CrossEncoder of sentence-transformers 6, which is an ordinary checkpoint.

    Raises BadCheckpoint if it has a prompt.
    """
    if (json_object(folder, PROMPTS) or {}).get("model_type") != CROSS_ENCODER_TYPE:
        return False
    if prompt := _prompt(folder):
        raise BadCheckpoint(
            "The prompt “{prompt}” of this cross-encoder is not supported.",
            "Choose a cross-encoder without a default prompt.",
            prompt=safe_name(prompt),
        )
    return True


def _prompt(folder: Path) -> str:
    """The default prompt, which sentence-transformers prepends to every text."""
    config = json_object(folder, PROMPTS) or {}
    prompts, name = _prompts(config), config.get("default_prompt_name")
    if not isinstance(name, str):
        return ""
    if name not in prompts:
        raise _layout_error(phrase("it has no prompt “{name}”", name=safe_name(name)))
    return prompts[name]


def _prompts(config: dict[str, Any]) -> dict[str, str]:
    prompts = config.get("prompts")
    return {n: str(text or "") for n, text in prompts.items()} if isinstance(prompts, dict) else {}


def _layout_error(why: str) -> BadCheckpoint:
    return BadCheckpoint(
        "{file} does not describe a sentence encoder: {why}.", AGAIN, file=MODULES, why=why
    )


def _write(file: Path, content: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
