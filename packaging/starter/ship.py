"""Put the last checkpoint of a finished pre-training into `resources/starter`, in half precision.

    python packaging/starter/ship.py RUN_FOLDER [EARLIER_RUN_FOLDER ...]

Evaluates it once more as it is stored, on the held-out text of the run, and writes the model card.
Earlier runs are those that this one continued, oldest first.
"""

import sys
from pathlib import Path

import torch

from engine.config.tasks.pretraining import Pretraining
from engine.config.training import HardwareSpec
from engine.data.datasets.store import open_dataset
from engine.files.atomic_write import MANIFEST, atomic_folder
from engine.files.shipped import starter_model
from engine.messages.events import Measured
from engine.models import checkpoint
from engine.runs.folder import RunFolder
from engine.tasks.evaluating import evaluate
from engine.tasks.pretraining import PretrainingLearner
from engine.training.device.machine import choose_machine

CARD = """\
# Starter model

A small English BERT, pre-trained from scratch with BERT Studio, so that you can explore attention,
predict masked tokens and fine-tune a first model without any download. It was trained on a few
million tokens, where published models see billions: it knows grammar and which words go together,
and next to nothing about the world.

| | |
| --- | --- |
| network | BERT, {layers} layers × {hidden_size}, {heads} heads, {max_positions} positions |
| vocabulary | {vocab_size:,} tokens (WordPiece), uncased, made from the same text |
| parameters | {parameters:,}, stored as float16 ({megabytes:.1f} MB) |
| heads | masked language modelling |
| trained on | {tokens:.1f} million tokens in {steps:,} steps, on one processor core |
| held-out loss | {loss:.3f} nats per masked token |
| held-out top-1 / top-5 | {top1:.1%} / {top5:.1%} of {examples:,} masked tokens |

The last two lines were measured with the stored weights, on documents held out before the training
(`packaging/starter/corpus.py`), with {probability:.0%} of the tokens chosen and masked as in the
paper.

## Made from

- Wikipedia (English, 2015), text under CC BY-SA 3.0, by the authors of its articles; cleaned, and
  used to train this model. See https://en.wikipedia.org/wiki/Wikipedia:Copyrights.
- Speeches on the State of the Union, 1790 to today: public domain.
- Fourteen books of Project Gutenberg in the selection of NLTK: public domain.

The weights are under the licence of BERT Studio (Apache-2.0).

## Recipe

```sh
python packaging/starter/corpus.py ASSETS corpus/train.txt --held-out corpus/dev.txt
{commands}
python packaging/starter/ship.py {runs}
```

`corpus/` is beside the job files in `packaging/starter/`. The seed in the job determines the order
of examples, the masks and the initial weights. The job uses warm initialisation
(`engine/training/warm_init.py`): word vectors from co-occurrence counts over the training text, and
heads that first attend to the nearest words.

## Next-sentence prediction

The paper also pre-trains with next-sentence prediction. At equal cost, this was worse: after 2,000
steps of this recipe, scheduled to end there (2.0 million tokens, seed 42, one run of each;
`packaging/starter/compare.py`), the held-out loss was 5.040 with it and 4.818 without, top-1 24.0%
and 26.5%; 74.2% of the held-out pairs were classified correctly. So this model was trained on
masked tokens only. Whether the full training, six times as long, would change that was not tested.

## Limits

It reproduces what its sources say, including their outdated views and prejudices. Do not use it for
decisions about people.
"""


def main(arguments: list[str]) -> None:
    runs = [RunFolder(Path(name).absolute()) for name in (*arguments[1:], arguments[0])]
    last = runs[-1].checkpoint_folders()[-1]
    half = checkpoint.load(last)
    target = starter_model()
    with atomic_folder(target) as folder:
        checkpoint.write(folder, half.network, half.tokenizer, dtype=torch.float16)
        (folder / "README.md").write_text(_card(runs, folder), encoding="utf-8")
    (target / MANIFEST).unlink()  # git needs no checksums
    print((target / "README.md").read_text(encoding="utf-8"))


def _card(runs: list[RunFolder], stored: Path) -> str:
    """Model card, with metrics of the weights in `stored`."""
    loaded = checkpoint.load(stored)
    figures = held_out(runs[-1], loaded)
    spec = loaded.spec
    taken = [(_steps(run), run.job().training) for run in runs]
    names = [f"run-{number}" for number in range(1, len(runs) + 1)]
    jobs = ["job.json", *(f"job-{number}.json" for number in range(2, len(runs) + 1))]
    return CARD.format(
        **spec.model_dump(),
        parameters=sum(p.numel() for p in loaded.network.parameters()),
        megabytes=(stored / "model.safetensors").stat().st_size / 1e6,
        tokens=sum(steps * plan.batch_size * plan.max_length for steps, plan in taken) / 1e6,
        steps=sum(steps for steps, _ in taken),
        loss=figures["loss"],
        top1=figures["accuracy"],
        top5=figures["top5"],
        examples=int(figures["examples"]),
        probability=Pretraining().mlm_probability,
        commands="\n".join(
            f"bert-studio train packaging/starter/{job} --into {name}"
            for job, name in zip(jobs, names, strict=True)
        ),
        runs=" ".join([names[-1], *names[:-1]]),
    )


def held_out(run: RunFolder, loaded: checkpoint.Checkpoint) -> dict[str, float]:
    """Metrics on the held-out text, in inputs as long as in training, masked as in the paper."""
    learner = PretrainingLearner(Pretraining())
    plan = run.job().training
    rows = open_dataset(run.dataset).rows("validation")
    cache = run.cache / "ship"
    examples = learner.pack(rows, loaded.tokenizer, plan.max_length, cache, lambda a, b: None)
    machine = choose_machine(HardwareSpec(device="cpu"))
    metrics = evaluate(
        *(loaded.network, learner, loaded.tokenizer, examples),
        *(plan.batch_size, plan.seed, machine.device, machine.precision),
    )
    return metrics.compute()


def _steps(run: RunFolder) -> int:
    """Number of training steps of a run."""
    return max(event.step for event in measured(run))


def measured(run: RunFolder) -> list[Measured]:
    """Points of all curves of a run, in order of time."""
    found: list[Measured] = []
    offset, before = 0, -1
    while offset != before:
        before = offset
        events, offset = run.events_after(offset)
        found += [event for event in events if isinstance(event, Measured)]
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
