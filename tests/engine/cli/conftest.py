"""Fixtures that run commands in this process."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from engine.cli import main
from tests.engine.export.conftest import in_process  # noqa: F401 - a fixture

Command = Callable[..., str]


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command that succeeds; returns what it prints."""

    def run(*arguments: object) -> str:
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command that exits with 1; returns its error message."""

    def run(*arguments: object) -> str:
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 1
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return captured.err

    return run


@pytest.fixture
def json_output(output: Command) -> Callable[..., Any]:
    """Run a command with --json; returns the parsed output."""
    return lambda *arguments: json.loads(output(*arguments, "--json"))
