"""Model quality and complete workflows on real data.

sample        does the first training beat its baseline, and how long does it take?
label_errors  how many deliberately changed labels confident learning finds
circle        file to model and back by headless commands, or in the window (`--window`)
night         24 queued runs of which one fails and one is killed, then the window (`--window`)
pretraining   pre-training with a known outcome: Google's sample text, rxnfp
"""

from importlib import import_module

from benchmarks import harness

PARTS = ("sample", "label_errors", "circle", "night", "pretraining")


def main(arguments: list[str]) -> None:
    parts = {name: lambda options, name=name: _run(name, options) for name in PARTS}
    harness.run_part("quality", __doc__, parts, arguments)


def _run(name: str, options: list[str]) -> None:
    import_module(f"benchmarks.quality.{name}").main(options)
