"""The texts with which an export is tried: some of our own, and some of what the model is for."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from engine.data.reading import read, recognise
from engine.data.store import open_dataset
from engine.errors import StudioError
from engine.runs.folder import RunFolder
from engine.spec.dataset import StoredData

MOST = 24  # rows of a file or of a run

Sequence = tuple[str, str | None]  # a text, and the second of a pair
Example = tuple[Sequence, ...]  # one sequence; several where one of several endings is chosen

OURS: tuple[
    Example, ...
] = (  # some short, one long, one empty, pairs, and what is in no vocabulary
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
    """The examples, and for people: where they come from."""

    examples: tuple[Example, ...]
    sources: tuple[str, ...]


def examples(checkpoint: Path, texts: Path | None, chooses: bool) -> Examples:
    """Our own examples; with them the first rows of `texts`, or else of the checkpoint's run.

    Args:
        chooses: the model chooses one of several endings, of which only our own are there.
    """
    ours = ENDINGS if chooses else OURS
    sources = [f"{len(ours)} built in"]
    found: tuple[Example, ...] = ()
    if texts is not None:
        if chooses:
            raise StudioError(
                "A model that chooses one of several endings is tried with built-in texts only.",
                "Export it without a file of texts.",
            )
        found = _of_file(texts)
        sources.append(f"the first {len(found)} rows of {texts.name}")
    elif not chooses:
        try:
            found = _of_run(checkpoint)
        except StudioError as error:
            sources.append(f"none of the run, whose data could not be read ({error.problem})")
        if found:
            sources.append(f"{len(found)} dev rows of the run {_run(checkpoint).path.name}")
    return Examples(ours + found, tuple(sources))


def _of_file(path: Path) -> tuple[Example, ...]:
    recognised = recognise(path)
    if (mapping := recognised.mapping) is None:
        raise StudioError(
            f"It is not clear which column of {path.name} holds the text.",
            "Give it a header with the columns “text” and, for pairs, “pair”.",
        )
    text = recognised.columns.index(mapping.text)
    pair = None if mapping.pair is None else recognised.columns.index(mapping.pair)
    rows = islice(read(path, recognised.reading, glance=True), MOST)
    cells = (row.cells for row in rows)
    return tuple(((one[text], None if pair is None else one[pair]),) for one in cells)


def _run(checkpoint: Path) -> RunFolder:
    """The run folder that a checkpoint of a run lies in."""
    return RunFolder(checkpoint.absolute().parent.parent)


def _of_run(checkpoint: Path) -> tuple[Example, ...]:
    """The first dev rows of the checkpoint's run; none where the run or its data is not there."""
    run = _run(checkpoint)
    if checkpoint.absolute().parent != run.checkpoints or not run.spec_file.is_file():
        return ()
    data = run.job().data
    folder = data.folder if isinstance(data, StoredData) else run.dataset
    if not folder.is_dir():
        return ()
    dataset = open_dataset(folder)
    mapping = dataset.spec.mapping
    rows = dataset.page(0, MOST, "dev")
    return tuple(
        ((str(row[mapping.text]), None if mapping.pair is None else str(row[mapping.pair])),)
        for row in rows
    )
