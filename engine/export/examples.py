"""Texts on which an export is verified: some built-in ones, and some of the model's data."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from engine.checkpoints.config import CONFIG
from engine.checkpoints.heads import stored_texts
from engine.config.dataset import StoredData
from engine.data.columns.choices import parse_endings
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import read, recognise
from engine.errors import StudioError
from engine.files.untrusted import json_object
from engine.runs.folder import RunFolder
from engine.runs.snapshots import find_run

MAX_EXAMPLES = 24  # rows of a file or of a run

TextPair = tuple[str, str | None]  # a text, and the second of a pair
Example = tuple[TextPair, ...]  # one pair; several for multiple choice

BUILT_IN: tuple[
    Example, ...
] = (  # short, long and empty ones, pairs, and characters outside every vocabulary
    (("Good morning!", None),),
    (("The president of the United States lives in Washington.", None),),
    (("Where does she live?", "She has lived in Paris since 2019, near the river."),),
    (("", None),),
    (("Zażółć gęślą jaźń — Ωμέγα, 北京大学, naïve ﬁancée 🙂 \u200d ☃", None),),
    (("It cost $1,234.56 (about 20 %) — wasn't that “cheap”? e-mail: a.b@example.org", None),),
    (("Paris is the [MASK] of France, and [MASK] is the capital of Italy.", None),),
    (("A gripping, beautifully acted film.", "Dull from the first minute to the last."),),
    (("CC(=O)Oc1ccccc1C(=O)O >> C C ( = O ) O", None),),
    ((" ".join(["The same sentence, told again and again, makes a long input."] * 12), None),),
)
ENDINGS: tuple[Example, ...] = tuple(
    tuple((text, ending) for ending in endings)
    for text, endings in (
        ("She opened the umbrella because", ("it had begun to rain.", "the soup was hot.")),
        ("He put the key into the lock and", ("turned it.", "ate it.")),
        (
            "The plane",
            ("landed on time.", "was peeled and cut.", "sang a song.", "melted in the sun."),
        ),
        ("", ("nothing came before this.", "北京大学 🙂", "Ωμέγα", "")),
    )
)


class Examples(NamedTuple):
    """The examples, with a displayed name for each, and their origin.

    An export is meant to be passed on, so built-in texts are named by themselves, and the user's
    rows by their index only.
    """

    examples: tuple[Example, ...]
    names: tuple[str, ...]
    sources: tuple[str, ...]


def examples(checkpoint: Path, texts: Path | None, chooses: bool) -> Examples:
    """The built-in examples and the first rows of `texts`, or else of the checkpoint's run.

    Args:
        chooses: the model chooses one of several endings.

    Raises StudioError if `texts` cannot be read, or lacks the columns for such a model.
    """
    built_in = ENDINGS if chooses else BUILT_IN
    names = [" | ".join(dict.fromkeys(_parts(example))) for example in built_in]
    sources = [f"{len(built_in)} built-in texts"]
    chosen: tuple[Example, ...] = ()
    if texts is not None:
        chosen = _examples(_read_file(texts, checkpoint), chooses)
        names += [f"row {number} of {texts.name}" for number in range(1, len(chosen) + 1)]
        sources.append(f"the first {len(chosen)} rows of {texts.name}")
    elif (run := find_run(checkpoint.absolute())) is not None:
        name = run.path.name
        try:
            rows = _read_run(run)
            chosen = () if rows is None else _examples(rows, chooses)
        except StudioError as error:
            sources.append(
                f"none of the run {name}, as its data could not be read ({error.problem})"
            )
        if chosen:
            names += [f"validation row {n} of the run {name}" for n in range(1, len(chosen) + 1)]
            sources.append(f"{len(chosen)} validation rows of the run {name}")
    return Examples(built_in + chosen, tuple(names), tuple(sources))


def _parts(example: Example) -> list[str]:
    return [part for sequence in example for part in sequence if part is not None]


def _read_file(path: Path, checkpoint: Path) -> Rows:
    texts = stored_texts(json_object(checkpoint, CONFIG) or {})
    recognised = recognise(path, model_texts=texts)
    if (mapping := recognised.mapping) is None:
        raise StudioError(
            "Could not tell which column of {path} contains the text.",
            "Add a header with the columns “text” and, for pairs, “pair”.",
            path=path.name,
        )
    rows = [
        row.cells for row in islice(read(path, recognised.reading, head_only=True), MAX_EXAMPLES)
    ]
    cells = {name: [row[number] for row in rows] for number, name in enumerate(recognised.columns)}
    return Rows.from_columns(mapping, cells)


def _read_run(run: RunFolder) -> Rows | None:
    """The first validation rows of a run; None if its data is missing."""
    data = run.job().data
    folder = data.folder if isinstance(data, StoredData) else run.dataset
    if not folder.is_dir():
        return None
    dataset = open_dataset(folder)
    mapping = dataset.spec.mapping
    rows = dataset.page(0, MAX_EXAMPLES, "validation")
    cells = {name: [str(row[name] or "") for row in rows] for name in mapping.columns}
    return Rows.from_columns(mapping, cells)


def _examples(rows: Rows, chooses: bool) -> tuple[Example, ...]:
    if chooses:
        if rows.endings is None:
            raise StudioError(
                "These rows have no choices for multiple choice.",
                "Use a file with a column “choices”, or export without a file of texts.",
            )
        beginnings = rows.beginnings or [""] * len(rows)
        return tuple(
            tuple((text, f"{beginning} {ending}".strip()) for ending in choices)
            for text, beginning, choices in zip(
                rows.texts, beginnings, parse_endings(rows.endings), strict=True
            )
        )
    texts: list[str] = list(rows.plain_texts)
    pairs: tuple[str | None, ...] = tuple(rows.pairs or [None] * len(texts))
    return tuple((sequence,) for sequence in zip(texts, pairs, strict=True))
