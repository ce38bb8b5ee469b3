"""Write small folders with one version of transformers, and what it computes with them.

    python write_transformers.py FOLDER

Runs in an environment of that version, with none of our packages. See `made.py`.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
from made import Made, write_all
from making import (
    FAST,
    PAIRS,
    SPACES,
    SPECIAL,
    TEXTS,
    VERSION,
    Edit,
    as_bin,
    case,
    change,
    transformers,
    vocabulary,
)


def heads(folder: Path) -> Iterator[Made]:
    """Every kind of both families, as this version saves it by itself."""
    sequence = "ForSequenceClassification"
    for family in ("Bert", "Roberta"):
        names = ["Model", "ForMaskedLM", "ForTokenClassification", "ForQuestionAnswering"]
        names += ["ForMultipleChoice"]
        names += ["ForNextSentencePrediction", "ForPreTraining"] if family == "Bert" else []
        for kind in (name for name in names if hasattr(transformers, f"{family}{name}")):
            paired = kind not in ("Model", "ForMaskedLM", "ForTokenClassification")
            pairs = PAIRS if paired else None
            is_open = VERSION < (2, 3) and kind in ("ForTokenClassification", "ForMultipleChoice")
            refused = "does not say whether its classifier" if is_open else ""
            yield case(folder, f"{family}-{kind}", family, kind, pairs=pairs, refused=refused)
        for labels, activation in ((1, "identity"), (2, "softmax"), (3, "softmax")):
            yield case(
                folder, f"{family}-{labels}", family, sequence, {"num_labels": labels},
                activation=activation, pairs=PAIRS if labels == 2 else None,
            )  # fmt: skip
        if VERSION >= (4, 6):
            problems = (("regression", 1, "identity"), ("multi_label_classification", 3, "sigmoid"))
            for problem, labels, activation in problems:
                entries = {"num_labels": labels, "problem_type": problem}
                yield case(
                    folder, f"{family}-{problem}", family, sequence, entries, activation=activation
                )
            entries = {"num_labels": 3, "problem_type": "regression"}
            yield case(
                folder, f"{family}-three-numbers", family, sequence, entries,
                refused="3 outputs, and Regression has 1",
            )  # fmt: skip


def tokenizers(folder: Path) -> Iterator[Made]:
    """Settings of tokenizers."""
    for fast in (False, True) if (4, 0) <= VERSION < (5, 0) else (FAST,):
        end = "fast" if fast else "slow"
        settings: dict[str, dict[str, Any]] = {
            "uncased": {},
            "cased": {"do_lower_case": False},
            "other-mask": {"mask_token": "[M]", "special": [*SPECIAL[:4], "[M]"]},
        }
        if VERSION >= (3, 0):
            settings["accents"] = {"strip_accents": False}
            settings["accents-cased"] = {"do_lower_case": False, "strip_accents": True}
        settings["no-chinese"] = {"tokenize_chinese_chars": False}
        for name, options in settings.items():
            texts = [*TEXTS, "É é 北京 the", "ÀB cd"]
            options = {"fast": fast, **options}
            yield case(folder, f"{name}-{end}", tokenizer=options, texts=texts)
        yield case(folder, f"added-{end}", tokenizer={"fast": fast}, add=("Nobody laughs", "<x>"),
                   texts=[*TEXTS, "so <x> it is<x>", "Nobody laughs. Nobody laughs"])  # fmt: skip
        yield case(folder, f"not-resized-{end}", tokenizer={"fast": fast}, resize=False,
                   add=tuple(f"<new{n}>" for n in range(9)),
                   refused="without an embedding")  # fmt: skip
        for spaced in (False, True):
            options = {"fast": fast, "add_prefix_space": spaced}
            yield case(folder, f"space-{spaced}-{end}", "Roberta", tokenizer=options,
                       texts=[*TEXTS, *(() if VERSION < (3, 0) else SPACES)])  # fmt: skip
        long = [f"{text} " * 9 for text in TEXTS]
        if VERSION >= (3, 0):
            options = {"fast": fast, "model_max_length": 12}
            for pairs, family in ((None, "Bert"), (PAIRS, "Bert"), (PAIRS, "Roberta")):
                name = f"length-{family}-{'pairs' if pairs else 'texts'}-{end}"
                yield case(folder, name, family, tokenizer=dict(options), texts=long, pairs=pairs,
                           length=12, activation="softmax")  # fmt: skip
        if VERSION >= (4, 20):
            for side in ("truncation_side", "padding_side"):
                options = {"fast": fast, "model_max_length": 12, side: "left"}
                yield case(folder, f"{side}-{end}", texts=long, length=12, activation="softmax",
                           tokenizer=options)  # fmt: skip

    def only(*kept: str) -> Edit:
        def edit(folder: Path, _: Any) -> None:
            names = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
            for name in {*names, "vocab.txt", "added_tokens.json"} - {*kept}:
                (folder / name).unlink(missing_ok=True)

        return edit

    def without_mask(folder: Path, model: Any) -> None:
        path = folder / "vocab.txt"
        if path.is_file():
            path.write_text(path.read_text("utf-8").replace("[MASK]\n", "[unused0]\n"), "utf-8")
        only("vocab.txt", "tokenizer_config.json")(folder, model)
        if (folder / "tokenizer_config.json").is_file():
            change(folder, "tokenizer_config.json", mask_token=None, added_tokens_decoder=None)

    if VERSION < (5, 0):
        for name, options in (("uncased", {}), ("cased", {"do_lower_case": False})):
            yield case(
                folder, f"vocabulary-alone-{name}", tokenizer=options, edit=only("vocab.txt")
            )
        yield case(folder, "no-mask", edit=without_mask, activation="softmax")
        yield case(
            folder, "no-vocabulary", edit=only("tokenizer_config.json"), refused="no vocabulary"
        )
    if FAST:
        yield case(folder, "json-alone", edit=only("tokenizer.json"))
        yield case(folder, "json-and-config", edit=only("tokenizer.json", "tokenizer_config.json"))


def weights(folder: Path) -> Iterator[Made]:
    """Files and types of weights."""
    yield case(folder, "bin", edit=as_bin, activation="softmax")
    yield case(folder, "bin-before-2020", edit=partial(as_bin, legacy=True))
    yield case(folder, "bin-roberta", "Roberta", "ForMaskedLM", edit=as_bin)
    if VERSION >= (4, 30):
        shards = {"max_shard_size": "20KB"}
        yield case(folder, "shards", save_options=shards)
        if VERSION < (5, 0):
            yield case(folder, "shards-bin", save_options={**shards, "safe_serialization": False})
    for name in ("float16", "bfloat16"):
        yield case(folder, name, dtype=getattr(torch, name), activation="softmax")
        yield case(folder, f"{name}-roberta", "Roberta", "ForMaskedLM", dtype=getattr(torch, name))
    for family in ("Bert", "Roberta"):
        if VERSION >= (3, 0):
            yield case(folder, f"untied-{family}", family, "ForMaskedLM",
                       {"tie_word_embeddings": False})  # fmt: skip

    def nested(folder: Path, model: Any) -> None:
        (folder / "model.safetensors").unlink(missing_ok=True)
        torch.save({"state_dict": model.state_dict(), "epoch": 3}, folder / "pytorch_model.bin")

    def prefixed(prefix: str) -> Edit:
        def edit(folder: Path, model: Any) -> None:
            (folder / "model.safetensors").unlink(missing_ok=True)
            tensors = {f"{prefix}{name}": value for name, value in model.state_dict().items()}
            torch.save(tensors, folder / "pytorch_model.bin")

        return edit

    def whole(folder: Path, model: Any) -> None:
        (folder / "model.safetensors").unlink(missing_ok=True)
        torch.save(model, folder / "pytorch_model.bin")

    def renamed(folder: Path, model: Any) -> None:
        (folder / "model.safetensors").unlink(missing_ok=True)
        (folder / "pytorch_model.bin").unlink(missing_ok=True)
        torch.save(model.state_dict(), folder / "checkpoint.pt")

    def google(folder: Path, model: Any) -> None:
        """As pytorch-pretrained-bert: bert_config.json, vocab.txt, and old names of layer norms."""
        prefixed("")(folder, model)
        (folder / "config.json").rename(folder / "bert_config.json")
        names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
        names += ("intermediate_size", "max_position_embeddings", "type_vocab_size", "hidden_act")
        names += ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range")
        content = json.loads((folder / "bert_config.json").read_text("utf-8"))
        kept = {name: content.get(name, getattr(model.config, name)) for name in names}
        (folder / "bert_config.json").write_text(json.dumps(kept), encoding="utf-8")
        tensors = {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): value
            for name, value in model.state_dict().items()
        }
        torch.save(tensors, folder / "pytorch_model.bin")
        for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            (folder / name).unlink(missing_ok=True)
        if not (folder / "vocab.txt").is_file():
            vocabulary(folder)

    def with_training_state(folder: Path, model: Any) -> None:
        """Files that Trainer saves with a checkpoint."""
        torch.save({"state": {}, "param_groups": []}, folder / "optimizer.pt")
        for name in ("training_args.bin", "rng_state.pth", "scheduler.pt"):
            torch.save({"module": model.config}, folder / name)
        (folder / "trainer_state.json").write_text("{}", encoding="utf-8")

    yield case(folder, "trainer", edit=with_training_state, activation="softmax")
    yield case(folder, "nested", edit=nested)
    for prefix in ("module.", "_orig_mod.", "model.", "module._orig_mod.", "backbone.", "net.x."):
        yield case(folder, f"prefix-{prefix}x", edit=prefixed(prefix), activation="softmax")
    yield case(folder, "prefix-of-a-base", kind="Model", edit=prefixed("model."))
    yield case(folder, "prefix-roberta", "Roberta", edit=prefixed("module."), activation="softmax")
    yield case(folder, "whole-pickle", edit=whole, refused="contains code")
    yield case(folder, "checkpoint-pt", edit=renamed, refused="PyTorch Lightning or a pickle")
    uncased = {"do_lower_case": True}  # not the default of 5.0
    yield case(
        folder, "google-names", kind="ForPreTraining", edit=google, pairs=PAIRS, tokenizer=uncased
    )
    yield case(folder, "double", dtype=torch.float64)


def configs(folder: Path) -> Iterator[Made]:
    """Entries of config.json."""

    def entries(**changes: Any) -> Edit:
        return lambda folder, _: change(folder, "config.json", **changes)

    yield case(folder, "no-architectures", edit=entries(architectures=None), activation="softmax")
    fewer = {"id2label": {"0": "bad", "1": "good"}, "label2id": {"bad": 0, "good": 1}}
    yield case(
        folder, "fewer-names", config={"num_labels": 3}, activation="softmax",
        edit=entries(num_labels=3, **fewer), labels=["bad", "good", "LABEL_2"],
    )  # fmt: skip
    names = {"0": "bad", "1": "good", "2": "so-so"}
    yield case(
        folder, "names", config={"num_labels": 3}, activation="softmax", labels=[*names.values()],
        edit=entries(id2label=names, label2id={v: int(k) for k, v in names.items()}),
    )  # fmt: skip
    yield case(
        folder, "more-names", config={"num_labels": 3},
        edit=entries(id2label={**names, "3": "x"}), refused="names 4 labels",
    )  # fmt: skip
    for act in ("relu", "gelu_new", "silu" if VERSION >= (3, 0) else "swish"):
        yield case(folder, f"act-{act}", kind="ForMaskedLM", config={"hidden_act": act})
    yield case(folder, "eps", config={"layer_norm_eps": 1e-5})
    yield case(folder, "one-segment", config={"type_vocab_size": 3}, pairs=PAIRS)
    if (4, 0) <= VERSION < (4, 57):
        yield case(
            folder, "relative", config={"position_embedding_type": "relative_key"},
            refused="position_embedding_type",
        )  # fmt: skip
    if VERSION >= (3, 0):
        yield case(folder, "causal", kind="LMHeadModel", config={"is_decoder": True})
    if VERSION < (5, 0):

        def pruned(folder: Path, model: Any) -> None:
            model.prune_heads({0: [1]})
            model.save_pretrained(str(folder))

        yield case(folder, "pruned", edit=pruned, refused="pruned_heads")


def class_defaults(folder: Path) -> Iterator[Made]:
    """Steps of tokenizer.json that a class of transformers replaces by its defaults."""
    if VERSION < (4, 20) or VERSION == (5, 0):  # whose defaults no other version has
        return
    steps = ({}, {"lowercase": False}, {"strip_accents": True}, {"strip_accents": False})
    steps += ({"handle_chinese_chars": False}, {"lowercase": False, "strip_accents": False})
    stated = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
    texts = [*TEXTS, "É é 北京 the ÀB"]

    def changed(changes: dict[str, object], removed: tuple[str, ...], name: str | None) -> Edit:
        def edit(folder: Path, _: object) -> None:
            content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
            content["normalizer"] = {**(content["normalizer"] or {}), **changes} or None
            (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
            entries = dict.fromkeys(removed) | ({"tokenizer_class": name} if name else {})
            change(folder, "tokenizer_config.json", **entries)
            (folder / "vocab.txt").unlink(missing_ok=True)

        return edit

    def reread(made: Made) -> Made:
        reader = transformers.AutoTokenizer.from_pretrained(str(folder / made.folder))
        made.ids = [list(reader(text)["input_ids"]) for text in made.texts]
        made.outputs, made.noted = {}, "tokenizer.json is followed"
        return made

    for number, changes in enumerate(steps):
        for end, removed in (("stated", ()), ("unsaid", stated), ("half", stated[1:])):
            edit = changed(changes, removed, None)
            yield reread(case(folder, f"steps-{number}-{end}", texts=texts, edit=edit))
        edit = changed(changes, (), "PreTrainedTokenizerFast")
        yield reread(case(folder, f"steps-{number}-generic", texts=texts, edit=edit))
    for spaced in (False, True):
        for end, removed in (("stated", ()), ("unsaid", ("add_prefix_space",))):
            yield reread(case(
                folder, f"space-{spaced}-{end}", "Roberta", texts=texts,
                tokenizer={"add_prefix_space": spaced}, edit=changed({}, removed, None),
            ))  # fmt: skip


def main(folder: Path) -> None:
    with suppress(AttributeError):
        transformers.logging.set_verbosity_error()
    write_all(folder, [heads, tokenizers, weights, configs, class_defaults])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
