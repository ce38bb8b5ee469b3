"""Facts about the word vectors in the home folder, without their vectors."""

from pathlib import Path

from engine.errors import StudioError
from engine.files.home import Home, subfolders
from engine.files.regular_file import read_regular
from engine.messages.word_vectors import VectorFacts

FACTS = "facts.json"


def stored(home: Home) -> list[Path]:
    """The folders of converted word vectors, by name."""
    return subfolders(home.vectors)


def read_facts(folder: Path) -> VectorFacts:
    """Facts about converted word vectors. Raises StudioError if they are damaged."""
    try:
        return VectorFacts.model_validate_json(read_regular(folder / FACTS))
    except (OSError, ValueError) as error:
        raise damaged_error(folder) from error


def damaged_error(folder: Path) -> StudioError:
    return StudioError(
        "The word vectors “{name}” are missing or damaged.",
        "Import their file again.",
        name=folder.name,
    )
