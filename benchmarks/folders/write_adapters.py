"""Write small adapters with one version of PEFT, and what it computes with them.

    python write_adapters.py FOLDER

Runs in an environment of that version, with none of our packages. See `made.py`.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peft
import torch
import transformers
from made import Made, write_all
from making import (
    PAIRS,
    TEXTS,
    computed,
    config_for,
    encode_all,
    model_for,
    save,
    tokenizer_for,
)

VERSION = tuple(int(part) for part in peft.__version__.split(".")[:2])
CLASSES = {
    "SEQ_CLS": "ForSequenceClassification",
    "TOKEN_CLS": "ForTokenClassification",
    "QUESTION_ANS": "ForQuestionAnswering",
    "FEATURE_EXTRACTION": "Model",
    None: "ForMaskedLM",
}


def adapter(
    folder: Path,
    name: str,
    task: str | None = "SEQ_CLS",
    family: str = "Bert",
    labels: int = 3,
    refused: str = "",
    config: Any = None,
    saving: dict[str, Any] | None = None,
    **options: Any,
) -> Made:
    kind = CLASSES[task]
    scratch = folder / f".{name}"
    scratch.mkdir()
    splitter = tokenizer_for(family, scratch)
    shutil.rmtree(scratch)
    base = folder / f"{name}-base"
    save(
        model_for(family, kind if task is None else "Model", config_for(family, len(splitter) + 3)),
        splitter,
        base,
    )
    counted = {"num_labels": labels} if task in ("SEQ_CLS", "TOKEN_CLS") else {}
    torch.manual_seed(4)
    family_class = getattr(transformers, f"AutoModel{kind.removeprefix('Model')}")
    model = family_class.from_pretrained(str(base), **counted)
    if config is None:
        settings = {"r": 4, "lora_alpha": 9, "target_modules": ["query", "value"], **options}
        settings = {"init_lora_weights": False, **settings}
        config = peft.LoraConfig(task_type=task, **settings)
    adapted = peft.get_peft_model(model, config).eval()
    for parameter_name, parameter in adapted.named_parameters():  # as if it had been trained
        if "lora_B" in parameter_name or "trainable_tokens" in parameter_name:
            torch.nn.init.normal_(parameter, std=0.1)
    adapted.save_pretrained(str(folder / name), **(saving or {}))
    pairs = PAIRS if kind == "ForQuestionAnswering" else None
    if refused:
        return Made(name, refused, TEXTS, pairs, base=base.name)
    inputs, ids = encode_all(splitter, TEXTS, pairs, None)
    torch.manual_seed(5)
    again = family_class.from_pretrained(str(base), **counted)
    read = peft.PeftModel.from_pretrained(again, str(folder / name)).eval()
    merged = read.merge_and_unload()  # adapted, PEFT drops the segments of answers
    outputs = computed(merged, kind, inputs)
    outputs.pop("pooler_output", None)
    return Made(name, "", TEXTS, pairs, ids, outputs, base=base.name)


def adapters(folder: Path) -> Iterator[Made]:
    for family in ("Bert", "Roberta"):
        for task in CLASSES:
            yield adapter(folder, f"{family}-{task}", task, family)
    yield adapter(folder, "regression", labels=1)
    linear = ["query", "key", "value", "dense"]
    yield adapter(folder, "linear", target_modules=linear)
    in_head = "changes classifier" if VERSION < (0, 11) else ""  # of which it saves no base
    yield adapter(folder, "all-linear", target_modules="all-linear", refused=in_head)
    yield adapter(folder, "pattern", target_modules=r".*layer\.1\.attention.*query")
    yield adapter(folder, "rslora", use_rslora=True)
    yield adapter(folder, "ranks", rank_pattern={"query": 2}, alpha_pattern={"value": 3})
    yield adapter(folder, "layers", layers_to_transform=[1])
    yield adapter(folder, "embeddings", target_modules=["word_embeddings", "query"])
    yield adapter(folder, "bias-lora", bias="lora_only")
    yield adapter(folder, "bias-all", bias="all")
    yield adapter(folder, "saved-modules", modules_to_save=["classifier", "pooler"])
    yield adapter(folder, "bin", saving={"safe_serialization": False})
    if VERSION >= (0, 15):
        tokens = {"trainable_token_indices": {"word_embeddings": [5, 6]}}
        yield adapter(folder, "trainable-tokens", **tokens)
        yield adapter(folder, "lora-bias", lora_bias=True, refused="not supported: lora_bias")
        yield adapter(folder, "excluded", exclude_modules=["value"])
        for start in ("pissa", "olora"):  # these change the base, too
            named = f"not supported: init_lora_weights {start}"
            yield adapter(folder, f"start-{start}", init_lora_weights=start, refused=named)
        yield adapter(folder, "start-gaussian", init_lora_weights="gaussian")
    yield adapter(folder, "dora", use_dora=True, refused="use_dora")


def other_adapters(folder: Path) -> Iterator[Made]:
    """Kinds that are refused by name."""
    kinds = {
        "IA3": peft.IA3Config(
            task_type="SEQ_CLS", target_modules=["query", "value"], feedforward_modules=[]
        ),
        "LOHA": peft.LoHaConfig(task_type="SEQ_CLS", target_modules=["query"]),
        "PREFIX_TUNING": peft.PrefixTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=4),
        "PROMPT_TUNING": peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=4),
    }
    for kind, config in kinds.items():
        yield adapter(folder, kind, config=config, refused=f"not supported: {kind}")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]), [adapters, other_adapters])
