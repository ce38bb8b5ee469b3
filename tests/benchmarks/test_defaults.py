"""The recommended settings are as good as what was measured, and advice fits how runs went."""

from pathlib import Path

from benchmarks.defaults import plan, table
from engine.config.dataset import FileData
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.recommended import layer_weights
from engine.config.tasks import parse_task
from engine.config.training import TrainingSpec
from engine.messages.events import Prepared
from engine.runs.advice import LEARNED_NOTHING, Advice, Measurements, advise

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "defaults"
CLEARLY = 0.1  # above what is reached without learning

LINES = table.read()
GRIDS = table.grids(LINES)
COMPARED = [grid for grid in GRIDS if len(grid.cells) > 1 and grid.recommended in grid.cells]


def test_the_recommended_values_lose_at_most_a_point_or_the_spread_of_seeds() -> None:
    assert [one.name for one in COMPARED if one.lost(one.recommended) > one.allowed] == []


def test_the_recommended_values_were_measured_on_every_set_and_in_every_way() -> None:
    found = {(grid.model, grid.way, grid.data) for grid in COMPARED}
    assert {data for model, way, data in found if way == "all weights"} >= set(plan.LABELLED)
    assert {data for model, _, data in found if model == "starter"} >= set(plan.LABELLED)
    assert {way for _, way, _ in found} >= {"all weights", "LoRA", "from scratch", "probe linear"}


def test_the_recommended_values_are_better_than_those_of_the_paper_on_nearly_every_set() -> None:
    with_paper = [
        (grid, cell) for grid in COMPARED for cell in grid.cells if cell[:2] == plan.PAPER
    ]
    better = [grid.score(grid.recommended) > grid.score(cell) for grid, cell in with_paper]
    assert len(better) >= 16 and sum(better) >= len(better) - 1


def test_the_card_of_minilm_has_the_figures_that_were_measured() -> None:
    card = (SCRIPTS.parents[1] / "resources" / "minilm" / "README.md").read_text("utf-8")
    rows = [[cell.strip() for cell in row.split("|")] for row in card.splitlines()]
    shown = {row[1].partition(" ")[0]: row[3:6] for row in rows if len(row) == 8}
    included = table.read(SCRIPTS / "included.jsonl")
    for line in (*included, *(line for line in LINES if is_recommended(line))):
        column = {"minilm, as included": 0, "minilm": 1, "starter": 2}[line["model"]]
        best = line["best"]
        as_written = f"{best:.3f}" if line["metric"] == "pearson" else f"{100 * best + 1e-9:.1f} %"
        assert shown.get(line["set"], [as_written] * 3)[column] == as_written, line["key"]
    assert len(included) == 5


def is_recommended(line) -> bool:
    """True for the first run with the recommended values of a model on the card."""
    values = (line["model"], line["rate"], line["epochs"], line["seed"], line["way"])
    wanted = {("starter", 3e-4), ("minilm", 1e-4)}
    usual = line["rows"] == plan.SETS[line["set"]].fewer
    return values[:2] in wanted and values[2:] == (10, 1, "all weights") and usual


def said_of(line) -> list[Advice]:
    """Advice at the end of a run."""
    job = JobSpec(
        name="run",
        task=parse_task(line["task"]),
        base_model=FromCheckpoint(path=Path("model")),
        data=FileData(path=Path("data")),
        training=TrainingSpec(
            learning_rate=line["rate"], epochs=line["epochs"], batch_size=line["batch"]
        ),
    )
    prepared = Prepared(
        steps=line["steps"],
        parameters=line["parameters"],
        examples=line["examples"],
        device="cpu",
        threads=1,
        best_metric=f"validation_{line['metric']}",
        higher_is_better=line["metric"] != "loss",
        majority=line["usual_answer"],
        majority_score=line["usual_share"],
        layer_weights=layer_weights(table.NETWORKS[line["model"]]),
    )
    curves = {
        name: [(step, value) for step, value in points if value is not None]
        for name, points in line["curves"].items()
    }
    return advise(Measurements(job, prepared, curves, is_over=True))


def without_learning(line) -> float:
    return line["usual_share"] if line["metric"] == "accuracy" else 0.0


ALL_WEIGHTS = [line for line in LINES if line["way"] == "all weights" and line["metric"] != "loss"]
LEARNED = [line for line in ALL_WEIGHTS if line["best"] > without_learning(line) + CLEARLY]
NOT_LEARNED = [line for line in ALL_WEIGHTS if line["best"] <= without_learning(line)]


def test_a_run_that_learned_is_not_told_that_it_has_not() -> None:
    assert len(LEARNED) > 20
    for line in LEARNED:
        assert not {one.name for one in said_of(line)} & LEARNED_NOTHING, line["key"]


def test_a_run_that_learned_nothing_is_told_so_and_what_to_try() -> None:
    assert len(NOT_LEARNED) >= 3
    for line in NOT_LEARNED:
        first = said_of(line)[0]
        assert first.name in LEARNED_NOTHING and first.change, line["key"]
