"""Statistics and importance of attention heads over many texts, and pruning."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from engine.cli.options import (
    AsJson,
    ModelFolder,
    Stored,
    Target,
    print_loading_notes,
    probability_option,
    with_options,
)
from engine.cli.progress import ProgressLine
from engine.cli.rows import (
    READING,
    ROW_COLUMNS,
    list_notes,
    recognise_file,
    require_mapping,
    single_file,
)
from engine.cli.stored import require_dataset
from engine.config.dataset import FileData, Split, SplitName, StoredData
from engine.errors import StudioError
from engine.files.home import Home
from engine.files.regular_file import check_regular
from engine.files.table_files import TABLE_WRITERS, check_suffix, write_table
from engine.messages.explore import text_set
from engine.messages.question import Answer, Working
from engine.system.terminal import echo, echo_error, echo_json

if TYPE_CHECKING:
    import numpy as np

    from engine.models.checkpoint import Checkpoint

Method = Literal["patterns", "importance", "each", "pruning"]
SUFFIXES = ("", " low", " high")  # suffixes of column names: the mean, and its 95 % interval
TEXT_COLUMNS = ROW_COLUMNS


class Measurements(NamedTuple):
    """Results for every head."""

    columns: tuple[str, ...]
    values: "np.ndarray"  # float64 [3, L, H, C]: mean, and both ends of its interval
    facts: dict[str, object]  # about all texts


def heads(
    model: ModelFolder,
    texts: Annotated[
        Path | None,
        typer.Option(help="A file with a column of texts, and of labels if a loss is needed."),
    ] = None,
    data: Stored = None,
    target: Target = None,
    part: Annotated[SplitName, typer.Option(help="Part of --data.")] = "validation",
    method: Annotated[
        Method,
        typer.Option(
            help=(
                "patterns: attention patterns. importance: by the gradient of the loss. "
                "each: also the loss without each head (slow). pruning: a tenth of the "
                "heads is pruned in each round until the score falls (slow)."
            )
        ),
    ] = "patterns",
    replacement: Annotated[
        text_set.Replacement,
        typer.Option(help="With --method each: ablation by zero or by the mean."),
    ] = "zero",
    max_fall: Annotated[
        float | None,
        probability_option(
            "With --method pruning: how far the score may fall. Default: 1 %, which is one point."
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="With --method pruning: a new folder for the model without the pruned heads."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write all heads with 95 % intervals: .csv, .tsv, .jsonl, .parquet or .xlsx."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of heads to print, by importance.")] = 10,
    as_json: AsJson = False,
    **extra: Any,
) -> None:
    """Measure attention patterns or importance per head, averaged over many texts.

    Layers and heads are counted from 1. At most 5,000 texts are read, the first ones. Results for a
    stored data set are cached.
    """
    from engine.models import checkpoint

    _check(method, replacement, max_fall, save, out)
    files = READING.select(extra), TEXT_COLUMNS.select(extra)
    with _text_set(texts, data, target, part, *files) as chosen:
        loaded = checkpoint.load(model)
        print_loading_notes(loaded.report)
        fields: dict[str, Any] = {
            "checkpoint": model.absolute(),
            "texts": chosen,
            "cache": Home().cache / "texts" if data is not None else None,
        }
        if method == "pruning":
            fields |= {} if max_fall is None else {"max_fall": max_fall}
            question = text_set.PruneHeads(**fields)
            _prune(loaded, question, save, out, as_json)
            return
        measured = _measure(loaded, fields, method, replacement)
    if out is not None:
        _write(out, list(_records(measured)))
    if as_json:
        echo_json({"method": method, **measured.facts, "heads": list(_records(measured))})
        return
    echo(*_format_heads(measured, method, top))
    if out is not None:
        heads = measured.values.shape[1] * measured.values.shape[2]
        echo(f"{heads:,} heads written to {out}")


heads_command = with_options(heads, [*READING.parameters(), *TEXT_COLUMNS.parameters()])


def _check(
    method: Method,
    replacement: text_set.Replacement,
    max_fall: float | None,
    save: Path | None,
    out: Path | None,
) -> None:
    """Raise StudioError if an option has no effect, or a file name is unusable."""
    if out is not None:
        check_suffix(out, TABLE_WRITERS)
    if replacement != "zero" and method != "each":
        raise StudioError(
            "--replacement is for heads that are ablated one by one.",
            "Add --method each, or leave it out.",
        )
    if max_fall is not None and method != "pruning":
        raise StudioError("--max-fall is for pruning.", "Add --method pruning, or leave it out.")
    if save is not None and method != "pruning":
        raise StudioError(
            "Only a model whose heads were pruned can be saved.",
            "Add --method pruning, or leave out --save.",
        )
    if save is not None and (save.exists() or save.is_symlink()):
        raise StudioError("{into} already exists.", "Choose a new name.", into=save)


@contextmanager
def _text_set(
    file: Path | None,
    data: Path | None,
    target: str | None,
    part: SplitName,
    options: dict[str, Any],
    chosen: dict[str, Any],
) -> Iterator[text_set.TextSet]:
    """The selected texts; those of a file are stored temporarily.

    Raises StudioError unless one of a file and a data set is named, or if it has no rows.
    """
    from engine.data.datasets.store import resolve

    if (file is None) == (data is None):
        raise StudioError(
            "It is not clear which texts to use.",
            "Use either a file with --texts or a data set with --data.",
        )
    if data is not None:
        dataset = require_dataset(data).with_target(target)
        if not dataset.spec.rows.get(part, 0):
            raise StudioError("The data set has no rows in this split.", "Choose another --part.")
        _print_limit(dataset.spec.rows[part])
        stored = StoredData(folder=dataset.folder.absolute(), target=target)
        yield text_set.TextSet(data=stored, part=part)
        return
    assert file is not None
    file = single_file(file)
    recognition = recognise_file(file, options, chosen)
    for note in list_notes(recognition, chosen):
        echo_error(f"note: {note}")
    source = FileData(
        path=file.absolute(),
        reading=recognition.reading,
        mapping=require_mapping(file, recognition, chosen),
        split=Split(validation=0, test=0),
    )
    with TemporaryDirectory(prefix="bert-studio-") as scratch:
        rows = resolve(source, Path(scratch) / "rows")
        _print_limit(rows.spec.rows["train"])
        yield text_set.TextSet(data=StoredData(folder=rows.folder), part="train")


def _print_limit(count: int) -> None:
    if count > text_set.MAX_TEXTS:
        echo_error(f"note: only the first {text_set.MAX_TEXTS:,} of {count:,} texts are used.")


def _measure(
    loaded: "Checkpoint", fields: dict[str, Any], method: Method, replacement: text_set.Replacement
) -> Measurements:
    import numpy as np

    from engine.explore.head_importance import weigh
    from engine.explore.head_statistics import head_statistics

    facts: dict[str, object]
    result: text_set.HeadsCounted | text_set.HeadsWeighed
    with TemporaryDirectory(prefix="bert-studio-") as scratch, ProgressLine(sys.stderr) as line:

        def emit(answer: Answer) -> None:
            if isinstance(answer, text_set.HeadsCounted | text_set.HeadsWeighed):
                answer.file.unlink()
            stage = answer.stage if isinstance(answer, Working) else "Measuring heads"
            assert isinstance(answer, Working | text_set.SetAnswer)
            line.draw(f"{stage}: {answer.done:,} of {answer.total:,} texts")

        if method == "patterns":
            result = head_statistics(loaded, text_set.CountHeads(**fields), Path(scratch), emit)
            facts = {"texts": result.total, "tokens": result.tokens}
            if result.fixed is not None:
                offset, accuracy = result.fixed
                facts["fixed_offset"] = {"offset": offset, "accuracy": accuracy}
        else:
            question = text_set.WeighHeads(
                **fields, each_head=method == "each", replacement=replacement
            )
            result = weigh(loaded, question, Path(scratch), emit)
            facts = {"texts": result.total, "loss": result.loss}
            if method == "each":
                facts["replacement"] = replacement
        return Measurements(result.columns, np.load(check_regular(result.file)), facts)


# ── output ───────────────────────────────────────────────────────────────────────────────────


def _format_heads(measured: Measurements, method: Method, top: int) -> Iterator[str]:
    """Format the strongest head of each column for patterns; else the top heads by importance."""
    import numpy as np

    values, columns = measured.values, measured.columns
    if method == "patterns":
        for column, name in enumerate(columns):
            figures = values[0, ..., column]
            if name != "offset" and np.isfinite(figures).any():
                index = np.unravel_index(int(np.nanargmax(figures)), figures.shape)
                yield f"most {name.replace('_', ' ')}: {_format_head(measured, index, column)}"
        return
    yield f"mean loss {measured.facts['loss']:.4f}"
    column = len(columns) - 1
    yield f"heads by {columns[column]}:"
    order = np.argsort(-values[0, ..., column].ravel(), kind="stable")[:top]
    for flat in order:
        yield _format_head(measured, np.unravel_index(int(flat), values.shape[1:3]), column)


def _format_head(measured: Measurements, index: Sequence[Any], column: int) -> str:
    layer, head = (int(value) for value in index)
    mean, low, high = measured.values[:, layer, head, column].tolist()
    name = f"{layer + 1}.{head + 1}"
    return f"head {name:>6}  {mean:9.4f} (95 % interval {low:.4f} to {high:.4f})"


def _records(measured: Measurements) -> Iterator[dict[str, object]]:
    import numpy as np

    layers, heads = measured.values.shape[1:3]
    for layer, head in np.ndindex(layers, heads):
        record: dict[str, object] = {"layer": layer + 1, "head": head + 1}
        for column, name in enumerate(measured.columns):
            for suffix, value in zip(
                SUFFIXES, measured.values[:, layer, head, column], strict=True
            ):
                record[name + suffix] = float(value) if np.isfinite(value) else None
        yield record


def _write(out: Path, records: list[dict[str, Any]]) -> None:
    import pyarrow as pa

    table = pa.Table.from_pylist(records)
    write_table(out, table.schema, [table])


# ── pruning ──────────────────────────────────────────────────────────────────────────────────


def _prune(
    loaded: "Checkpoint",
    question: text_set.PruneHeads,
    save: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    from engine.explore.head_pruning import prune, remove

    with ProgressLine(sys.stderr) as line:

        def emit(answer: Answer) -> None:
            assert isinstance(answer, text_set.HeadsPruned)
            done = answer.done / max(1, answer.total)
            line.draw(f"Pruning: round {len(answer.rounds)}, {100 * done:.0f} % of all rounds")

        pruned = prune(loaded, question, emit)
    if save is not None and pruned.pruned:
        remove(
            text_set.RemoveHeads(
                checkpoint=question.checkpoint, heads=pruned.pruned, into=save.absolute()
            )
        )
    rounds = {head: number for number, step in enumerate(pruned.rounds) for head in step.heads}
    network = loaded.network.spec
    records = [
        {
            "layer": layer + 1,
            "head": head + 1,
            "round": rounds[layer, head] if (layer, head) in pruned.pruned else None,
        }
        for layer in range(network.layers)
        for head in range(network.heads)
    ]
    if out is not None:
        _write(out, records)
    if as_json:
        facts: dict[str, object] = {
            "method": "pruning",
            "metric": pruned.metric,
            "rounds": [
                {"heads": _count_from_one(step.heads), pruned.metric: step.figure}
                for step in pruned.rounds
            ],
            "pruned": _count_from_one(pruned.pruned),
        }
        facts["saved"] = str(save) if save is not None and pruned.pruned else None
        echo_json(facts)
        return
    removed = 0
    for number, step in enumerate(pruned.rounds):
        removed += len(step.heads)
        figure = "not finite" if step.figure is None else f"{step.figure:.4f}"
        echo(f"round {number}: {removed} of {len(records)} heads pruned, {pruned.metric} {figure}")
    names = " ".join(f"{layer + 1}.{head + 1}" for layer, head in pruned.pruned)
    echo(f"{len(pruned.pruned)} heads can be pruned: {names or 'none'}")
    if save is not None and pruned.pruned:
        echo(f"The model without them was written to {save}")
    elif save is not None:
        echo_error("Nothing was saved: no head can be pruned.")
    if out is not None:
        echo(f"{len(records)} heads written to {out}")


def _count_from_one(heads: Sequence[tuple[int, int]]) -> list[list[int]]:
    return [[layer + 1, head + 1] for layer, head in heads]
