"""The table of families in docs/MODELS.md says what the program's own table says."""

from pathlib import Path

from engine.checkpoints.other_networks import ENCODERS
from engine.config.families import FAMILIES
from engine.config.families.family import Family
from tests.engine.models.family_folders import EXAMPLES

DOCUMENT = Path(__file__).parents[1] / "docs/MODELS.md"
HEAD = (
    "| family | `model_type` | tasks | further pre-training | exports | Explore |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def pretraining(family: Family) -> str:
    """What it can learn besides tasks."""
    pairs = {True: ", sentence order", False: ", next sentence"}[family.orders_pairs]
    ways = "MLM" + (pairs if family.has_nsp_head else "")
    return ways + (", CLM" if family.causal else "")


def explored(family: Family) -> str:
    """What is otherwise in Explore than with BERT."""
    spec = EXAMPLES[family.name].base
    said = []
    if not family.has_nsp_head:
        said.append("no next sentence")
    if not spec.segment_rows:
        said.append("no segment embeddings")
    if spec.parts.positions != "learned":
        said.append("no position embeddings")
    if spec.parts.relative == "buckets":
        said.append("a score has two parts")
    if spec.parts.relative == "disentangled":
        said.append("a score has three parts")
    return "every panel" + (f"; {', '.join(said)}" if said else "")


def row(family: Family) -> str:
    exports = "Hugging Face, ONNX" + (", TensorFlow 1" if family.name == "bert" else "")
    cells = (family.title, f"`{family.name}`", "all", pretraining(family), exports)
    return f"| {' | '.join(cells)} | {explored(family)} |"


def test_the_table_of_families_is_that_of_the_program() -> None:
    table = "\n".join([HEAD, *map(row, FAMILIES.values())])
    assert table in DOCUMENT.read_text(encoding="utf-8"), f"write this:\n{table}"


def test_what_is_not_supported_is_named() -> None:
    titles = ", ".join(sorted((one.title for one in ENCODERS.values()), key=str.casefold))
    assert titles in " ".join(DOCUMENT.read_text(encoding="utf-8").split()), titles
