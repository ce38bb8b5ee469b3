"""A field of a spec becomes an option with its name, type and help."""

import json
from typing import Any, Literal

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from app.__main__ import COMMANDS as MORE_COMMANDS
from engine.cli import COMMANDS, _make_parser, main
from engine.cli.options import (
    PROBABILITY,
    FieldOptions,
    GroupedHelp,
    choice_option,
    get_flag,
    with_options,
)
from engine.cli.searching import fraction_fields, parse_value
from engine.config import Spec
from engine.config.families import FAMILIES
from engine.config.fields import get_settings, is_fraction
from engine.config.tasks import TASKS
from engine.config.training import TrainingSpec
from tests.engine.training import small


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


SAME = ("80 %", "80%", "0.8", "80", "0,8")
REFUSED = ("101 %", "-1", "many", "150")


def every_option() -> list[tuple[str, Any]]:
    """Each command of the program with each of its options."""
    commands = {**COMMANDS, **MORE_COMMANDS}
    group = _make_parser(tuple(commands.items()))
    return [(name, item) for name in commands for item in group.commands[name].params]


def test_each_option_for_a_probability_takes_80_percent_80_and_0_8(capsys):
    """The others that take a number are none, by their names and their ranges."""
    probabilities = [(name, item) for name, item in every_option() if item.metavar == PROBABILITY]
    assert {(name, item.name) for name, item in probabilities} >= {
        *(("calibrate", name) for name in ("threshold", "unsure_below")),
        *((name, part) for name in ("import", "split") for part in FRACTIONS),
        *(("job", name) for name, info in TrainingSpec.model_fields.items() if is_fraction(info)),
        ("predict", "threshold"),
        ("heads", "max_fall"),
    }
    for name, item in probabilities:
        parse = item.type_descriptor.parameter_info.parser
        assert {parse(text) for text in SAME} == {0.8}, (name, item.name)
        for text in REFUSED:
            with pytest.raises(typer.BadParameter, match="or 80 %"):
                parse(text)
    assert main(["predict", "x", "--model=x", "--out=y.csv", "--threshold=150 %"]) == 2
    assert "“150 %” is not a probability: write a number from 0 to 1" in capsys.readouterr().err
    numbers = [i for _, i in every_option() if i.type_descriptor.annotation is float]
    others = {item.name for item in numbers if item.metavar != PROBABILITY}
    assert others == NUMBERS, "an option that takes a probability reads it like the window"


NUMBERS = {  # options that take numbers which are no parts of a whole
    *("temperature", "no_answer_threshold", "learning_rate", "epochs", "hours", "layer_lr_decay"),
    *("lora_alpha", "ema_decay", "weight_decay", "max_grad_norm", "beta1", "beta2", "epsilon"),
}
FRACTIONS = ("validation_fraction", "test_fraction")


def test_fields_set_on_the_command_line_take_per_cent_where_they_are_fractions(tmp_path, capsys):
    specs = [TrainingSpec, *TASKS.values(), *(family.spec for family in FAMILIES.values())]
    for spec in specs:
        for name, info in spec.model_fields.items():
            assert is_fraction(info) == (name in fraction_fields()), "the name says which"
    for text in SAME[:-1]:
        assert parse_value("training.warmup_ratio", text) == 0.8
        assert parse_value("training.max_grad_norm", "80") == 80
    job = ["job", "--data", str(small.sentences(tmp_path / "films.csv", 20))]
    assert main([*job, "--set", "training.warmup_ratio=5%,10,0.2"]) == 0
    (field,) = json.loads(capsys.readouterr().out)["search"]["fields"]
    assert field["values"] == [0.05, 0.1, 0.2]
    ranged = [*job, "--set", "training.warmup_ratio=5 %..20 %", "--search", "random"]
    assert main([*ranged, "--warmup-ratio", "10 %"]) == 0
    (field,) = json.loads(capsys.readouterr().out)["search"]["fields"]
    assert (field["low"], field["high"]) == (0.05, 0.2)
