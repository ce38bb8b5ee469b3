"""Run a benchmark: `python -m benchmarks CASE [options]`; without a case, list them all."""

import sys
from importlib import import_module
from typing import NamedTuple


class Case(NamedTuple):
    """Module of a case, which has `main(arguments)`, and its line in benchmarks/README.md."""

    module: str
    description: str


CASES = {
    "training": Case("training.compare", "training against transformers and the hardware limit"),
    "score": Case("score.compare", "time to the score of the full recipe, against transformers"),
    "answers": Case(
        "answers.compare", "inference against transformers, onnxruntime, sentence-transformers"
    ),
    "shrinking": Case("shrinking", "smaller models: score, size and speed against their teacher"),
    "starts": Case("starts", "program start, page visits, first training step"),
    "memory": Case("memory", "estimated against measured memory of a run"),
    "scale": Case("scale", "calculated cost of pre-training on 1, 8 and 64 GPUs"),
    "importing": Case("importing", "import of a large table or a model; GUI pauses"),
    "checks": Case("checks", "data checks on a million rows, against datasketch"),
    "packets": Case("packets", "packets of 10,000 rows for two coders, made and taken in"),
    "applying": Case(
        "applying", "prediction for a million texts, in fewer bits, of equal texts; GUI pauses"
    ),
    "long_texts": Case(
        "long_texts.compare", "long texts in windows: scores, passages, speed, memory"
    ),
    "results": Case("results", "opening and filtering results of a million rows"),
    "runs": Case("runs", "Runs page with 10,000 runs; recovery of 1,000 run folders"),
    "explore": Case("explore.window", "response times of Explore with BERT base"),
    "labelling": Case(
        "labelling", "orders of rows to label, the estimated gain, and the time to the next row"
    ),
    "quality": Case("quality", "model quality and complete workflows on real data"),
    "walks": Case("walks", "Python calls of one user action on the GUI thread"),
    "defaults": Case("defaults", "measurements behind the recommended settings"),
    "folders": Case("folders.compare", "folders of other libraries, read equal or refused by name"),
    "forms": Case(
        "forms.compare", "files of other tools, read or refused by name; exports, read by them"
    ),
    "few": Case("few.compare", "ways to train a classifier of few rows, against SetFit"),
    "levels": Case("levels", "losses and decisions for labels that are paths"),
    "sets": Case("sets", "coverage of prediction sets on held-out rows"),
    "fidelity": Case("fidelity", "scores against transformers on eight data sets"),
}


def main(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print("python -m benchmarks CASE [options]\n")
        for name, case in CASES.items():
            print(f"  {name:10} {case.description}")
        return
    name, *options = arguments
    if name not in CASES:
        sys.exit(f"No case “{name}”. Cases: {', '.join(CASES)}.")
    import_module(f"benchmarks.{CASES[name].module}").main(options)


if __name__ == "__main__":
    main(sys.argv[1:])
