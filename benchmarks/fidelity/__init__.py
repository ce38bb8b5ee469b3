"""Scores after training with this engine and with transformers, under the same settings.

prepare       write the files that both sides read
transformers  train and evaluate with transformers
ours          train and evaluate with the headless commands
table         mean and standard deviation of both sides
"""

from importlib import import_module

from benchmarks import harness

PARTS = {"prepare": "prepare", "transformers": "reference", "ours": "ours", "table": "results"}


def main(arguments: list[str]) -> None:
    parts = {name: lambda options, name=name: _run(name, options) for name in PARTS}
    harness.run_part("fidelity", __doc__, parts, arguments)


def _run(name: str, options: list[str]) -> None:
    import_module(f"benchmarks.fidelity.{PARTS[name]}").main(options)
