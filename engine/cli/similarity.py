"""Vectors of texts, their similarity, and nearest rows."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from engine.cli.naming import find_checkpoint
from engine.cli.options import (
    AsJson,
    BatchSize,
    Stored,
    print_loading_notes,
    with_options,
)
from engine.cli.progress import ProgressLine
from engine.cli.rows import COLUMNS, READING, read_table
from engine.cli.stored import require_dataset
from engine.config.dataset import SplitName
from engine.errors import StudioError
from engine.files.shipped import minilm
from engine.files.table_files import check_suffix, write_table
from engine.phrases import phrase
from engine.system.terminal import echo, echo_error, echo_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.models.checkpoint import Checkpoint

VECTOR_COLUMN = "vector"
TEXT_COLUMN = COLUMNS._replace(names=("text",))

Encoder = Annotated[
    Path | None,
    typer.Option(
        "--model",
        help=(
            "A sentence encoder by name or folder, or another encoder, whose token vectors are "
            "averaged. Default: MiniLM."
        ),
        callback=find_checkpoint,
    ),
]
Part = Annotated[SplitName, typer.Option(help="Part of --data.")]
MaxLength = Annotated[
    int | None, typer.Option(min=2, help="Max. length in tokens. Default: that of the model.")
]


class Texts(NamedTuple):
    """The texts of a file or a data set, and all cells of their rows by column."""

    texts: Sequence[str]
    cells: dict[str, Sequence[str]]
    lines: Sequence[int] | None


def similarity(
    texts: Annotated[list[str], typer.Argument(help="Two texts or more.")],
    model: Encoder = None,
    as_json: AsJson = False,
) -> None:
    """Print the cosine similarity of texts with a sentence encoder."""
    from engine.tasks.similarity import pairwise_cosines, sentence_vectors

    if len(texts) < 2:
        raise StudioError(
            "Similarity needs at least two texts, and there is one.",
            "Add a second text, in quotation marks.",
        )
    loaded = _load(model)
    vectors = sentence_vectors(loaded, texts, on_truncated=_print_truncated)
    cosines = pairwise_cosines(vectors, vectors)
    if as_json:
        echo_json({"texts": texts, "cosines": [[float(value) for value in row] for row in cosines]})
    elif len(texts) == 2:
        echo(f"{cosines[0, 1]:.4f}")
    else:
        for number, (row, text) in enumerate(zip(cosines, texts, strict=True), start=1):
            echo(f"{number:>3} " + " ".join(f"{value:7.4f}" for value in row) + f"  {text}")


def vectors(
    out: Annotated[
        Path,
        typer.Option(
            help=(
                "Output file: .npy, float32 [rows, numbers], or .parquet or .jsonl with all "
                "columns and the column “vector”."
            )
        ),
    ],
    file: Annotated[Path | None, typer.Argument(help="A file with a column of texts.")] = None,
    model: Encoder = None,
    data: Stored = None,
    part: Part = "train",
    word: Annotated[
        str,
        typer.Option(
            help=(
                "Write instead one vector for each occurrence of this word in the texts, the mean "
                "of its tokens, with its text; those of NAME.npy are in NAME.texts.csv."
            )
        ),
    ] = "",
    layer: Annotated[
        int | None,
        typer.Option(
            min=0, help="With --word: after this layer; 0 is the embeddings. Default: the last."
        ),
    ] = None,
    max_length: MaxLength = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Batch size: texts computed at once. Default: 32.")
    ] = None,
    **extra: Any,
) -> None:
    """Write one vector for each row of a file or of a stored data set."""
    from engine.tasks.similarity import save_array, vector_table

    check_suffix(out, (".npy", ".parquet", ".jsonl"))
    word = word.strip()
    if layer is not None and not word:
        raise StudioError("--layer is a property of the vectors of a word.", "Use --word, too.")
    for option, value in (("--max-length", max_length), ("--batch-size", batch_size)):
        if word and value is not None:
            raise StudioError(
                "{option} is a property of the vectors of whole texts.",
                "Leave out {option}, or --word.",
                option=option,
            )
    rows = _rows(file, data, part, READING.select(extra), TEXT_COLUMN.select(extra))
    loaded = _load(model)
    if word:
        _write_word(loaded, word, layer, rows, out)
        return
    encoded = _encode(loaded, rows.texts, max_length, batch_size or 32)
    if out.suffix.lower() == ".npy":
        save_array(out, encoded)
    else:
        table = vector_table(rows.cells, encoded, VECTOR_COLUMN)
        write_table(out, table.schema, [table])
    echo(f"{encoded.shape[0]} vectors of {encoded.shape[1]} numbers written to {out}")


def nearest(
    query: Annotated[str, typer.Argument(help="A text.")],
    file: Annotated[Path | None, typer.Argument(help="A file with a column of texts.")] = None,
    model: Encoder = None,
    data: Stored = None,
    part: Part = "train",
    top: Annotated[int, typer.Option(min=1, help="Number of rows to print.")] = 5,
    max_length: MaxLength = None,
    batch_size: BatchSize = 32,
    as_json: AsJson = False,
    **extra: Any,
) -> None:
    """Print the rows whose texts are nearest to a text, by the cosine of their vectors."""
    from engine.tasks.similarity import nearest as nearest_to
    from engine.tasks.similarity import sentence_vectors

    rows = _rows(file, data, part, READING.select(extra), TEXT_COLUMN.select(extra))
    loaded = _load(model)
    encoded = _encode(loaded, rows.texts, max_length, batch_size)
    query_vector = sentence_vectors(loaded, [query], max_length, on_truncated=_print_truncated)[0]
    neighbours = nearest_to(query_vector, encoded, top)
    lines = [
        {
            "cosine": float(cosine),
            "line": int(rows.lines[number]) if rows.lines is not None else int(number) + 1,
            "text": rows.texts[number],
        }
        for number, cosine in zip(neighbours.indices, neighbours.cosines, strict=True)
    ]
    if as_json:
        echo_json({"text": query, "nearest": lines})
        return
    for line in lines:
        echo(f"{line['cosine']:7.4f}  {line['line']:>6}  {line['text']}")


def _write_word(loaded: "Checkpoint", word: str, layer: int | None, rows: Texts, out: Path) -> None:
    from engine.explore.word_occurrences import find_vectors, save

    with ProgressLine(sys.stderr) as line:
        found = find_vectors(
            loaded,
            word,
            [(text, None) for text in rows.texts],
            layer,
            lambda done, total: line.draw(f"Reading texts: {done:,} of {total:,}"),
        )
    save(out, found, rows.cells)
    if found.unread:
        echo_error(f"note: {unread_note(found.unread)}")
    count, size = found.vectors.shape
    echo(f"{count} vectors of {size} numbers written to {out}")


def _encode(
    loaded: "Checkpoint", texts: Sequence[str], max_length: int | None, batch_size: int
) -> "NDArray[np.float32]":
    """Encode texts, float32 [N, D]; shows progress on stderr."""
    from engine.tasks.similarity import sentence_vectors

    with ProgressLine(sys.stderr) as line:
        return sentence_vectors(
            loaded,
            texts,
            max_length,
            batch_size,
            lambda done, total: line.draw(f"Computing vectors: {done:,} of {total:,} batches"),
            _print_truncated,
        )


def unread_note(count: int) -> str:
    return phrase(
        "{n} further occurrence(s) come after the last token that the model reads.", n=count
    )


def _print_truncated(texts: int, tokens: int) -> None:
    from engine.tasks.inputs import truncation_note

    echo_error(f"note: {truncation_note(texts, tokens)}")


def _load(model: Path | None) -> "Checkpoint":
    from engine.models import checkpoint

    loaded = checkpoint.load(model or minilm())
    print_loading_notes(loaded.report)
    return loaded


def _rows(
    file: Path | None,
    data: Path | None,
    part: SplitName,
    options: dict[str, Any],
    chosen: dict[str, Any],
) -> Texts:
    """Read the rows. Raises StudioError unless exactly one of `file` and `data` is given."""
    if (file is None) == (data is None):
        raise StudioError("It is not clear which rows to use.", "Use either a file or --data.")
    if file is not None:
        read = read_table(file, options, chosen, reads_labels=False)
        return Texts(read.rows.plain_texts, dict(read.cells), read.rows.lines)
    assert data is not None
    dataset = require_dataset(data)
    rows = dataset.rows(part)
    if not len(rows):
        raise StudioError("The data set has no rows in this split.", "Choose another --part.")
    return Texts(rows.plain_texts, dict(dataset.cells(part)), rows.lines)


vectors_command = with_options(vectors, [*READING.parameters(), *TEXT_COLUMN.parameters()])
nearest_command = with_options(nearest, [*READING.parameters(), *TEXT_COLUMN.parameters()])
