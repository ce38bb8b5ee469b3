"""Files that this process did not just write are opened only by `engine.files.regular_file`."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAFE_READER = "engine/files/regular_file.py"
EXCEPTIONS = {  # files that read what the system or the program provides
    "app/machine.py": "/proc and /sys",
    "app/pages/explore/panels/attention/maps.py": "what the explorer worker just wrote",
    "app/pages/settings/about.py": "licences that come with the program",
    "app/resources.py": "icons that come with the program",
    "app/widgets/help_topics.py": "help that comes with the program",
    "engine/cores.py": "/proc and /sys",
    "engine/documents/report.py": "the template that comes with the program",
    "engine/data/formats/columnar.py": "what engine.data.formats.archives opened",
    "engine/explore/limits.py": "/proc",
    "engine/export/reloading.py": "what the other side of a check just wrote",
    "engine/runs/launch.py": "/proc",
    "engine/training/device/machine.py": "/proc",
}
READS = {"read_text", "read_bytes"}
LIBRARIES = {"np.load", "np.memmap", "pq.ParquetFile", "safe_open", "load_file"}
FUNCTIONS = {name.rpartition(".")[2] for name in LIBRARIES}
MENTIONS = re.compile(rf"\b(?:open|{'|'.join(sorted(READS | FUNCTIONS))})\b")


def find_reads(file: Path) -> list[int]:
    """The lines with `open(…)` for reading, `read_text()` or `read_bytes()`, and those in which a
    library opens a file without `check_regular(…)`.
    """
    result, source = [], file.read_text(encoding="utf-8")
    if not MENTIONS.search(source):
        return []  # parsing takes long
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in READS:
            result.append(node.lineno)
        if _is_library(node.func) and not ast.unparse(node.args[0]).startswith("check_regular("):
            result.append(node.lineno)
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            mode = node.args[1] if len(node.args) > 1 else ast.Constant("r")
            assert isinstance(mode, ast.Constant), f"{file}:{node.lineno}"
            if not set(str(mode.value)) & set("wxa+"):
                result.append(node.lineno)
    return result


def _is_library(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in FUNCTIONS and ast.unparse(function) in LIBRARIES  # unparsing is slow


def test_files_are_read_only_through_the_safe_functions():
    reads = []
    for file in sorted([*(ROOT / "engine").rglob("*.py"), *(ROOT / "app").rglob("*.py")]):
        name = file.relative_to(ROOT).as_posix()
        if name != SAFE_READER and name not in EXCEPTIONS:
            reads += [f"{name}:{line}" for line in find_reads(file)]
    assert not reads, "read these with engine.files.regular_file"


def test_every_exception_is_still_needed():
    assert [name for name in EXCEPTIONS if not find_reads(ROOT / name)] == []
