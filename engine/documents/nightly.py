"""Commands that apply a model every night, for cron and the Windows Task Scheduler."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from engine.config.dataset import Mapping
from engine.config.zero_shot import Described
from engine.phrases import phrase

INPUT_ROLES = ("text", "pair", "beginning", "endings")  # options of `predict`
CODE = Path(__file__).resolve().parents[2]
QUOTES = re.compile("['‘’‚‛]")
NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|\s]+')  # of tasks, which are files
EXIT_CODES = {
    0: phrase("all rows are written"),
    1: phrase("the file, the model or the disk has a problem, which the last line names"),
    2: phrase("an option is wrong"),
    3: phrase("an error of BERT Studio"),
    130: phrase("cancelled"),
}


class Nightly(NamedTuple):
    """Predictions at `hour`:`minute` every day: of all rows of `data`, into `out`.

    Args:
        threshold: predictions less probable than this are marked as unsure; 0: none; None: the
            threshold stored with the model, if any.
        mapping: the text columns; None: recognised.
        described: labels by their descriptions; None: those of the model.
    """

    model: Path
    data: Path
    out: Path
    threshold: float | None = None
    hour: int = 2
    minute: int = 0
    mapping: Mapping | None = None
    described: Described | None = None

    def command(self) -> list[str]:
        """Program and arguments; a checkout runs them in CODE."""
        program = [] if getattr(sys, "frozen", False) else ["-m", "app"]
        options = ["--model", str(self.model), "--out", str(self.out)]
        if self.threshold is not None:
            options += ["--threshold", f"{self.threshold:.4g}"]
        for role in INPUT_ROLES if self.mapping else ():
            if column := getattr(self.mapping, role):
                options += [f"--{role}", ",".join(column) if role == "endings" else column]
        if self.described is not None:
            options += [f"--describe={line}" for line in self.described.lines]
            options += [f"--template={self.described.template}"]
            options += ["--several"] if self.described.several else []
        return [sys.executable, *program, "predict", str(self.data), *options]


def cron_line(nightly: Nightly) -> str:
    """A line of a crontab; what the command prints goes to a log beside the result.

    Cron would read a bare % as the end of the command.
    """
    log = shlex.quote(str(nightly.out.with_suffix(".log")))
    work = f"cd {shlex.quote(str(CODE))} && {shlex.join(nightly.command())} >> {log} 2>&1"
    return f"{nightly.minute} {nightly.hour} * * * " + work.replace("%", "\\%")


def scheduled_task(nightly: Nightly, name: str) -> str:
    """A PowerShell command that adds a daily task; its “Last Run Result” is the exit code."""
    program, *arguments = nightly.command()
    action = (
        f"New-ScheduledTaskAction -Execute {_quote(program)} "
        f"-Argument {_quote(subprocess.list2cmdline(arguments))} -WorkingDirectory "
        f"{_quote(str(CODE))}"
    )
    trigger = f"New-ScheduledTaskTrigger -Daily -At {nightly.hour:02}:{nightly.minute:02}"
    task = NOT_IN_NAMES.sub(" ", name).strip()
    return (
        f"Register-ScheduledTask -TaskName {_quote(task)} `\n"
        f"  -Trigger ({trigger}) `\n  -Action ({action})"
    )


def _quote(text: str) -> str:
    """A verbatim string of PowerShell, which any of its five single quotes would end ([MS-PSLS]
    2.3.5.2)."""
    return "'" + QUOTES.sub(r"\g<0>\g<0>", text) + "'"
