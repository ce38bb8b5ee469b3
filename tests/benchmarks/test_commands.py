"""Every benchmark has a command in the table of benchmarks/README.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = re.compile(
    r"\| `python benchmarks/(\w+\.py)[^`]*` \| .+ \| \[(\w+\.md)\]\(\.\./docs/(\w+\.md)\) \|"
)


def test_each_stands_in_the_table_once_and_in_the_document_of_its_figures() -> None:
    lines = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8").splitlines()
    rows = [found.groups() for line in lines if (found := TABLE.fullmatch(line))]
    files = [file for file in (ROOT / "benchmarks").glob("*.py") if "__main__" in file.read_text()]
    assert sorted(name for name, *_ in rows) == sorted(file.name for file in files)
    for _, title, document in rows:
        assert title == document
        assert (ROOT / "docs" / document).exists(), document
