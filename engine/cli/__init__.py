"""The headless commands, on folders and files, without a window.

Torch is loaded late, by the commands that need it. The record is never opened here.

Exit codes: 0 done; 1 an error of the user, one sentence on stderr; 2 wrong usage; 3 a bug in the
program; 130 cancelled with Ctrl+C.
"""

import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module

import typer

from engine.cli.options import GroupedHelp
from engine.files.atomic_write import keep_files_private
from engine.system.errors import explain_error
from engine.system.terminal import echo_error
from engine.system.torch_import import load_torch_without_gc
from engine.worker import configure_threads

WRONG_INPUT, WRONG_USAGE, BUG, CANCELLED = 1, 2, 3, 130

COMMANDS = {  # by name, the module and function
    "job": "engine.cli.compose:job_command",
    "train": "engine.cli.jobs:train",
    "resume": "engine.cli.jobs:resume",
    "cluster": "engine.cli.cluster:cluster",
    "branch": "engine.cli.runs:branch",
    "checkpoints": "engine.cli.runs:checkpoints",
    "batch": "engine.cli.runs:batch",
    "export-curves": "engine.cli.curves:export_curves",
    "reproducibility": "engine.cli.reproducibility:reproducibility",
    "compare": "engine.cli.reproducibility:compare",
    "lineage": "engine.cli.lineage:lineage",
    "compare-results": "engine.cli.results:compare_results",
    "slices": "engine.cli.results:slices",
    "import": "engine.cli.importing:import_command",
    "import-model": "engine.cli.hub:import_model",
    "check": "engine.cli.check:check_command",
    "fix": "engine.cli.check:fix",
    "label-errors": "engine.cli.labels:label_errors",
    "relabel": "engine.cli.labels:relabel",
    "label-gain": "engine.cli.labels:label_gain",
    "split": "engine.cli.splitting:split",
    "codebook": "engine.cli.codebooks:codebook",
    "hand-out": "engine.cli.packets:hand_out_command",
    "handed-out": "engine.cli.packets:handed_out_command",
    "hand-in": "engine.cli.packets:hand_in_command",
    "take-in": "engine.cli.packets:take_in_command",
    "agreement": "engine.cli.agreement:agreement_command",
    "changes": "engine.cli.changes:changes",
    "predict": "engine.cli.predicting:predict_command",
    "evaluate": "engine.cli.evaluating:evaluate_command",
    "estimate": "engine.cli.estimating:estimate_command",
    "calibrate": "engine.cli.calibrating:calibrate",
    "fill": "engine.cli.ask:fill",
    "attention": "engine.cli.ask:attention",
    "heads": "engine.cli.heads:heads_command",
    "similarity": "engine.cli.similarity:similarity",
    "vectors": "engine.cli.similarity:vectors_command",
    "nearest": "engine.cli.similarity:nearest_command",
    "shrink": "engine.cli.shrinking:shrink",
    "words": "engine.cli.words:words",
    "export": "engine.cli.exporting:export",
    "export-data": "engine.cli.exporting_data:export_data_command",
    "get": "engine.cli.hub:get",
    "push": "engine.cli.hub:push",
    "doctor": "engine.cli.doctor:doctor",
    "tour": "engine.cli.tour:tour",
}


def main(arguments: list[str] | None = None, extra: Mapping[str, str] | None = None) -> int:
    """Run a command line; returns the exit code.

    `extra` are further commands, by name as in `COMMANDS`.
    """
    argv = sys.argv[1:] if arguments is None else arguments
    keep_files_private()
    configure_threads()
    load_torch_without_gc()
    try:
        commands = {**COMMANDS, **(extra or {})}
        # all of them for the help
        selected = argv[:1] if argv and argv[0] in commands else commands
        reader = _make_parser(tuple((name, commands[name]) for name in selected))
        result = reader(args=argv, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except typer.Exit as end:
        return int(end.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        echo_error("Cancelled.")
        return CANCELLED
    except typer.TyperException as invalid:
        problem = invalid.format_message().replace(": Value error, ", ": ")  # of typer
        echo_error(f"bert-studio: {problem} See bert-studio --help.")
        return WRONG_USAGE
    except BrokenPipeError:  # the reader of the output has closed it, as `| head` does
        sys.stderr.close()
        return 0
    except Exception as error:  # noqa: BLE001 (the edge of the program)
        if (understood := explain_error(error)) is not None:
            echo_error(f"bert-studio: {understood}")
            return WRONG_INPUT
        echo_error(
            "bert-studio: unexpected error in BERT Studio. Please report this bug with the "
            "lines below.",
            *traceback.format_exc().splitlines(),
        )
        return BUG


@cache
def _make_parser(commands: tuple[tuple[str, str], ...]) -> Callable[..., object]:
    """Make the parser of these commands; imports their modules."""
    app = typer.Typer(
        name="bert-studio",
        help="Pre-train, fine-tune and explore BERT on your own machine. "
        "Without a command, the window opens.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(lambda: None)  # otherwise the only command would have no name
    for name, target in commands:
        module, _, function = target.partition(":")
        app.command(name, cls=GroupedHelp)(getattr(import_module(module), function))
    return typer.main.get_command(app)
