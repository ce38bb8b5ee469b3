"""The documents: current tables, existing links and files, commands that parse, and size limits."""

import re
import shlex
from pathlib import Path

from app.__main__ import run_command
from tools import docs

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in ("README.md", "CHANGELOG.md"))]
PAGES = [*sorted(PAGES), ROOT / "CONTRIBUTING.md"]
MAX_WORDS, MAX_README, MAX_PICTURES, MAX_PICTURE = 18_000, 900, 14, 150_000


def test_generated_tables_are_current():
    for page in docs.GENERATED:
        assert docs.current(page) == (docs.DOCS / page).read_text("utf-8"), "python3 dev.py docs"


def test_linked_files_exist():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), (page, target)


def test_referenced_files_exist():
    folders = ("app", "benchmarks", "engine", "packaging", "tests", "tools")
    code = [*ROOT.glob("*.py"), *(f for folder in folders for f in (ROOT / folder).rglob("*.py"))]
    files = {file.relative_to(ROOT).as_posix() for file in code}
    for page in PAGES:
        for name in re.findall(r"`([a-z0-9_/]+\.py)`", page.read_text("utf-8")):
            assert any(file == name or file.endswith(f"/{name}") for file in files), (page, name)


def test_referenced_tables_exist():
    for page in PAGES:
        for name, file in re.findall(r"`([A-Z]+)` of `([a-z_/]+\.py)`", page.read_text("utf-8")):
            assert re.search(rf"^{name}\b.*=", (ROOT / file).read_text("utf-8"), re.MULTILINE), (
                page,
                name,
            )


def test_the_commands_of_the_readme_parse(capsys):
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    lines = [line for line in "".join(blocks).splitlines() if line.startswith("bert-studio ")]
    assert len(lines) > 5
    for line in lines:
        arguments = shlex.split(line.partition(">")[0], comments=True)[1:]
        assert run_command([*arguments, "--help"]) == 0, line  # unknown options are refused first
    assert arguments[0] in capsys.readouterr().out


def test_documents_stay_short():
    words = {page: len(page.read_text("utf-8").split()) for page in PAGES}
    assert sum(words.values()) <= MAX_WORDS
    assert words[ROOT / "README.md"] <= MAX_README
    pictures = list((ROOT / "docs").rglob("*.png"))
    assert len(pictures) <= MAX_PICTURES
    assert all(picture.stat().st_size <= MAX_PICTURE for picture in pictures)
