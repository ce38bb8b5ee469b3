"""Train variants of the starter model at equal cost, and print how well each predicts.

    python packaging/starter/compare.py WORK [--steps 2000]

All variants have the same text, vocabulary, seed, steps and tokens in a step; WORK is an empty
folder with some gigabytes of room, and keeps the runs. Finished runs are only evaluated. The
text is that of `corpus.py`. Every variant is evaluated on the same held-out masked tokens, in the
inputs of a variant without pairs; one that learned pairs on the held-out pairs besides.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from ship import held_out, measured

from engine.cli.compose import assign
from engine.models import checkpoint
from engine.runs.folder import RunFolder

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
VARIANTS = {
    "masked tokens, warm initialisation (the recipe)": (),
    "masked tokens and next sentence, warm initialisation": ("task.nsp=true",),
    "masked tokens, random initialisation": ("base_model.warm_init=false",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    print("| variant | loss | top-1 | top-5 | pairs |")
    print("| --- | --- | --- | --- | --- |")
    for number, (name, changes) in enumerate(VARIANTS.items()):
        run = RunFolder(arguments.work.absolute() / f"run-{number}")
        if not run.checkpoint_folders():
            _train(run, changes, arguments.steps)
        figures = held_out(run, checkpoint.load(run.checkpoint_folders()[-1]))
        loss, top1, top5 = (figures[key] for key in ("loss", "accuracy", "top5"))
        row = (name, f"{loss:.3f}", f"{top1:.1%}", f"{top5:.1%}", _pairs(run))
        print(f"| {' | '.join(row)} |", flush=True)


def _train(run: RunFolder, changes: tuple[str, ...], steps: int) -> None:
    raw = json.loads((HERE / "job.json").read_text(encoding="utf-8"))
    ends = (f"training.steps={steps}", f"training.evaluate_every={steps}")
    data = (f"data.path={CORPUS / 'train.txt'}", f"data.validation={CORPUS / 'dev.txt'}")
    for change in (*ends, *data, *changes):
        assign(raw, change)
    job = run.path.with_suffix(".json")
    job.parent.mkdir(parents=True, exist_ok=True)
    job.write_text(json.dumps(raw), encoding="utf-8")
    command = [sys.executable, "-m", "app", "train", str(job), "--into", str(run.path)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def _pairs(run: RunFolder) -> str:
    """NSP accuracy on held-out pairs, if pairs were learned."""
    shares = [e.value for e in measured(run) if e.name == "validation_nsp_accuracy"]
    return f"{shares[-1]:.1%}" if shares else ""


if __name__ == "__main__":
    main()
