"""Only a task's own files and the table of tasks know its name."""

import ast
from pathlib import Path

import pytest

from engine.config.tasks import TASKS
from engine.results.measures import measures
from tests.engine.results.made import classified

PLACES = ("engine/config/tasks", "engine/evaluation", "engine/tasks", "app/tasks")
TABLE = Path("engine/config/tasks/__init__.py")
REPOSITORY = Path(__file__).parents[2]


def test_no_other_file_of_the_program_names_a_task() -> None:
    own = {Path(place, f"{task}.py") for place in PLACES for task in TASKS}
    found = [
        f"{file}:{node.lineno} {node.value}"
        for top in ("app", "engine")
        for path in (REPOSITORY / top).rglob("*.py")
        if (file := path.relative_to(REPOSITORY)) not in own and file != TABLE
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in TASKS
    ]
    assert not found


def test_an_unknown_task_has_no_metrics() -> None:
    with pytest.raises(KeyError):
        measures(classified(["a"], ["a"], task="mood"))
