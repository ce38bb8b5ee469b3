"""docs/LICENSES.md names all that is shipped or installed, and the texts are there."""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "docs" / "LICENSES.md").read_text("utf-8")
# what torch brings only on machines with CUDA
CUDA = re.compile(r"nvidia-.*|cuda-.*|triton")


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_with(texts: list[str], seen: set[str]) -> set[str]:
    """The names of all that the requirements bring along on this system."""
    for requirement in map(Requirement, texts):
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and plain(requirement.name) not in seen:
            seen.add(plain(requirement.name))
            installed_with(requires(requirement.name) or [], seen)
    return seen


def test_every_library_that_is_installed_is_on_the_page():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    named = {plain(word) for word in re.findall(r"[\w.-]+", PAGE)}
    needed = installed_with(project["dependencies"], set())
    assert sorted(name for name in needed - named if not CUDA.fullmatch(name)) == []


def test_every_shipped_folder_of_others_has_its_licence():
    resources = REPOSITORY / "resources"
    for path in (
        "fonts/Inter-LICENSE.txt",
        "fonts/JetBrainsMono-LICENSE.txt",
        "icons/LICENSE.txt",
        "minilm/LICENSE.txt",
    ):
        assert (resources / path).stat().st_size > 500, path
    for readme in ("sample/README.md", "starter/README.md", "minilm/README.md"):
        if (resources / readme).parent.exists():
            assert (resources / readme).exists(), readme
    assert {row.name for row in resources.iterdir() if row.is_dir()} <= {
        *re.findall(r"`resources/(\w+)/`", PAGE),
        *("help", "styles", "translations"),  # our own
    }


def test_all_dependencies_are_packaged():
    """Label errors and baselines need scikit-learn, which the package once went without."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    needed = installed_with(project["dependencies"], set())
    modules = {
        module
        for module, names in packages_distributions().items()
        if needed & {plain(name) for name in names}
    }
    spec = ast.parse((REPOSITORY / "packaging" / "bert-studio.spec").read_text("utf-8"))
    (assignment,) = [
        node.value
        for node in ast.walk(spec)
        if isinstance(node, ast.keyword) and node.arg == "excludes"
    ]
    excluded = {node.value for node in ast.walk(assignment) if isinstance(node, ast.Constant)}
    assert "tkinter" in excluded and not excluded & modules
