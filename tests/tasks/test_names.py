"""Only a task's own files and the table of tasks know its name."""

import ast
from pathlib import Path

from engine.config.tasks import TASKS

FOLDERS = ("engine/config/tasks", "engine/evaluation", "engine/tasks", "app/tasks")
TABLE = Path("engine/config/tasks/__init__.py")
REPOSITORY = Path(__file__).parents[2]


def test_no_other_file_of_the_program_names_a_task():
    allowed = {Path(folder, f"{task}.py") for folder in FOLDERS for task in TASKS} | {TABLE}
    uses = []
    for path in (path for top in ("app", "engine") for path in (REPOSITORY / top).rglob("*.py")):
        file, text = path.relative_to(REPOSITORY), path.read_text("utf-8")
        if file not in allowed and any(task in text for task in TASKS):
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
            uses += [f"{file}:{node.lineno}" for node in nodes if node.value in TASKS]
    assert not uses
