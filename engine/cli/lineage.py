"""`bert-studio lineage`: the origin of runs, data sets, models and exports."""

from pathlib import Path
from typing import Annotated

import typer

from engine.cli import naming
from engine.cli.stored import find_version
from engine.errors import StudioError
from engine.files.home import Home
from engine.runs.lineage import (
    Lineage,
    Node,
    data_key,
    export_key,
    model_key,
    read_lineage,
    read_runs,
    run_key,
)
from engine.runs.needed import format_requirements, list_requirements
from engine.system.terminal import echo, echo_json

MAX_LISTED = 200  # printed descendants


def lineage(
    item: Annotated[
        Path, typer.Argument(help="A run, data set, model or export: its folder, or its name.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the graph as JSON.")] = False,
) -> None:
    """Show what an item was made from, what was made from it, and how to reproduce it.

    It covers the runs, data sets, models and exports of the home folder.
    """
    home = Home()
    graph = read_lineage(home, read_runs(home))
    key = _find_key(graph, home, item)
    before, after = graph.ancestors(key), graph.descendants(key)
    if as_json:
        echo_json(_to_json(graph, [key, *before, *after], key))
        return
    echo(_line(graph.nodes[key]))
    echo("", "Derived items:" if after else "No derived items.")
    for other in after[:MAX_LISTED]:
        echo(f"  {_line(graph.nodes[other])}")
    if len(after) > MAX_LISTED:
        echo(f"  and {len(after) - MAX_LISTED:,} more")
    echo("", "Requirements to reproduce:")
    for line in format_requirements(list_requirements(graph, key)):
        echo(f"  {line}")


def _find_key(graph: Lineage, home: Home, item: Path) -> str:
    """The key of an item. Raises StudioError if the home has none of that name, or several."""
    folder = item.absolute()
    paths = [folder, home.runs / item, home.models / item]
    keys = [key(path) for path in paths for key in (data_key, model_key, export_key)]
    keys += [run_key(path.name) for path in paths if path.is_dir()]
    if (version := find_version(item)) is not None:
        keys.insert(0, data_key(version.absolute()))
    match = next((key for key in keys if key in graph.nodes), None)
    named = [node for node in graph.nodes.values() if node.title == str(item)]
    if match is None and len(named) > 1:
        raise StudioError(
            "Several items are called {name}.",
            "Use the folder of one of them: {folders}.",
            name=str(item)[-200:],
            folders=", ".join(str(node.path) for node in named[: naming.MAX_LISTED]),
        )
    if match is None and named:
        match = named[0].key
    if match is None:
        raise StudioError(
            "There is no run, data set, model or export {item} in {home}.",
            "Use the name shown in the window, or the folder.",
            item=str(item)[-200:],
            home=home.root,
        )
    return match


def _line(node: Node) -> str:
    missing = "" if node.exists else ", no longer there"
    return f"{node.title} ({node.detail}{missing}): {node.path}"


def _to_json(graph: Lineage, keys: list[str], focus: str) -> dict[str, object]:
    nodes = [
        {
            "key": node.key,
            "kind": node.kind,
            "name": node.title,
            "detail": str(node.detail),
            "place": str(node.path),
            "is_there": node.exists,
        }
        for node in (graph.nodes[key] for key in keys)
    ]
    edges = [
        {"from": edge.source, "to": edge.target, "how": str(edge.label)}
        for edge in graph.edges_among(keys)
    ]
    needed = [
        {"title": str(item.title), "lines": [*map(str, item.lines)], "problem": str(item.problem)}
        for item in list_requirements(graph, focus)
    ]
    return {"of": focus, "nodes": nodes, "edges": edges, "needed": needed}
