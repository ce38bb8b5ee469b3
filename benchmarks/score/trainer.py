"""transformers' side: its Trainer, grouped by length, with the settings of the same job.

It evaluates and saves as often as the job.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.score.plan import Watch, Work, read_work

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers
from scipy.stats import pearsonr
from seqeval.metrics import f1_score
from transformers import (
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    EvalPrediction,
    Trainer,
    TrainingArguments,
)

from benchmarks.fidelity.reference_tasks import NO_TAG, Classes, ReferenceTask, Scores, Tags
from benchmarks.fidelity.settings import Setting
from engine.config.dataset import FileData
from engine.training.data.batch_order import evaluation_interval

SCORES = {"text_classification": Classes, "pair_classification": Classes}
SCORES |= {"regression": Scores, "token_classification": Tags}


def main(work: Work) -> None:
    job = work.job()
    settings, data = job.training, job.data
    assert isinstance(data, FileData) and data.validation is not None
    torch.set_num_threads(work.threads)
    torch.manual_seed(settings.seed)  # the new head
    transformers.logging.set_verbosity_error()
    evaluated = {"": str(data.validation)}
    setting = Setting(job.task.kind, "", evaluated, (), 0, settings.max_length)
    side = SCORES[job.task.kind]
    task = side(Path(work.model), setting, data.path)
    model: Any = task.model
    model.set_attn_implementation(work.attention)
    every = evaluation_interval(settings, -(-len(task.examples) // settings.batch_size))
    collate = (
        DataCollatorForTokenClassification if isinstance(task, Tags) else DataCollatorWithPadding
    )
    watch = Watch()

    def measure(predictions: EvalPrediction) -> dict[str, float]:
        score = _score(task, predictions.predictions, predictions.label_ids)
        watch.add(trainer.state.global_step, score)
        return {"score": score}

    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                seed=settings.seed,
                num_train_epochs=settings.epochs,
                per_device_train_batch_size=settings.batch_size,
                per_device_eval_batch_size=settings.batch_size,
                learning_rate=settings.learning_rate,
                lr_scheduler_type=settings.lr_schedule,
                warmup_steps=settings.warmup_ratio,  # a fraction, if it is below 1
                weight_decay=settings.weight_decay,
                max_grad_norm=settings.max_grad_norm,
                train_sampling_strategy="group_by_length",
                use_cpu=True,
                dataloader_pin_memory=False,
                eval_strategy="steps",
                eval_steps=every,
                save_strategy="steps",
                save_steps=every,
                save_total_limit=settings.keep + 1,
                logging_strategy="no",
                report_to=[],
                disable_tqdm=True,
            ),
            train_dataset=task.examples,
            eval_dataset=task.read(data.validation),
            data_collator=collate(task.tokenizer, pad_to_multiple_of=8),
            compute_metrics=measure,
        )
        watch.begin()
        trainer.train()
        watch.print_result(steps=trainer.state.global_step)


def _score(task: ReferenceTask, predictions: np.ndarray, labels: np.ndarray) -> float:
    """The metric that chooses the best checkpoint of the task."""
    if isinstance(task, Tags):
        words = labels != NO_TAG
        best = predictions.argmax(-1)
        true, predicted = (
            [[task.tags[n] for n in row[kept]] for row, kept in zip(rows, words, strict=True)]
            for rows in (labels, best)
        )
        return float(f1_score(true, predicted))
    if isinstance(task, Scores):
        return float(pearsonr(predictions[:, 0], labels).statistic)
    return float((predictions.argmax(-1) == labels).mean())


if __name__ == "__main__":
    main(read_work(__doc__))
