"""Models: import folders; list a selection of the Hugging Face Hub, search, download, and push."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.checkpoints.archives import SUFFIXES, model_name
from engine.cli.options import ModelFolder
from engine.cli.progress import ProgressLine
from engine.data.word_vectors.reading import examine, is_meant, vectors_name
from engine.data.word_vectors.store import convert
from engine.errors import StudioError
from engine.files.home import Home, free_folder
from engine.files.untrusted import check_folder
from engine.hub import cost, shelf
from engine.messages.hub import Cost, HubFile, Planned
from engine.messages.reports import LoadReport
from engine.system.precision import Speeds, ThreadSpeeds, last
from engine.system.terminal import echo, echo_error

MB = 1e6  # bytes


def get(
    name: Annotated[
        str,
        typer.Argument(
            help="A selected model, or any as owner/model; omit it to list the selection."
        ),
    ] = "",
    to: Annotated[
        Path | None,
        typer.Option(help="A folder that does not exist yet. Default: among your models."),
    ] = None,
    revision: Annotated[
        str, typer.Option(help="A branch, a tag or a commit. Default: the newest.")
    ] = "",
    search: Annotated[str, typer.Option(help="Search the hub for these words instead.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the files with their sizes.")
    ] = False,
) -> None:
    """Download a model from the Hugging Face Hub, or list a selection.

    The list opens no connection. HF_ENDPOINT sets a mirror, HF_TOKEN a token.
    """
    if search:
        _search(search)
    elif not name:
        _print_selection()
    else:
        entry = shelf.find_entry(name)
        _fetch(entry.name if entry is not None else name, revision, to, dry_run)


def import_model(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A model folder, an archive of one (.zip, .tar.gz, .tar), or a file of word "
            "vectors (GloVe, word2vec)."
        ),
    ],
    name: Annotated[str, typer.Option(help="Name of the model. Default: that of the folder.")] = "",
    base: Annotated[
        Path | None,
        typer.Option(
            help="Base model of a LoRA adapter. Default: the folder of its name next to the "
            "adapter."
        ),
    ] = None,
) -> None:
    """Import a model folder or archive among your models, as on the Models page.

    Its files are copied and never changed. Prints the new folder. A file of word vectors is
    converted once, so that it is mapped and never read whole.
    """
    home = Home()
    home.make()
    folder = folder.absolute()
    if is_meant(folder):
        _import_vectors(folder, free_folder(home.vectors, name or vectors_name(folder)))
        return
    from engine.explore import importing

    if not folder.name.lower().endswith(SUFFIXES) or not folder.is_file():
        check_folder(folder)
    into = free_folder(home.models, name or model_name(folder))
    _, report = importing.import_model(folder, into, lambda stage: echo_error(f"{stage} …"), base)
    _print_imported(into, report)


def push(
    checkpoint: ModelFolder,
    name: Annotated[str, typer.Argument(help="Its name on the hub: owner/model.")],
    public: Annotated[
        bool, typer.Option("--public", help="Make it visible to everyone. Default: only to you.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the files; opens no connection.")
    ] = False,
) -> None:
    """Send a checkpoint with its model card to the Hugging Face Hub, private unless --public."""
    from engine.hub import push as pushing

    checkpoint = checkpoint.absolute()
    if dry_run:
        planned = pushing.plan(checkpoint, name, not public)
        _print_files(planned.files)
        kind = "private" if planned.private else "public"
        echo(f"{planned.bytes / MB:,.1f} MB would be sent to {planned.host} as {name} ({kind}).")
        return
    done = pushing.push(
        checkpoint, name, not public, lambda working: echo_error(f"{working.stage} …")
    )
    echo(f"{done.address} {done.revision}")


def _print_selection() -> None:
    rate = _rate(Home())
    for group, title in shelf.GROUPS.items():
        echo("", title)
        for entry in shelf.OFFERED:
            if entry.group == group:
                estimate = cost.estimate_cost(entry.spec, rate)
                echo(
                    f"  {entry.name}",
                    f"      {entry.title}: {entry.good_for}",
                    f"      {entry.parameters / 1e6:.0f}M parameters, {entry.megabytes:.0f} MB, "
                    f"{', '.join(entry.languages)}, {entry.licence}, {entry.max_length} tokens; "
                    f"{_describe_cost(estimate)}",
                )


def _rate(home: Home) -> float:
    return cost.matmul_rate(last(ThreadSpeeds, home.root), last(Speeds, home.root))


def _describe_cost(estimate: Cost) -> str:
    return (
        f"fine-tuning {estimate.training_bytes / 1e9:.1f} GB, exploring "
        f"{estimate.exploring_bytes / 1e9:.1f} GB of memory, "
        f"{estimate.seconds or 0:.0f} s for 1,000 short texts"
    )


def _search(query: str) -> None:
    from engine.hub import client

    echo_error(f"Asking {client.host()} …")
    for model in client.search(query):
        facts = [model.family or "unknown family", model.licence or "no licence named"]
        facts += ["gated"] if model.gated else []
        facts += [] if model.is_loadable else ["not supported"]
        echo(f"{model.name}: {', '.join(facts)}")


def _fetch(name: str, revision: str, to: Path | None, dry_run: bool) -> None:
    from engine.hub import client, download

    home = Home()
    if to is not None and to.exists():
        raise StudioError("{into} already exists.", "Choose a new folder.", into=to)
    echo_error(f"Asking {client.host()} …")
    planned = download.plan(name, revision, home.downloads, _rate(home))
    print_plan(planned)
    if planned.cost is not None:
        echo(_describe_cost(planned.cost))
    if dry_run:
        return
    into = to.absolute() if to is not None else free_folder(home.models, name.rpartition("/")[2])
    line = ProgressLine(sys.stderr)
    path, _ = download.download(planned, home.downloads, line.draw_bytes(planned.bytes))
    from engine.explore.limits import limited_memory
    from engine.models.checkpoint import import_checkpoint

    with limited_memory(path):
        _, report = import_checkpoint(path, into)
    shutil.rmtree(path, ignore_errors=True)
    _print_imported(into, report)


def _import_vectors(file: Path, into: Path) -> None:
    layout = examine(file)
    echo_error(layout.sentence())
    with ProgressLine(sys.stderr) as line:
        facts = convert(file, into, lambda done, total: line.draw(f"{done:,} of {total:,} words"))
    for remark in facts.remarks():
        echo_error(f"note: {remark}")
    echo(str(into))


def _print_imported(into: Path, report: LoadReport) -> None:
    for note in report.remarks():
        echo_error(f"note: {note}")
    echo(str(into))


def _print_files(files: tuple[HubFile, ...]) -> None:
    for file in files:
        echo(f"{file.bytes / MB:>10,.2f} MB  {file.name}")


def print_plan(planned: Planned) -> None:
    _print_files(planned.files)
    for note in planned.notes:
        echo_error(f"note: {note}")
    echo(f"{planned.bytes / MB:,.1f} MB; revision {planned.revision}; {planned.licence or '?'}")
