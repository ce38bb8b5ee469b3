"""The headless commands: the same program without a window, on folders and files.

Torch is loaded late, by the commands that need it. The record is never opened here.

Exit codes: 0 done; 1 something in what the user gave, one sentence on stderr; 2 wrong usage;
3 a mistake of the program; 130 broken off with Ctrl+C.
"""

import sys
import traceback

import typer

from engine.cli import ask, cluster, exporting, jobs, models, runs, tour
from engine.errors import StudioError
from engine.worker import share_the_machine

WRONG_INPUT, WRONG_USAGE, MISTAKE, BROKEN_OFF = 1, 2, 3, 130

app = typer.Typer(
    name="bert-studio",
    help="Pre-train, fine-tune and explore BERT on your own machine. "
    "Without a command, the window opens.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("job")(jobs.compose)
app.command("train")(jobs.train)
app.command("resume")(jobs.resume)
app.command("cluster")(cluster.cluster)
app.command("branch")(runs.branch)
app.command("checkpoints")(runs.checkpoints)
app.command("certify")(runs.certify)
app.command("compare")(runs.compare)
app.command("check")(jobs.check)
app.command("batch")(runs.batch)
app.command("predict")(models.predict)
app.command("evaluate")(models.evaluate)
app.command("fill")(ask.fill)
app.command("attention")(ask.attention)
app.command("export")(exporting.export)
app.command("tour")(tour.tour)


def main(arguments: list[str] | None = None) -> int:
    """Carry out a command line; returns the exit code."""
    share_the_machine()
    try:
        result = app(args=arguments, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except typer.Exit as end:
        return int(end.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        print("Broken off.", file=sys.stderr)
        return BROKEN_OFF
    except typer.TyperException as wrong:
        print(f"bert-studio: {wrong.format_message()} See bert-studio --help.", file=sys.stderr)
        return WRONG_USAGE
    except StudioError as error:
        print(f"bert-studio: {error}", file=sys.stderr)
        return WRONG_INPUT
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        sys.stderr.close()
        return 0
    except Exception:  # noqa: BLE001 (the edge of the program)
        print(
            "bert-studio: this is a mistake of BERT Studio, not yours. Please report it with "
            f"the lines below.\n{traceback.format_exc()}",
            file=sys.stderr,
        )
        return MISTAKE
