"""`bert-studio hand-out`, `handed-out`, `hand-in` and `take-in`: rows for several coders, without a
server."""

import getpass
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from engine.cli.naming import find_checkpoint
from engine.cli.options import AsJson, StoredPath, Target, print_loading_notes
from engine.cli.progress import ProgressLine
from engine.cli.stored import make_version, print_version, require_dataset, version_facts
from engine.data.datasets.deriving import derive
from engine.data.datasets.handed_out import call_back, hand_over, handed_out, reserved_rows
from engine.data.datasets.packets import (
    SUFFIX,
    choose_coder,
    coder_names,
    existing_labels,
    find_opened,
    hand_in,
    hand_out,
    open_packet,
    read_packet,
    share_out,
    write_packet,
)
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.datasets.taking_in import take_in
from engine.errors import StudioError
from engine.files.home import Home, free_folder
from engine.messages.labelling import SuggestLabels
from engine.phrases import phrase
from engine.system.terminal import echo, echo_json

PacketPath = Annotated[Path, typer.Option("--to", help="The packet, with the suffix .packet.")]


def hand_out_command(
    data: StoredPath,
    to: PacketPath,
    coders: Annotated[str, typer.Option(metavar="<A,B,…>", help="Names of the coders.")],
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows for each coder. Default: all, in equal parts."),
    ] = None,
    overlap: Annotated[
        int, typer.Option(min=0, help="How many of these rows every coder codes.")
    ] = 0,
    source: Annotated[
        Literal["unlabelled", "all"],
        typer.Option("--from", help="Draw the rows from those without a label, or from all."),
    ] = "unlabelled",
    again: Annotated[
        bool, typer.Option("--again", help="Draw from the rows that are with coders, too.")
    ] = False,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide the labels that rows have already.")
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Show the coders what this model suggests, by name or folder.",
            callback=find_checkpoint,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the draw.")] = 0,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Write a packet for coders: rows drawn at random, the codebook, and who codes which row.

    Each coder opens the same file in the window or with `import`, and hands the codes in. Until
    then, the rows are not handed out again.
    """
    _check_suffix(to)
    if blind and model is not None:
        raise StudioError("A model's suggestions are not blind.", "Leave out --blind or --model.")
    dataset, names = require_dataset(data).with_target(target), coder_names(coders.split(","))
    pool, reserved = dataset.select(source), reserved_rows(handed_out(dataset))
    if not again:
        pool = np.setdiff1d(pool, reserved)
        if not len(pool) and len(reserved):
            raise StudioError(
                "All of these rows are with coders.",
                "Take their codes in, call rows back with `handed-out --call-back`, or draw them "
                "--again.",
            )
    who = share_out(pool, names, rows, overlap, seed)
    suggestions = dict[int, str]() if blind else existing_labels(dataset)
    if model is not None:
        suggestions = _suggest(dataset, model, tuple(who))
    chance = len(who) / len(pool)
    content = hand_out(dataset, who, names, "random", chance, suggestions)
    hand_over(dataset, content, to)
    counts = {name: len(content.rows_of(name)) for name in names}
    if as_json:
        echo_json({"file": str(to), "rows": len(who), "coders": counts, "overlap": overlap})
        return
    echo(*(f"{name}: {count:,} rows" for name, count in counts.items()))
    echo(f"{len(who):,} rows written to {to}")


def handed_out_command(
    data: StoredPath,
    back: Annotated[
        str | None,
        typer.Option(
            "--call-back",
            metavar="<A,B,…>",
            help="Let the rows of these coders be handed out again. A packet that comes back later "
            "is taken in all the same.",
        ),
    ] = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Print which coders have rows of a data set, or call their rows back."""
    dataset = require_dataset(data).with_target(target)
    if back is not None:
        count = call_back(dataset, coder_names(back.split(",")))
        echo_json({"called_back": count}) if as_json else echo(f"{count:,} rows called back")
        return
    parts = handed_out(dataset)
    if as_json:
        facts = [
            {"coder": p.coder, "at": p.packet.at.isoformat(), "rows": p.rows.tolist()}
            for p in parts
        ]
        echo_json(facts)
        return
    lines = [
        phrase(
            "{coder}: {n:,} row(s), since {day}",
            n=len(part.rows),
            coder=part.coder,
            day=part.packet.at.astimezone().strftime("%Y-%m-%d"),
        )
        for part in parts
    ]
    echo(*lines or ("no row is with a coder",))


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() != SUFFIX:
        raise StudioError(
            "{name} does not have the suffix of packets.",
            "Name it {stem}{suffix}.",
            name=path.name,
            stem=path.stem,
            suffix=SUFFIX,
        )


