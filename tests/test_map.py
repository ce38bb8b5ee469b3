"""The map of folders in docs/ARCHITECTURE.md names files where they are."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("app", "engine", "tests", "tools", "benchmarks", "packaging")
TEXT = 20  # where the sentences of the map begin
HEADS = re.compile(r"( *)((?:[\w./]+/|\w+\.py)(?: \w+\.py)*)(?= |$)")


def named() -> Iterator[tuple[Path, str]]:
    """Each file at the head of a line, with the folder that it stands below; and each folder."""
    text = (ROOT / "docs/ARCHITECTURE.md").read_text(encoding="utf-8")
    block = text.partition("## Folders")[2].split("```")[1]
    above: list[tuple[int, Path]] = []
    for line in block.splitlines():
        match = HEADS.match(line)
        if match is None or len(match[1]) >= TEXT:
            continue
        indent, names = len(match[1]), match[2].split()
        while above and above[-1][0] >= indent:
            above.pop()
        folder = above[-1][1] if above else ROOT
        if names[0].endswith("/"):
            above.append((indent, folder / names[0]))
        for name in names:
            yield folder, name


def test_the_map_names_files_and_folders_that_are_there() -> None:
    found = list(named())
    assert len(found) > 150
    gone = [f"{folder.relative_to(ROOT)}/{name}" for folder, name in found
            if not (folder / name).exists()]  # fmt: skip
    assert gone == []


def test_the_map_names_every_file_that_stands_directly_in_the_engine() -> None:
    names = {name for folder, name in named() if folder == ROOT / "engine"}
    assert {file.name for file in (ROOT / "engine").glob("[!_]*.py")} <= names


def test_every_page_names_files_that_are_there() -> None:
    """All but the walks in ARCHITECTURE.md, which tell of an earlier floor plan as well."""
    files = {file.as_posix() for part in PARTS for file in (ROOT / part).rglob("*.py")}
    files |= {file.as_posix() for file in ROOT.glob("*.py")}
    pages = {ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")}
    named = [
        (page.name, name)
        for page in sorted(pages - {ROOT / "docs/ARCHITECTURE.md"})
        for name in re.findall(r"`([a-z0-9_/]+\.py)\b", page.read_text(encoding="utf-8"))
    ]
    assert len(named) > 100
    assert [each for each in named if not any(file.endswith(f"/{each[1]}") for file in files)] == []
