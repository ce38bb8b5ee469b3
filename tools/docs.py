"""Generate the tables of docs/ from the program: `python3 dev.py docs`.

Each table replaces what lies between `<!-- generated: NAME -->` and `<!-- end -->` on its page.
`--check` changes nothing and exits with 1 if a page is not current.
"""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import typer

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OPEN, CLOSE = "<!-- generated: {name} -->\n", "<!-- end -->"


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    titles = list(header)
    lines = [titles, ["---"] * len(titles), *([str(cell) for cell in row] for row in rows)]
    return "".join(f"|{'|'.join(line)}|\n" for line in lines)


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".")


def folders() -> str:
    """Packages two deep, with the first sentence of their docstrings."""

    def packages(parent: Path, depth: int) -> Iterator[tuple[Path, str]]:
        for init in sorted(parent.glob("*/__init__.py")):
            docstring = ast.get_docstring(ast.parse(init.read_text("utf-8"))) or ""
            yield init.parent.relative_to(ROOT), first_sentence(docstring)
            if depth > 1:
                yield from packages(init.parent, depth - 1)

    packages_found = [*packages(ROOT / "app", 2), *packages(ROOT / "engine", 2)]
    return table(("folder", "holds"), ((f"`{folder}/`", text) for folder, text in packages_found))


def formats() -> str:
    from engine.data.formats import FORMATS

    rows = ((f.title, " ".join(f.suffixes) or "a folder") for f in FORMATS.values())
    return table(("format", "endings"), rows)


def checks() -> str:
    from engine.data.checks import CHECKS

    return ", ".join(check.title.lower() for check in CHECKS.values()) + ".\n"


def families() -> str:
    from engine.config.families import FAMILIES
    from engine.config.families.family import Family

    def objectives(family: Family) -> str:
        pairs = {True: ", sentence order", False: ", next sentence"}[family.orders_pairs]
        has_pairs = pairs if family.has_nsp_head else ""
        return f"MLM{has_pairs}{', CLM' if family.causal else ''}"

    header = ("family", "`model_type`", "pre-training", "exports besides Hugging Face and ONNX")
    return table(
        header,
        (
            (f.title, f"`{f.name}`", objectives(f), "TensorFlow 1" if f.name == "bert" else "")
            for f in FAMILIES.values()
        ),
    )


def unsupported() -> str:
    from engine.checkpoints.other_networks import ENCODERS

    return ", ".join(sorted((e.title for e in ENCODERS.values()), key=str.casefold)) + ".\n"


def settings() -> str:
    from annotated_types import Ge, Gt, Le, Lt

    from engine.config.families.bert import BertSpec
    from engine.config.fields import get_settings
    from engine.config.tasks import TASKS
    from engine.config.training import HardwareSpec, TrainingSpec

    signs = {Ge: ("≥", "ge"), Gt: (">", "gt"), Le: ("≤", "le"), Lt: ("<", "lt")}

    def limits(metadata: list[Any]) -> str:
        parts = []
        for limit in metadata:
            if type(limit) in signs:
                sign, name = signs[type(limit)]
                parts.append(f"{sign}{getattr(limit, name)}")
        return ",".join(parts)

    rows: dict[tuple[str, str, str, str], list[str]] = {}
    specs = {"training": TrainingSpec, "hardware": HardwareSpec, "base_model.spec": BertSpec}
    for path, spec in [*specs.items(), *((f"task ({kind})", task) for kind, task in TASKS.items())]:
        for name, info in get_settings(spec).items():
            default = "" if info.default in ((), {}, None, "") else str(info.default)
            row = (name, info.title or "", default, limits(info.metadata))
            rows.setdefault(row, []).append(path)
    text = ""
    sections: dict[str, list[tuple[str, ...]]] = {}
    for row, paths in rows.items():
        section = paths[0] if "task" not in paths[0] else "task"
        kinds = ", ".join(path[6:-1] for path in paths) if section == "task" else ""
        sections.setdefault(section, []).append((f"`{row[0]}`", *row[1:], kinds))
    for section, cells in sections.items():
        header = ("field", "title", "default", "range", "of")
        width = 5 if section == "task" else 4
        text += f"\n`{section}`\n\n" + table(header[:width], (row[:width] for row in cells))
    return text.lstrip("\n")


def commands() -> str:
    from app.__main__ import COMMANDS as WINDOW
    from engine.cli import COMMANDS
    from engine.cli.options import GroupedHelp

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback()(lambda: None)
    for name, target in {**COMMANDS, **WINDOW}.items():
        module, _, function = target.partition(":")
        app.command(name, cls=GroupedHelp)(getattr(import_module(module), function))
    group: Any = typer.main.get_command(app)
    text = ""
    for name, command in group.commands.items():
        arguments, options = [], []
        for parameter in command.params:
            if isinstance(parameter, click.Argument) or parameter.param_type_name == "argument":
                arguments.append(f" {(parameter.metavar or parameter.name).upper().strip('[].')}")
            elif parameter.name != "help":
                options.append(f"`{max(parameter.opts, key=len)}`")
        text += f"- **`{name}{''.join(arguments)}`** {first_sentence(command.help or '')}."
        if name == "job":
            options = [*options[:7], "and every field of [SETTINGS.md](SETTINGS.md)"]
        text += f" {' '.join(options)}\n" if options else "\n"
    return text


GENERATED: dict[str, dict[str, Callable[[], str]]] = {
    "ARCHITECTURE.md": {"folders": folders},
    "CLI.md": {"commands": commands},
    "DATA.md": {"formats": formats, "checks": checks},
    "MODELS.md": {"families": families, "unsupported": unsupported},
    "SETTINGS.md": {"settings": settings},
}


def current(page: str) -> str:
    """A page with its tables generated again."""
    text = (DOCS / page).read_text("utf-8")
    for name, generate in GENERATED[page].items():
        start = OPEN.format(name=name)
        before, opened, rest = text.partition(start)
        _, closed, after = rest.partition(CLOSE)
        if not (opened and closed):
            raise SystemExit(f"docs/{page} has no block “{name}”.")
        text = f"{before}{start}\n{generate()}\n{CLOSE}{after}"
    return text


def main(arguments: list[str]) -> int:
    outdated = False
    for page in GENERATED:
        text = current(page)
        if text != (DOCS / page).read_text("utf-8"):
            outdated = True
            if "--check" in arguments:
                print(f"docs/{page} is not current; run python3 dev.py docs.")
            else:
                (DOCS / page).write_text(text, "utf-8")
    return int(outdated and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
