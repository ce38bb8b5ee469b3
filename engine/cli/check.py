"""`bert-studio check`: what is in a data file, or what is wrong with it."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.options import Encoding
from engine.data.formats.reading import read, recognise
from engine.errors import BadFile
from engine.terminal import say, say_json
from engine.visible import one_line


def check(
    file: Annotated[Path, typer.Argument(help="A data file, or a folder of texts.")],
    encoding: Encoding = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Read a data file to its end and report what it contains, or what is wrong and where."""
    try:
        found = recognise(file, encoding=encoding)
        table = read(file, found.reading)
        count = sum(1 for _ in table)
    except BadFile as error:
        if as_json:
            wrong = {"ok": False, "problem": error.problem, "advice": error.advice}
            place = {"line": error.line or None, "column": error.column or None}
            say_json(wrong | place)
        raise
    facts: dict[str, Any] = {
        "ok": True,
        "file": str(file),
        "rows": count,
        **found.reading.model_dump(),
        "columns": list(found.columns),
        "mapping": found.mapping.model_dump() if found.mapping else None,
        "notes": [*found.notes, *(note for note in table.notes if note not in found.notes)],
    }
    if as_json:
        say_json(facts)
        return 0
    for key, value in facts.items():
        if key not in ("ok", "notes"):
            shown = ", ".join(value) if isinstance(value, list) else value
            said = json.dumps(shown) if isinstance(shown, dict) else one_line(str(shown))
            say(f"{key}: {said}")
    for note in facts["notes"]:
        say(f"note: {note}")
    return 0
