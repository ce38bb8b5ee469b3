"""SetFit's side: `python -m benchmarks.few.peer MODEL FOLDER SETTINGS`, in an environment with it.

FOLDER has train.csv and test.csv. `epochs` are the iterations of SetFit: for each row so many pairs
of the same and of different labels.
"""

import csv
import json
import sys
import time
from pathlib import Path
from statistics import fmean

BATCH, MAX_LENGTH, WARMUP = 16, 64, 0.1


def main(model: str, folder: Path, settings: dict[str, float]) -> None:
    import torch
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    torch.set_num_threads(1)
    train, test = (_rows(folder / f"{part}.csv") for part in ("train", "test"))
    network = SetFitModel.from_pretrained(model, labels=sorted(set(train["label"])))
    network.model_body.float()  # it would train in the fp16 of the file
    network.model_body.max_seq_length = MAX_LENGTH
    arguments = TrainingArguments(
        output_dir=str(folder / "setfit"),
        batch_size=BATCH,
        num_epochs=1,
        num_iterations=round(settings["epochs"]),
        body_learning_rate=settings["rate"],
        warmup_proportion=WARMUP,
        seed=int(settings["seed"]),
        report_to="none",
        save_strategy="no",
    )
    trainer = Trainer(model=network, args=arguments, train_dataset=Dataset.from_dict(train))
    began = time.process_time()
    trainer.train()
    cpu = time.process_time() - began
    found = network.predict(test["text"], use_labels=True)
    score = fmean(str(a) == b for a, b in zip(found, test["label"], strict=True))
    told = {"learning_rate": settings["rate"], "epochs": settings["epochs"], "batch_size": BATCH}
    print(json.dumps({"score": round(score, 4), "cpu": round(cpu, 1), **told}))


def _rows(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in ("text", "label")}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))
