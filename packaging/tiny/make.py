"""Put a finished pre-training with snapshots into `resources/tiny`, in half precision.

    python packaging/tiny/make.py RUN_FOLDER

What is put there is a run folder with its snapshots, its last checkpoint and its loss, so that
Explore moves through it as through any other run. Evaluates that checkpoint once more as it is
stored, on the held-out text of the run, and writes the model card.
"""

import shutil
import statistics
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "starter"))
from ship import held_out, measured

from engine.config.job import JobSpec
from engine.files.atomic_write import atomic_folder
from engine.files.shipped import tiny_model
from engine.models import checkpoint
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.snapshots import snapshot_folders

JOB = Path(__file__).with_name("job.json")
EACH = 20  # steps averaged in each shipped loss, after as many single ones
CARD = """\
# Tiny

A very small English BERT with snapshots of its own pre-training with BERT Studio. Choose it in
Explore, and move through the training with the bar below the panels. It shows how a BERT learns; do
not use it for anything else.

| | |
| --- | --- |
| network | BERT, {layers} layers × {hidden_size}, {heads} heads, {max_positions} positions |
| vocabulary | {vocab_size:,} tokens (WordPiece), uncased, made from the same text |
| parameters | {parameters:,}, stored as float16 |
| heads | masked language modelling |
| trained on | {tokens:.1f} million tokens in {steps:,} steps, on one processor core |
| snapshots | {count}, after the steps {shown}; {megabytes:.1f} MB together |
| held-out loss at the end | {loss:.3f} nats per masked token |
| held-out top-1 / top-5 | {top1:.1%} / {top5:.1%} of {examples:,} masked tokens |

The last two lines were measured with the stored weights, on documents held out before the training.
`events.jsonl` contains only the training loss: of each of the first {each} steps, then means of
{each} steps.

## Made from

- Speeches on the State of the Union, 1790 to today: public domain.
- Fourteen books of Project Gutenberg in the selection of NLTK: public domain.

The weights are under the licence of BERT Studio (Apache-2.0).

## Recipe

```sh
python packaging/starter/corpus.py ASSETS packaging/tiny/corpus/train.txt --sources speeches,books
bert-studio train packaging/tiny/job.json --into run
python packaging/tiny/make.py run
```

The seed in the job determines the order of examples, the masks and the initial weights. The first
weights are a warm initialisation (`engine/training/warm_init.py`): word vectors from co-occurrence
counts, and heads that first attend to the nearest words. So step 0 only knows which words occur
near one another.

## Limits

It reproduces what its sources say, including their outdated views and prejudices. Do not use it for
decisions about people.
"""


def main(arguments: list[str]) -> None:
    run, target = RunFolder(Path(arguments[0]).absolute()), tiny_model().parents[1]
    made = checkpoint.load(run.checkpoint_folders()[-1])
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(run.snapshots, target / run.snapshots.name)
    stored = RunFolder(target)
    last = stored.checkpoint(checkpoint_step(run.checkpoint_folders()[-1]))
    assert last == tiny_model(), "engine/files/shipped.py names another step"
    last.parent.mkdir()
    with atomic_folder(last) as inside:
        checkpoint.write(inside, made.network, made.tokenizer, dtype=torch.float16)
    # the job with the recipe's paths, not those of the machine that trained
    job = JobSpec.model_validate_json(JOB.read_bytes())
    stored.spec_file.write_text(job.model_dump_json(indent=1), encoding="utf-8")
    for point in shortened(run):
        stored.append(point)
    (target / "README.md").write_text(card(run, stored, last), encoding="utf-8")
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    print((target / "README.md").read_text(encoding="utf-8"))


def shortened(run: RunFolder) -> list:
    """The training loss as events: single steps first, then means."""
    points = [one for one in measured(run) if one.name == "loss" and one.value is not None]
    means = [
        part[-1].model_copy(update={"value": round(statistics.mean(one.value for one in part), 4)})
        for part in (points[n : n + EACH] for n in range(EACH, len(points), EACH))
    ]
    return [*points[:EACH], *means]


def card(run: RunFolder, stored: RunFolder, last: Path) -> str:
    """The model card, with figures of the weights that are stored."""
    loaded = checkpoint.load(last)
    figures, plan, folders = held_out(run, loaded), run.job().training, snapshot_folders(stored)
    files = [file for file in stored.snapshots.rglob("*") if file.is_file()]
    return CARD.format(
        **loaded.spec.model_dump(),
        parameters=sum(p.numel() for p in loaded.network.parameters()),
        tokens=checkpoint_step(last) * plan.batch_size * plan.max_length / 1e6,
        steps=checkpoint_step(last),
        count=len(folders),
        shown=", ".join(f"{checkpoint_step(folder):,}" for folder in folders),
        megabytes=sum(file.stat().st_size for file in files) / 1e6,
        loss=figures["loss"],
        top1=figures["accuracy"],
        top5=figures["top5"],
        examples=int(figures["examples"]),
        each=EACH,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