def _suggest(dataset: Dataset, model: Path, rows: tuple[int, ...]) -> dict[int, str]:
    """Labels that a model suggests, by row."""
    from engine.models import checkpoint
    from engine.tasks.next_rows import suggest_labels

    loaded = checkpoint.load(model)
    print_loading_notes(loaded.report)
    target = dataset.spec.coded_column
    question = SuggestLabels(
        data=dataset.folder, target=target, checkpoint=model, order="file", rows=rows
    )
    with ProgressLine(sys.stderr) as line:

        def report(stage: str, done: int, total: int) -> None:
            line.draw(f"{stage}: {done:,} of {total:,}")

        answer = suggest_labels(dataset, loaded, question, report)
    return {item.row: item.label for item in answer.suggestions}


def import_packet(file: Path, coder: str | None, as_json: bool) -> None:
    """Open a packet as a data set of a coder, once."""
    content = read_packet(file)
    names, user = content.packet.coders, getpass.getuser()
    name = choose_coder(content, coder or (user if user in names else None))
    home = Home()
    home.make()
    folder = find_opened(home.datasets, content.packet, name)
    if folder is None:
        folder = free_folder(home.datasets, f"{content.packet.name} – {name}") / "1"
        open_packet(file, content, name, folder)
    version = open_dataset(folder)
    if as_json:
        echo_json(version_facts(version) | {"name": version.spec.name})
        return
    echo(f"version {version.spec.version} of “{version.spec.name}”: {len(version):,} rows to code")
    echo(f"folder: {folder}")


def hand_in_command(data: StoredPath, to: PacketPath, as_json: AsJson = False) -> None:
    """Write the codes of a packet's rows to a file, to send back to the person who handed it out.

    Edits that the window has not saved as a version are not handed in.
    """
    _check_suffix(to)
    dataset = require_dataset(data)
    content = hand_in(dataset)
    write_packet(to, content)
    coded = sum(bool(row.code) for row in content.rows)
    if as_json:
        echo_json({"file": str(to), "coded": coded, "rows": len(dataset)})
        return
    echo(f"{coded:,} of {len(dataset):,} rows coded, written to {to}")


def take_in_command(
    data: StoredPath,
    files: Annotated[list[Path], typer.Argument(help="Packets that coders handed in.")],
    as_json: AsJson = False,
) -> None:
    """Add the codes of packets to a data set as a new version: a column for each coder.

    The label is what they agree on. Prints conflicts; a packet taken in again changes nothing. Row
    numbers start at 0.
    """
    old = require_dataset(data)
    found = take_in(old, [read_packet(file) for file in files])
    conflicts = [{"row": None if c.row < 0 else c.row, "text": c.text} for c in found.conflicts]
    if not as_json:
        echo(*found.sentences())
        for row, _, text in found.conflicts:
            echo(f"conflict{'' if row < 0 else f' in row {row}'}: {text}")
    if found.is_empty:
        if as_json:
            echo_json(version_facts(old) | {"conflicts": conflicts, "is_new": False})
        else:
            echo("Nothing is new: the data set stays as it is.")
        return
    version = make_version(old, partial(derive, old.folder, edits=found.edits))
    print_version(version, as_json, {"conflicts": conflicts, "is_new": True})
