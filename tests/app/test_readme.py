"""Every command that the README shows can be given as it stands there."""

import re
import shlex
from pathlib import Path

import pytest

from app.__main__ import command

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def commands() -> list[list[str]]:
    lines = [
        line for block in BLOCK.findall(README.read_text("utf-8")) for line in block.split("\n")
    ]
    shown = [line.removeprefix("bert-studio ") for line in lines if line.startswith("bert-studio ")]
    return [shlex.split(line.partition(">")[0], comments=True) for line in shown]


def test_the_readme_shows_every_command() -> None:
    assert {given[0] for given in commands()} >= {
        *("job", "train", "resume", "check", "evaluate", "predict", "fill", "attention", "batch"),
        *("reproducibility", "branch", "compare", "export", "rebuild", "cluster", "report"),
    }


@pytest.mark.parametrize("given", commands(), ids=" ".join)
def test_a_command_of_the_readme_has_these_options(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown options are refused before the help is printed."""
    assert command([*given, "--help"]) == 0
    assert given[0] in capsys.readouterr().out
    assert command([*given, "--no-such-option", "--help"]) == 2
