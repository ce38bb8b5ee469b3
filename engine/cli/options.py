"""Options of several commands, and options generated from the fields of specs."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from engine.cli.naming import find_checkpoint, find_run, find_runs
from engine.config.fields import is_fraction
from engine.config.typed_numbers import parse_probability
from engine.errors import StudioError
from engine.messages.reports import LoadReport
from engine.phrases import phrase
from engine.system.terminal import echo_error

OPTIONS, ARGUMENTS = "Options", "Arguments"  # the headings of options defined by hand
PROBABILITY = "<probability>"  # metavar of options that take 80 %, 80 and 0.8
MAX_METAVAR_CHARACTERS = 60  # longer lists of choices are in the help text


Encoding = Annotated[
    str | None, typer.Option(help="Encoding of the file, such as cp1252. Default: detected.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
StoredPath = Annotated[Path, typer.Argument(help="A stored data set by name or folder.")]
Stored = Annotated[
    Path | None, typer.Option(help="A stored data set by name or folder, instead of a file.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="Of a stored data set, the column of labels; default: that chosen at its import.",
    ),
]


Model = Annotated[
    Path,
    typer.Option(help="A fine-tuned model or a run, by name or folder.", callback=find_checkpoint),
]
ModelFolder = Annotated[
    Path, typer.Argument(help="A model or a run, by name or folder.", callback=find_checkpoint)
]
Run = Annotated[Path, typer.Argument(help="A run by name or folder.", callback=find_run)]
Runs = Annotated[list[Path], typer.Argument(help="Runs by name or folder.", callback=find_runs)]
MaxLength = Annotated[
    int | None,
    typer.Option(
        min=8,
        help=(
            "Max. length: longer inputs are truncated to this many tokens; without it, as the "
            "model states, at most 512."
        ),
    ),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Batch size: rows computed at once.")]
PrecisionOption = Annotated[
    Literal["exact", "fast"],
    typer.Option(
        help=(
            "exact: fp32. fast: bf16 or int8, whichever is faster on this machine, if it agrees on "
            "the validation rows of the model's run (99.5 % of predictions equal, score within 0.2 "
            "points) or, without a run, on built-in texts (every probability within 5 % and 0.01)."
        )
    ),
]


def parse_sets(coverage: float | None, by_class: bool) -> float | None:
    """The coverage of prediction sets; None if it was not given.

    Raises StudioError if it is 100 %, or `by_class` is given without one.
    """
    if coverage == 1:
        raise StudioError(
            "Only sets of all labels contain every true label.", "Choose less, such as 90 %."
        )
    if by_class and not coverage:
        raise StudioError(
            "--by-class is a property of prediction sets.", "Choose --coverage, such as 90 %."
        )
    return coverage


def probability_option(help_text: str, most: float = 1.0, flag: str = "") -> Any:
    """An option for a probability or a fraction up to `most`: 80 %, 80 and 0.8 are the same."""
    flags = [flag] if flag else []
    parser = partial(read_probability, most=most)
    return typer.Option(*flags, help=help_text, parser=parser, metavar=PROBABILITY)


def read_probability(text: str, most: float = 1.0) -> float:
    """The probability in a text, as in the window. Raises typer.BadParameter if there is none."""
    value = parse_probability(str(text), most)
    if value is None:
        problem = phrase(
            "“{text}” is not a probability: write a number from 0 to {most:g}, such as 0.8, "
            "or 80 %.",
            text=text[:60],
            most=most,
        )
        raise typer.BadParameter(problem)
    return value


Coverage = Annotated[
    float | None,
    probability_option(
        "Prediction sets that contain the true label of this fraction of rows, such as 90 %, "
        "calibrated on the stored predictions of the validation rows; 0: none. By default as "
        "stored with the model."
    ),
]
ByClass = Annotated[
    bool,
    typer.Option("--by-class", help="With --coverage: of this fraction of the rows of each label."),
]


class FieldOptions(NamedTuple):
    """Fields of a spec as options under one heading of the help.

    `path` is the path of the spec in the job, or empty.
    """

    heading: str
    path: str
    spec: type[BaseModel]
    names: tuple[str, ...]

    def parameters(self) -> list[inspect.Parameter]:
        """An option for each field; the default is None."""
        return [field_option(n, self.spec.model_fields[n], self.heading) for n in self.names]

    def select(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of these fields by path, if set; a list for several values."""
        prefix = f"{self.path}." if self.path else ""
        selected = {name: values[name] for name in self.names if values[name] is not None}
        return {
            prefix + name: value.split(",") if is_multiple(self.spec.model_fields[name]) else value
            for name, value in selected.items()
        }


def field_option(name: str, info: FieldInfo, heading: str) -> inspect.Parameter:
    """A field as an option: booleans become on/off flags, several texts are separated by commas."""
    kind: Any = str if is_multiple(info) else info.annotation
    if type(None) not in get_args(kind):
        kind = kind | None
    flag = get_flag(name)
    if bool in get_args(kind):
        flag = f"{flag}/--no{flag[1:]}"
    metavar = "<A,B,…>" if is_multiple(info) else None
    option = (
        probability_option(info.description or "", flag=flag)
        if is_fraction(info)
        else typer.Option(flag, help=info.description, metavar=metavar)
    )
    return _parameter(name, kind, None, option, heading)


def is_multiple(info: FieldInfo) -> bool:
    return get_origin(info.annotation) is tuple


def choice_option(
    name: str, values: Iterable[str], default: str | None, help_text: str
) -> inspect.Parameter:
    """An option that takes one of a few words, such as the keys of a table."""
    choices = tuple(values)
    words: Any = Literal[choices]
    kind = words if default is not None else words | None
    metavar = None
    if len("|".join(choices)) > MAX_METAVAR_CHARACTERS:
        metavar, help_text = f"<{name}>", f"{help_text} {', '.join(choices)}."
    option = typer.Option(get_flag(name), help=help_text, metavar=metavar)
    return _parameter(name, kind, default, option, OPTIONS)


def get_flag(name: str) -> str:
    """The flag of a field: batch_size is --batch-size."""
    return "--" + name.replace("_", "-")


def _parameter(
    name: str, kind: Any, default: object, option: Any, heading: str
) -> inspect.Parameter:
    option.rich_help_panel = heading
    annotation = Annotated[kind, option]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def with_options(
    command: Callable[..., None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """The command with further options, passed as `**extra`."""

    def extended(**values: Any) -> None:
        command(**values)

    parameters_of_command = inspect.signature(command).parameters.values()
    keyword_only = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in parameters_of_command
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    signature = inspect.Signature([*keyword_only, *parameters])
    extended.__doc__ = command.__doc__
    vars(extended)["__signature__"] = signature  # Typer reads it
    extended.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return extended


class GroupedHelp(TyperCommand):
    """A command whose help groups its options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        headings: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            default = ARGUMENTS if parameter.param_type_name == "argument" else OPTIONS
            heading = getattr(parameter, "rich_help_panel", None) or default
            if line is not None:
                headings.setdefault(heading, []).append(line)
        for heading, lines in headings.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


def print_loading_notes(report: LoadReport) -> None:
    """Report on stderr what is missing, unused or ignored in a checkpoint."""
    for sentence in report.remarks():
        echo_error(f"note: {sentence}")
