"""Check all computations on a device of this machine, and print a report."""

import platform
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import typer

from engine.cli.options import AsJson
from engine.phrases import phrase
from engine.system.terminal import echo, echo_error, echo_json_text

FAILED = 1  # exit code


def doctor(
    device: Annotated[
        Literal["cpu", "cuda", "mps"], typer.Option(help="The device to check.")
    ] = "cpu",
    as_json: AsJson = False,
) -> int:
    """Check training, evaluation, prediction and Explore on a device; takes about two minutes.

    Every task is trained for a few steps and compared with the CPU. The report contains only
    versions, device names and figures, none of your data, so you can share it.
    """
    from engine.doctor.bench import bench
    from engine.doctor.checks import CHECKS, run_check
    from engine.doctor.report import Report, head, lines

    with tempfile.TemporaryDirectory(prefix="bert-studio-", ignore_cleanup_errors=True) as scratch:
        shared = bench(Path(scratch), device)
        report = Report(
            device=device,
            environment=_environment()
            | {"Device": shared.name, "Precision": shared.machine.precision_name},
        )
        if not as_json:
            echo(*head(report))
        for name in CHECKS:
            check = run_check(name, shared)
            report = report.model_copy(update={"checks": (*report.checks, check)})
            if not as_json:
                echo(*lines(check))
    if as_json:
        echo_json_text(report.model_dump_json(indent=1))
    if report.passed:
        return 0
    echo_error(
        phrase(
            "bert-studio: {count} of {total} checks of “{device}” failed ({names}). Please report "
            "this with the lines above.",
            count=len(report.failed),
            total=len(report.checks),
            device=device,
            names=", ".join(report.failed),
        )
    )
    return FAILED


def _environment() -> dict[str, str]:
    import torch

    from engine import cores
    from engine.training.device.environment import package_version

    return {
        "BERT Studio": package_version("bert-studio"),
        "torch": f"{torch.__version__}, CUDA {torch.version.cuda or 'none'}",
        "numpy": package_version("numpy"),
        "tokenizers": package_version("tokenizers"),
        "Python": platform.python_version(),
        "System": platform.platform(),
        "CPU": f"{cores.cpu_and_cores()}, {torch.backends.cpu.get_cpu_capability()}",
    }
