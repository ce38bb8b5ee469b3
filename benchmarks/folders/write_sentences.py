"""Write small folders with one version of sentence-transformers, and what it computes with them.

    python write_sentences.py FOLDER

Runs in an environment of that version, with none of our packages. See `made.py`.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sentence_transformers
import torch
from made import Made, write_all
from making import (
    PAIRS,
    SPECIAL,
    TEXTS,
    change,
    config_for,
    model_for,
    save,
    tokenizer_for,
)
from sentence_transformers import CrossEncoder, SentenceTransformer
from torch import nn

VERSION = int(sentence_transformers.__version__.split(".")[0])
if VERSION >= 6:
    from sentence_transformers.sentence_transformer import modules
else:
    from sentence_transformers import models as modules
SETTINGS = "config_sentence_transformers.json"
LONG = [" ".join([text] * 9) for text in TEXTS]  # before 6, spaces at the ends are cut


def encoder(
    folder: Path, family: str = "Bert", kind: str = "Model", labels: int = 0, **tokenizer: Any
) -> Path:
    """A folder of transformers, for the first module."""
    target = folder / ".encoder"
    number = len(list(folder.glob(".encoder*")))
    target = folder / f".encoder{number}"
    scratch = folder / f".scratch{number}"
    scratch.mkdir()
    splitter = tokenizer_for(family, scratch, **tokenizer)
    config = config_for(family, len(splitter) + 3, **({"num_labels": labels} if labels else {}))
    save(model_for(family, kind, config), splitter, target)
    return target


def bi(
    folder: Path,
    name: str,
    *parts: nn.Module,
    family: str = "Bert",
    texts: list[str] = TEXTS,
    refused: str = "",
    edit: Callable[[Path], None] = lambda folder: None,
    first: dict[str, Any] | None = None,
    tokenizer: dict[str, Any] | None = None,
    dtype: Any = None,
    saving: dict[str, Any] | None = None,
    **options: Any,
) -> Made:
    """A sentence encoder with these modules behind its network."""
    torch.manual_seed(2)
    path = str(encoder(folder, family, **(tokenizer or {})))
    model = SentenceTransformer(
        modules=[modules.Transformer(path, **(first or {})), *parts], device="cpu", **options
    )
    model.eval()
    if dtype is not None:
        model = model.to(dtype)
    model.save(str(folder / name), **(saving or {}))
    edit(folder / name)
    vectors = None
    if not refused:
        vectors = SentenceTransformer(str(folder / name), device="cpu").float().encode(texts)
    return Made(name, refused, texts, None, numbers=vectors)


def pooling(*modes: str, **options: Any) -> nn.Module:
    if VERSION >= 6:
        return modules.Pooling(32, list(modes) if len(modes) > 1 else modes[0], **options)
    return (
        modules.Pooling(32, pooling_mode="+".join(modes) or "mean", **options)
        if len(modes) == 1
        else modules.Pooling(
            32, **{f"pooling_mode_{_KEYS[m]}": m in modes for m in _KEYS}, **options
        )
    )


_KEYS = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens"}


def dense(inputs: int, outputs: int, **options: Any) -> nn.Module:
    torch.manual_seed(3)
    return modules.Dense(inputs, outputs, **options)


def sentence_encoders(folder: Path) -> Iterator[Made]:
    for mode in ("mean", "cls", "max", "mean_sqrt_len_tokens"):
        yield bi(folder, mode, pooling(mode))
    yield bi(folder, "max-and-mean", pooling("max", "mean"))
    for mode in ("weightedmean", "lasttoken"):
        yield bi(folder, mode, pooling(mode), refused=f"pooling “{mode}”")
    yield bi(folder, "roberta", pooling("mean"), family="Roberta")
    yield bi(folder, "normalised", pooling("mean"), modules.Normalize())
    yield bi(folder, "dense", pooling("cls"), dense(32, 16), modules.Normalize())
    for act in (nn.Identity(), nn.ReLU(), nn.GELU(), nn.Sigmoid()):
        name = type(act).__name__
        layer = dense(32, 8, bias=name == "GELU", activation_function=act)
        yield bi(folder, f"dense-{name}", pooling("mean"), layer)
    act = dense(32, 8, activation_function=nn.SiLU())
    yield bi(folder, "dense-SiLU", pooling("mean"), act, refused="dense layer")
    norm = modules.LayerNorm(32)
    nn.init.normal_(norm.norm.weight)
    yield bi(folder, "norm-and-dropout", pooling("mean"), norm, modules.Dropout(0.3), dense(32, 5))
    prompts = {"query": "the query: ", "passage": "text: "}
    default = {"prompts": prompts, "default_prompt_name": "query"}
    yield bi(folder, "prompts", pooling("mean"), prompts=prompts)
    yield bi(folder, "default-prompt", pooling("mean"), **default)
    for mode in ("mean", "cls", "max"):
        left_out = pooling(mode, include_prompt=False)
        changed = "before 6 it was the vector of [CLS]" if mode == "cls" and VERSION < 6 else ""
        yield bi(folder, f"prompt-left-out-{mode}", left_out, refused=changed, **default)
    yield bi(folder, "truncated", pooling("mean"), modules.Normalize(), truncate_dim=7)
    for name in ("cosine", "dot", "euclidean", "manhattan"):
        yield bi(folder, f"similarity-{name}", pooling("mean"), similarity_fn_name=name)
    yield bi(folder, "length", pooling("mean"), first={"max_seq_length": 12}, texts=LONG)
    length = {"model_max_length": 14}
    yield bi(folder, "length-of-tokenizer", pooling("mean"), tokenizer=length, texts=LONG)
    yield bi(folder, "length-default", pooling("mean"), texts=LONG)
    bound = {"max_seq_length": 64}  # by itself it would take two more, and fail
    yield bi(folder, "length-roberta", pooling("mean"), family="Roberta", texts=LONG, first=bound)
    for name in ("float16", "bfloat16"):
        if VERSION >= 4:
            yield bi(folder, name, pooling("mean"), dense(32, 8), dtype=getattr(torch, name))
    if VERSION >= 6:
        limited = {"processing_kwargs": {"text": {"max_length": 8}}}
        yield bi(
            folder, "limited", pooling("mean"), first=limited, refused="sets processing_kwargs"
        )
    if VERSION < 6:
        cased = {"do_lower_case": False}
        yield bi(folder, "lowered", pooling("mean"), first={"do_lower_case": True}, tokenizer=cased)
        lower = {"do_lower_case": True}
        yield bi(folder, "lowered-roberta", pooling("mean"), family="Roberta", first=lower)
        pickled = {"safe_serialization": False}
        yield bi(folder, "bin", pooling("mean"), dense(32, 8), saving=pickled)

    def subfolder(folder: Path) -> None:
        """As before version 3: the network in a folder of its own."""
        (folder / "0_Transformer").mkdir()
        listed = json.loads((folder / "modules.json").read_text("utf-8"))
        top = ("modules.json", SETTINGS, "README.md")
        for file in [*folder.iterdir()]:
            if file.is_file() and file.name not in top:
                file.rename(folder / "0_Transformer" / file.name)
        listed[0]["path"] = "0_Transformer"
        (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")

    yield bi(folder, "network-in-a-folder", pooling("mean"), dense(32, 8), edit=subfolder)

    def without_settings(folder: Path) -> None:
        (folder / SETTINGS).unlink()

    yield bi(folder, "no-settings", pooling("mean"), edit=without_settings)

    def broken_default(folder: Path) -> None:
        change(folder, SETTINGS, default_prompt_name="other")

    yield bi(
        folder, "no-such-prompt", pooling("mean"), edit=broken_default, refused="no prompt “other”"
    )


def other_modules(folder: Path) -> Iterator[Made]:
    """Modules that are refused by name."""
    from tokenizers import Tokenizer, models

    path = encoder(folder)
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(SPECIAL)}, "[UNK]"))

    def made(name: str, refused: str, *parts: nn.Module) -> Made:
        SentenceTransformer(modules=[*parts], device="cpu").save(str(folder / name))
        return Made(name, refused, TEXTS, None)

    yield made("static", "a static model", modules.StaticEmbedding(words, embedding_dim=8))
    yield made("bow", "a static model", modules.BoW(["the", "film"]))
    first = modules.Transformer(str(path))
    yield made("cnn", "not supported: CNN", first, modules.CNN(32), pooling("mean"))
    yield made("lstm", "not supported: LSTM", first, modules.LSTM(32, 16), pooling("mean"))
    weighted = modules.WeightedLayerPooling(32, num_hidden_layers=2)
    yield made("layers", "not supported: WeightedLayerPooling", first, weighted, pooling("mean"))
    if VERSION < 5:
        both = {"query": [dense(32, 8)], "doc": [dense(32, 8)]}
        yield made("asym", "queries and documents", first, pooling("mean"), modules.Asym(both))
    else:
        router = modules.Router.for_query_document(
            query_modules=[first, pooling("mean")], document_modules=[first, pooling("cls")]
        )
        yield made("router", "queries and documents", router)


def cross(
    folder: Path,
    name: str,
    labels: int = 1,
    family: str = "Bert",
    texts: list[str] = TEXTS,
    refused: str = "",
    tokenizer: dict[str, Any] | None = None,
    activation: nn.Module | None = None,
    edit: Callable[[Path], None] = lambda folder: None,
    **options: Any,
) -> Made:
    path = encoder(folder, family, "ForSequenceClassification", labels, **(tokenizer or {}))
    if activation is not None:
        options["activation_fn" if VERSION >= 4 else "default_activation_function"] = activation
    model = CrossEncoder(str(path), num_labels=labels, device="cpu", **options)
    (model.save_pretrained if VERSION >= 4 else model.save)(str(folder / name))
    edit(folder / name)
    if refused:
        return Made(name, refused, texts, PAIRS)
    again = CrossEncoder(str(folder / name), device="cpu")
    pairs = list(zip(texts, PAIRS, strict=True))
    numbers = again.predict(pairs, apply_softmax=labels > 1, convert_to_numpy=True)
    return Made(name, "", texts, PAIRS, numbers=numbers)


def cross_encoders(folder: Path) -> Iterator[Made]:
    """Version 3 does not write the activation, so that the program names what is left open."""
    unsaid = "states no activation" if VERSION < 4 else ""
    for family in ("Bert", "Roberta"):
        yield cross(folder, f"cross-{family}", family=family, refused=unsaid)
    yield cross(folder, "cross-identity", activation=nn.Identity(), refused=unsaid)
    yield cross(folder, "cross-sigmoid", activation=nn.Sigmoid(), refused=unsaid)
    yield cross(folder, "cross-tanh", activation=nn.Tanh(), refused=unsaid or "activation.Tanh”")
    yield cross(folder, "cross-three", labels=3)
    yield cross(folder, "cross-two", labels=2)
    length = {"model_max_length": 14}
    yield cross(folder, "cross-length", labels=2, tokenizer=length, texts=LONG)
    if VERSION >= 4:
        yield cross(folder, "cross-max-length", max_length=14, texts=LONG)
        yield cross(folder, "cross-positions", texts=LONG)
    if VERSION >= 6:
        prompts = {"query": "the query: ", "passage": "text: "}
        yield cross(folder, "cross-prompts", prompts=prompts)
        refused = "of this cross-encoder is not supported"
        yield cross(folder, "cross-default-prompt", prompts=prompts, default_prompt_name="query",
                    refused=refused)  # fmt: skip


def adapted_encoders(folder: Path) -> Iterator[Made]:
    """A sentence encoder of which only an adapter and the modules behind it are saved."""
    if VERSION != 5:  # transformers 5.24 waits for a newer PEFT than there is
        return
    import peft

    base = encoder(folder).rename(folder / "adapted-base")
    parts = [modules.Transformer(str(base)), pooling("mean"), dense(32, 8)]
    model = SentenceTransformer(modules=parts, device="cpu")
    torch.manual_seed(4)
    settings = {"r": 4, "lora_alpha": 9, "target_modules": ["query", "value"]}
    config = peft.LoraConfig(task_type="FEATURE_EXTRACTION", init_lora_weights=False, **settings)
    model.add_adapter(config)
    model.eval()
    model.save(str(folder / "adapted"))
    yield Made("adapted", "", TEXTS, None, numbers=model.encode(TEXTS), base=base.name)


def sparse_encoders(folder: Path) -> Iterator[Made]:
    if VERSION < 5:
        return
    from sentence_transformers import SparseEncoder

    if VERSION >= 6:
        from sentence_transformers.sparse_encoder import modules as sparse
    else:
        from sentence_transformers.sparse_encoder import models as sparse
    path = str(encoder(folder, kind="ForMaskedLM"))
    for act in ("relu", "log1p_relu"):
        first = (
            sparse.MLMTransformer(path)
            if VERSION < 6
            else modules.Transformer(path, transformer_task="fill-mask")
        )
        parts = [first, sparse.SpladePooling("max", activation_function=act)]
        SparseEncoder(modules=parts, device="cpu").save(str(folder / f"splade-{act}"))
        yield Made(f"splade-{act}", "a sparse encoder (SPLADE)", TEXTS, None)
    parts = [modules.Transformer(path), pooling("mean"), sparse.SparseAutoEncoder(32, 64, 8)]
    SparseEncoder(modules=parts, device="cpu").save(str(folder / "csr"))
    yield Made("csr", "a sparse encoder (SPLADE)", TEXTS, None)


GROUPS = (sentence_encoders, other_modules, cross_encoders, sparse_encoders, adapted_encoders)

if __name__ == "__main__":
    write_all(Path(sys.argv[1]), GROUPS)
