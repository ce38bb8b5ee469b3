"""The headless commands: the same program without a window, on folders and files.

Torch is loaded late, by the commands that need it. The record is never opened here.

Exit codes: 0 done; 1 a problem with what the user gave, one sentence on stderr; 2 wrong usage;
3 a bug in the program; 130 cancelled with Ctrl+C.
"""

import sys
import traceback
from collections.abc import Callable
from functools import cache

import typer

from engine.atomic_write import keep_files_private
from engine.cli import (
    ask,
    calibrating,
    changes,
    check,
    cluster,
    compose,
    curves,
    doctor,
    evaluating,
    exporting,
    heads,
    hub,
    importing,
    jobs,
    labels,
    lineage,
    predicting,
    reproducibility,
    results,
    runs,
    similarity,
    tour,
)
from engine.cli.options import GroupedHelp
from engine.system_errors import explained
from engine.terminal import remark
from engine.worker import share_the_machine

WRONG_INPUT, WRONG_USAGE, BUG, CANCELLED = 1, 2, 3, 130

app = typer.Typer(
    name="bert-studio",
    help="Pre-train, fine-tune and explore BERT on your own machine. "
    "Without a command, the window opens.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("job", cls=GroupedHelp)(compose.job_command)
app.command("train")(jobs.train)
app.command("resume")(jobs.resume)
app.command("cluster")(cluster.cluster)
app.command("branch")(runs.branch)
app.command("checkpoints")(runs.checkpoints)
app.command("batch")(runs.batch)
app.command("export-curves")(curves.export_curves)
app.command("reproducibility")(reproducibility.reproducibility)
app.command("compare")(reproducibility.compare)
app.command("lineage")(lineage.lineage)
app.command("compare-results")(results.compare_results)
app.command("slices")(results.slices)
app.command("import", cls=GroupedHelp)(importing.import_command)
app.command("check", cls=GroupedHelp)(check.check_command)
app.command("cure")(check.cure)
app.command("label-errors")(labels.label_errors)
app.command("relabel")(labels.relabel)
app.command("changes")(changes.changes)
app.command("predict", cls=GroupedHelp)(predicting.predict_command)
app.command("evaluate", cls=GroupedHelp)(evaluating.evaluate_command)
app.command("calibrate")(calibrating.calibrate)
app.command("fill")(ask.fill)
app.command("attention")(ask.attention)
app.command("heads", cls=GroupedHelp)(heads.heads_command)
app.command("similarity")(similarity.similarity)
app.command("vectors", cls=GroupedHelp)(similarity.vectors_command)
app.command("nearest", cls=GroupedHelp)(similarity.nearest_command)
app.command("export")(exporting.export_command)
app.command("get")(hub.get)
app.command("push")(hub.push)
app.command("doctor")(doctor.doctor)
app.command("tour")(tour.tour)


def main(arguments: list[str] | None = None) -> int:
    """Carry out a command line; returns the exit code."""
    keep_files_private()
    share_the_machine()
    try:
        result = _read(len(app.registered_commands))(args=arguments, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except typer.Exit as end:
        return int(end.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        remark("Cancelled.")
        return CANCELLED
    except typer.TyperException as wrong:
        remark(f"bert-studio: {wrong.format_message()} See bert-studio --help.")
        return WRONG_USAGE
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        sys.stderr.close()
        return 0
    except Exception as error:  # noqa: BLE001 (the edge of the program)
        if (understood := explained(error)) is not None:
            remark(f"bert-studio: {understood}")
            return WRONG_INPUT
        remark(
            "bert-studio: unexpected error in BERT Studio. Please report this bug with the "
            "lines below.",
            *traceback.format_exc().splitlines(),
        )
        return BUG


@cache
def _read(_: int) -> Callable[..., object]:
    """So many commands, read from their functions once for a process."""
    return typer.main.get_command(app)
