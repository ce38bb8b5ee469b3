"""`bert-studio words`: words in imported word vectors, and in the embedding rows of a model."""

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.naming import find_checkpoint
from engine.cli.options import AsJson, print_loading_notes
from engine.data.word_vectors.expression import parse
from engine.data.word_vectors.facts import stored
from engine.data.word_vectors.spaces import relate_in_file
from engine.data.word_vectors.store import WordVectors
from engine.errors import StudioError
from engine.files.home import Home
from engine.messages.explore.word_relations import RelateWords, WordSpace
from engine.system.terminal import echo, echo_error, echo_json

TITLES = {"file": "word vectors", "rows": "embedding rows of the model"}


def words(
    expression: Annotated[
        str, typer.Argument(help="A word, or words with signs: “king - man + woman”.")
    ],
    vectors: Annotated[
        Path | None, typer.Option(help="Imported word vectors by name or folder.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A model or a run by name or folder: its token embedding, too.",
            callback=find_checkpoint,
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of neighbours.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Print cosines and nearest neighbours of words, and analogies, in static word vectors.

    The words themselves are left out of the neighbours.
    """
    chosen = parse(expression)
    folder = _find(vectors) if vectors is not None else None
    if model is not None:
        from engine.explore.word_relations import relate
        from engine.models import checkpoint

        loaded = checkpoint.load(model)
        print_loading_notes(loaded.report)
        question = RelateWords(
            checkpoint=model, words=chosen.words, signs=chosen.signs, vectors=folder, top=top
        )
        spaces = [space for space in relate(loaded, question).spaces if space.name in TITLES]
    elif folder is not None:
        spaces = [relate_in_file(WordVectors(folder), chosen.words, chosen.signs, top)]
    else:
        raise StudioError(
            "There are no vectors to compare the words in.", "Use --vectors or --model, or both."
        )
    if as_json:
        fields = {"name", "missing", "read_as", "cosines", "nearest", "searched"}
        echo_json(
            {"words": chosen.words, "signs": chosen.signs}
            | {"spaces": [space.model_dump(include=fields) for space in spaces]}
        )
        return
    for space in spaces:
        _print(space, chosen.words)
    if all(space.missing for space in spaces):
        raise StudioError(
            "A word is in none of the vectors: {missing}.",
            "Check its spelling, or choose other word vectors.",
            missing=", ".join(spaces[0].missing),
        )


def _find(vectors: Path) -> Path:
    """Word vectors of the home by name, ignoring case; any other path as it is."""
    names = {folder.name.casefold(): folder for folder in stored(Home())}
    if vectors.exists() or len(vectors.parts) > 1:
        return vectors
    if vectors.name.casefold() not in names:
        raise StudioError(
            "There are no word vectors “{name}”.",
            "Import their file with import-model. There are: {names}.",
            name=vectors.name,
            names=", ".join(folder.name for folder in names.values()) or "none",
        )
    return names[vectors.name.casefold()]


def _print(space: WordSpace, words: tuple[str, ...]) -> None:
    echo("", TITLES[space.name])
    for word in space.missing:
        echo_error(f"note: “{word}” has no vector here.")
    read = [word for word in words if word not in space.missing]
    for word, found in zip(read, space.read_as, strict=True):
        if space.name == "file" and word != found:
            echo_error(f"note: “{word}” is looked up as “{found}”.")
    pairs = ((a, b) for n, a in enumerate(words) for b in words[n + 1 :])
    for (first, second), cosine in zip(pairs, space.cosines, strict=True):
        if cosine is not None:
            echo(f"{cosine:8.4f}  {first} – {second}")
    for near in space.nearest:
        echo(f"{near.cosine:8.4f}  {near.token}")
