"""Commands in this process: what they print, and how they refuse."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from engine.cli import main

Command = Callable[..., str]


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command that succeeds; returns what it prints."""

    def run(*words: object) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command that exits with 1; returns its sentence."""

    def run(*words: object) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == 1
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return printed.err

    return run


@pytest.fixture
def told(output: Command) -> Callable[..., Any]:
    """Run a command with --json; returns what it prints."""
    return lambda *words: json.loads(output(*words, "--json"))
