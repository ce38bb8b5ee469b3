"""transformers' side: its Trainer, or a plain training loop.

All other settings are the defaults of transformers: optimiser, clipping, data loader.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForSequenceClassification,
    BertTokenizerFast,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from benchmarks.training.clock import Clock
from benchmarks.training.dry import device_name
from benchmarks.training.size import Size

MAX_LENGTH = 128


def main(arguments: list[str]) -> None:
    options = _arguments(arguments)
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    tokenizer = BertTokenizerFast(str(options.synthetic / "vocab.txt"))
    if options.work == "pretraining" and options.loop == "plain":
        _pretrain_plainly(options, tokenizer)
    elif options.work == "pretraining":
        _pretrain(options, tokenizer)
    else:
        _fine_tune(options, tokenizer)


def _fine_tune(options: argparse.Namespace, tokenizer: BertTokenizerFast) -> None:
    lines = (options.synthetic / "sentences.tsv").read_text(encoding="utf-8").splitlines()[1:]
    labels, texts = zip(*(line.split("\t") for line in lines), strict=True)
    pads_fully = options.padding == "max"
    ids = tokenizer(
        list(texts),
        truncation=True,
        max_length=MAX_LENGTH,
        padding="max_length" if pads_fully else False,
    )
    rows = [
        {**{name: ids[name][n] for name in ids}, "labels": int(labels[n])}
        for n in range(len(texts))
    ]
    collate = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=None if pads_fully else 8)
    model = _restrict(options, BertForSequenceClassification(_config(options, tokenizer)))
    grouped = {"train_sampling_strategy": "group_by_length"} if options.padding == "group" else {}
    _train(options, model, rows, collate, learning_rate=2e-5, **grouped)


def _restrict(
    options: argparse.Namespace, model: BertForSequenceClassification
) -> BertForSequenceClassification:
    """Freeze the embeddings and the lowest layers, or add adapters of peft to query and value;
    pooler and head are trained fully, as in BERT Studio."""
    if options.frozen:
        for part in (model.bert.embeddings, *model.bert.encoder.layer[: options.frozen]):
            part.requires_grad_(False)
    if not options.lora:
        return model
    from peft import LoraConfig, get_peft_model

    adapters = LoraConfig(
        task_type="SEQ_CLS",
        r=options.lora,
        lora_alpha=16,
        target_modules=["query", "value"],
        modules_to_save=["pooler", "classifier"],
    )
    return get_peft_model(model, adapters)


def _pretrain(options: argparse.Namespace, tokenizer: BertTokenizerFast) -> None:
    """Masked words only, since the Trainer has no next-sentence prediction."""
    model = BertForMaskedLM(_config(options, tokenizer))
    collate = DataCollatorForLanguageModeling(tokenizer)
    _train(options, model, _full_rows(options, tokenizer), collate, learning_rate=1e-4)


def _train(
    options: argparse.Namespace, model: object, rows: list, collate: object, **more: object
) -> None:
    clock, seen = Clock(options.warm, options.steps), list[np.ndarray]()

    class Ticking(TrainerCallback):
        def on_step_end(self, *arguments: object, **named: object) -> None:
            clock.tick()

    def counted(items: list) -> object:
        batch = collate(items)
        seen.append(batch["attention_mask"].sum(1).numpy())
        return batch

    settings = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=options.batch,
        max_steps=options.warm + options.steps,
        bf16=options.precision == "bf16",
        fp16=options.precision == "fp16",
        use_cpu=options.device == "cpu",
        dataloader_pin_memory=options.device != "cpu" and not options.dry,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        **more,
    )
    Trainer(
        model=model, args=settings, train_dataset=rows, data_collator=counted, callbacks=[Ticking()]
    ).train()
    _print_result(options, clock, seen[options.warm : options.warm + options.steps])


def _pretrain_plainly(options: argparse.Namespace, tokenizer: BertTokenizerFast) -> None:
    """Masked words and next sentence in a plain loop."""
    device = device_name(options.device, options.dry)
    model = BertForPreTraining(_config(options, tokenizer)).to(device).train()
    collate = DataCollatorForLanguageModeling(tokenizer)
    rows, clock = _full_rows(options, tokenizer), Clock(options.warm, options.steps)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    dtype = torch.float16 if options.precision == "fp16" else torch.bfloat16
    scaler = torch.amp.GradScaler(device, enabled=options.precision == "fp16")
    for step in range(options.warm + options.steps):
        batch = dict(collate(rows[step * options.batch : (step + 1) * options.batch]))
        batch["next_sentence_label"] = torch.randint(0, 2, (options.batch,))
        batch = {name: tensor.to(device) for name, tensor in batch.items()}
        with torch.autocast(device, dtype, enabled=options.precision != "fp32"):
            loss = model(**batch).loss
        scaler.scale(loss).backward()
        scaler.unscale_(optimiser)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()
        float(loss.detach())  # waits for the device
        clock.tick()
    _print_result(options, clock, [np.full(options.batch, MAX_LENGTH)] * options.steps)


def _print_result(options: argparse.Namespace, clock: Clock, lengths: list[np.ndarray]) -> None:
    size = Size(options.layers, options.width, 30_522)
    pretrains = options.work == "pretraining"
    predicted = [round(0.15 * batch.sum()) if pretrains else 0 for batch in lengths]
    needed = sum(
        size.needed(batch, count, options.frozen, options.lora > 0)
        for batch, count in zip(lengths, predicted, strict=True)
    )
    clock.print_result(float(sum(batch.sum() for batch in lengths)), needed)


def _full_rows(options: argparse.Namespace, tokenizer: BertTokenizerFast) -> list:
    """The documents, concatenated and cut into rows without padding."""
    text = (options.synthetic / "documents.txt").read_text(encoding="utf-8").split("\n")
    lines = tokenizer(text, add_special_tokens=False)["input_ids"]
    ids = [number for line in lines for number in line]
    inside = MAX_LENGTH - 2
    rows = [
        [tokenizer.cls_token_id, *ids[n : n + inside], tokenizer.sep_token_id]
        for n in range(0, len(ids) - inside, inside)
    ]
    plain = {"attention_mask": [1] * MAX_LENGTH, "token_type_ids": [0] * MAX_LENGTH}
    return [{"input_ids": row, **plain} for row in rows]


def _config(options: argparse.Namespace, tokenizer: BertTokenizerFast) -> BertConfig:
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=options.width,
        num_hidden_layers=options.layers,
        num_attention_heads=options.width // 64,
        intermediate_size=4 * options.width,
        hidden_dropout_prob=options.dropout,
        attention_probs_dropout_prob=options.dropout,
        num_labels=2,
    )
    config._attn_implementation = options.attention
    return config


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=("finetuning", "pretraining"))
    parser.add_argument(
        "--synthetic", type=Path, required=True, help="folder of benchmarks.synthetic"
    )
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--precision", choices=("fp32", "bf16", "fp16"), default="fp32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--padding", choices=("max", "group"), default="max")
    parser.add_argument("--attention", choices=("sdpa", "eager"), default="sdpa")
    parser.add_argument("--loop", choices=("trainer", "plain"), default="trainer")
    parser.add_argument("--frozen", type=int, default=0, help="number of lowest layers")
    parser.add_argument("--lora", type=int, default=0, help="rank of adapters, by peft")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--warm", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--dry", action="store_true", help="called by dry.py")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
