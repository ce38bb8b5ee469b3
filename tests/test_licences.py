"""docs/LICENSES.md lists everything shipped or installed, and licence files exist."""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "docs" / "LICENSES.md").read_text("utf-8")
# installed with torch only on machines with CUDA
CUDA = re.compile(r"nvidia-.*|cuda-.*|triton")


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def collect_requirements(texts: list[str], seen: set[str]) -> set[str]:
    """The names of all packages that the requirements install on this system."""
    for requirement in map(Requirement, texts):
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and normalize(requirement.name) not in seen:
            seen.add(normalize(requirement.name))
            collect_requirements(requires(requirement.name) or [], seen)
    return seen


def test_every_installed_library_is_listed():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    listed = {normalize(word) for word in re.findall(r"[\w.-]+", PAGE)}
    needed = collect_requirements(project["dependencies"], set())
    assert sorted(name for name in needed - listed if not CUDA.fullmatch(name)) == []


def test_shipped_third_party_folders_have_licences():
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
        *("help", "styles", "translations"),  # ours
    }


def test_all_dependencies_are_packaged():
    """Label errors and baselines need scikit-learn, which the package once lacked."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    needed = collect_requirements(project["dependencies"], set())
    modules = {
        module
        for module, names in packages_distributions().items()
        if needed & {normalize(name) for name in names}
    }
    spec = ast.parse((REPOSITORY / "packaging" / "bert-studio.spec").read_text("utf-8"))
    (assignment,) = [
        node.value
        for node in ast.walk(spec)
        if isinstance(node, ast.keyword) and node.arg == "excludes"
    ]
    excluded = {node.value for node in ast.walk(assignment) if isinstance(node, ast.Constant)}
    assert "tkinter" in excluded and not excluded & modules
