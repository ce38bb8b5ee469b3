"""Tokenizers, networks and folders of one version of transformers, and what it computes.

Runs in the environments of the writers, with none of our packages.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compatible  # noqa: F401  # before transformers
import numpy as np
import torch
import transformers
from made import Made
from transformers import BertConfig, BertTokenizer, RobertaConfig, RobertaTokenizer

VERSION = tuple(int(part) for part in transformers.__version__.split(".")[:2])
FAST = VERSION >= (4, 0)
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,
}
TEXTS = ["A quiet film, isn't it?", "Nobody laughs in the Café; 12 of us left.", "ok"]
PAIRS = ["The second text is longer than the first one.", "Yes.", "No, it is not."]
SPACES = [" the film is", "the  film\tis on"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "film", "quiet", "second", "is", "it", "Nobody", "12", "é", "É", *",.?;'"]
OUTPUTS = {
    "Model": ("last_hidden_state", "pooler_output"),
    "ForPreTraining": ("prediction_logits", "seq_relationship_logits"),
    "ForQuestionAnswering": ("start_logits", "end_logits"),
}
Edit = Callable[[Path, Any], None]  # of a folder, with its model


def unchanged(folder: Path, model: Any) -> None:
    """Leave a folder as it was saved."""


def vocabulary(folder: Path, special: list[str] = SPECIAL, cased: bool = False) -> Path:
    letters = [*LETTERS, *(LETTERS.upper() if cased else ""), *"0123456789"]
    words = [word for word in WORDS if cased or word == word.lower()]
    tokens = [*special, *words, *letters, *(f"##{letter}" for letter in letters)]
    path = folder / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    return path


def byte_pairs(folder: Path) -> tuple[Path, Path]:
    """Vocabulary and merges of RoBERTa, with the bytes as GPT-2 writes them."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    letters = [chr(byte) for byte in shown] + [chr(256 + n) for n in range(len(hidden))]
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("i", "s"), ("Ġ", "is"), ("o", "n")]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *letters, *map("".join, merges), "<mask>"]
    vocab, merged = folder / "vocab.json", folder / "merges.txt"
    vocab.write_text(json.dumps({token: n for n, token in enumerate(tokens)}), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    merged.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return vocab, merged


def tokenizer_for(family: str, scratch: Path, **options: Any) -> Any:
    fast = options.pop("fast", FAST) and VERSION < (5, 0)  # one class since 5
    if family == "Roberta":
        files, slow = byte_pairs(scratch), RobertaTokenizer
    else:
        cased = not options.get("do_lower_case", True)
        special = options.pop("special", SPECIAL)
        files, slow = (vocabulary(scratch, special, cased),), BertTokenizer
    kind = getattr(transformers, f"{slow.__name__}Fast", slow) if fast else slow
    if not FAST or VERSION >= (5, 0):  # before 4 it states what from_pretrained was given
        return kind.from_pretrained(str(scratch), **options)
    return kind(*map(str, files), **options)


def config_for(family: str, size: int, **options: Any) -> Any:
    config = (RobertaConfig if family == "Roberta" else BertConfig)()
    positions = {"max_position_embeddings": 66} if family == "Roberta" else {}
    ids = {"type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    rest = ids if family == "Roberta" else {}
    for name, value in {"vocab_size": size, **SIZES, **positions, **rest, **options}.items():
        setattr(config, name, value)
    return config


def model_for(family: str, kind: str, config: Any) -> Any:
    torch.manual_seed(1)
    model = getattr(transformers, f"{family}{kind}")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def encode(tokenizer: Any, text: str, pair: str | None, length: int | None) -> dict[str, Any]:
    if VERSION < (3, 0):
        options = {"max_length": length} if length else {}
        if isinstance(tokenizer, RobertaTokenizer):  # no later version adds one by itself
            options["add_prefix_space"] = tokenizer.init_kwargs.get("add_prefix_space", False)
        return dict(tokenizer.encode_plus(text, pair, add_special_tokens=True, **options))
    options = {"truncation": True} if length else {}
    return dict(tokenizer(text, pair, **options))


def encode_all(
    tokenizer: Any, texts: list[str], pairs: list[str] | None, length: int | None
) -> tuple[dict[str, Any], list[list[int]]]:
    rows = [
        encode(tokenizer, text, pair, length)
        for text, pair in zip(texts, pairs or [None] * len(texts), strict=True)
    ]
    width = max(len(row["input_ids"]) for row in rows)
    names = () if isinstance(tokenizer, RobertaTokenizer) else ("token_type_ids",)
    pads = {"input_ids": tokenizer.pad_token_id}
    inputs = {
        name: torch.tensor(
            [[*row[name], *[pads.get(name, 0)] * (width - len(row[name]))] for row in rows]
        )
        for name in rows[0]
        if name in ("input_ids", *names)
    }
    lengths = torch.tensor([len(row["input_ids"]) for row in rows])
    inputs["attention_mask"] = (torch.arange(width)[None] < lengths[:, None]).long()
    return inputs, [list(row["input_ids"]) for row in rows]


def computed(model: Any, kind: str, inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    names = OUTPUTS.get(kind, ("logits",))
    with torch.no_grad():
        if kind == "ForMultipleChoice":
            output = model(**{name: value[None] for name, value in inputs.items()})
        else:
            output = model(**inputs)
    values = list(output.values()) if hasattr(output, "values") else list(output)
    found = dict(zip(names, values, strict=False))
    return {n: v.detach().float().numpy() for n, v in found.items() if v is not None}


def save(model: Any, tokenizer: Any, folder: Path, **options: Any) -> None:
    folder.mkdir()
    model.save_pretrained(str(folder), **options)
    tokenizer.save_pretrained(str(folder))


def as_bin(folder: Path, model: Any, legacy: bool = False) -> None:
    """The weights as a pickle, in the file format before 2020 if `legacy`."""
    (folder / "model.safetensors").unlink(missing_ok=True)
    torch.save(
        model.state_dict(),
        folder / "pytorch_model.bin",
        _use_new_zipfile_serialization=not legacy,
    )


def change(folder: Path, name: str, **entries: Any) -> None:
    """Change entries of a JSON file; None removes one."""
    path = folder / name
    content = json.loads(path.read_text("utf-8")) | entries
    kept = {key: value for key, value in content.items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")


def case(
    folder: Path,
    name: str,
    family: str = "Bert",
    kind: str = "ForSequenceClassification",
    config: dict[str, Any] | None = None,
    tokenizer: dict[str, Any] | None = None,
    texts: list[str] = TEXTS,
    pairs: list[str] | None = None,
    edit: Edit = unchanged,
    add: tuple[str, ...] = (),
    dtype: Any = None,
    length: int | None = None,
    refused: str = "",
    activation: str = "",
    save_options: dict[str, Any] | None = None,
    resize: bool = True,
    **more: Any,
) -> Made:
    """Write one folder; see `Made` for what is stated of it."""
    scratch = folder / f".{name}"
    scratch.mkdir()
    splitter = tokenizer_for(family, scratch, **(tokenizer or {}))
    size = splitter.vocab_size if hasattr(splitter, "vocab_size") else len(splitter)
    if add:
        splitter.add_tokens(list(add))
    size = len(splitter) if resize else size
    model = model_for(family, kind, config_for(family, size + 3, **(config or {})))
    if dtype is not None:
        model = model.to(dtype)
    target = folder / name
    save(model, splitter, target, **(save_options or {}))
    edit(target, model)
    shutil.rmtree(scratch)
    inputs, ids = encode_all(splitter, texts, pairs, length)
    model = model.float()
    return Made(
        target.name, refused, texts, pairs, ids, computed(model, kind, inputs), activation, **more
    )
