"""A field of a spec becomes an option with its name, type and help."""

from typing import Any, Literal

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from engine.cli.options import FieldOptions, GroupedHelp, choice_option, get_flag, with_options
from engine.config import Spec
from engine.config.fields import get_settings


class KettleSpec(Spec):
    kind: Literal["kettle"] = "kettle"
    cups: int = Field(2, ge=1, title="Cups", description="How many cups.")
    heat: float | None = Field(None, title="Heat", description="Degrees of the water.")
    loud: bool = Field(False, title="Loud", description="Whistles when it boils.")
    colour: Literal["red", "blue"] = Field("red", title="Colour", description="Its colour.")
    guests: tuple[str, ...] = Field((), title="Guests", description="Who gets a cup.")


OPTIONS = FieldOptions("Kettle", "kitchen.kettle", KettleSpec, tuple(get_settings(KettleSpec)))
CHOICE = choice_option("room", ("kitchen", "garden"), "kitchen", "Where it is:")


def run(*arguments: str) -> tuple[Any, str]:
    """The parsed values of a command with these options, and its output."""
    calls: list[dict[str, Any]] = []

    def boil(**values: Any) -> None:
        """Boil water."""
        calls.append(values)

    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(cls=GroupedHelp)(with_options(boil, [CHOICE, *OPTIONS.parameters()]))
    result = CliRunner().invoke(app, list(arguments))
    return (calls[0] if calls else None), result.output


def test_given_values_have_the_path_of_their_field():
    values, _ = run("--cups=3", "--loud", "--colour", "blue", "--guests=Ann,Bob", "--room=garden")
    assert OPTIONS.select(values) == {
        "kitchen.kettle.cups": 3,
        "kitchen.kettle.loud": True,
        "kitchen.kettle.colour": "blue",
        "kitchen.kettle.guests": ["Ann", "Bob"],
    }
    assert values["room"] == "garden"
    values, _ = run()
    assert OPTIONS.select(values) == {} and values["room"] == "kitchen"
    values, _ = run("--no-loud")
    assert OPTIONS.select(values) == {"kitchen.kettle.loud": False}


@pytest.mark.parametrize("arguments", [("--cups=many",), ("--colour=green",), ("--kind=kettle",)])
def test_values_of_a_wrong_type_are_refused(arguments):
    values, printed = run(*arguments)
    assert values is None and arguments[0].partition("=")[0] in printed


def test_the_help_shows_each_field_under_its_heading():
    _, printed = run("--help")
    before, after = printed.split("Kettle:")
    assert "--room" in before and "Where it is:" in before
    for name, info in get_settings(KettleSpec).items():
        assert get_flag(name) in after and str(info.description) in after
