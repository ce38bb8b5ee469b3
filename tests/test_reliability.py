"""RELIABILITY.md and FINDINGS.md have a line for each fault, and the tests they name are there."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
PAGE = (DOCS / "RELIABILITY.md").read_text(encoding="utf-8")
FINDINGS = (DOCS / "FINDINGS.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| \d×\d \| [^|]+ \| [^|]+ \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)
FINDING = re.compile(r"^\| (\d+) \| [^|]+ \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
NAME = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
FILE = re.compile(r"`((?:[\w/]+/)?test_\w+\.py)`")


def test_every_fault_has_a_line_that_says_how_it_stands() -> None:
    rows = ROW.findall(PAGE)
    assert [int(row[0]) for row in rows] == list(range(1, 65))
    for number, state, held in rows:
        assert state in ("met", "in part", "not met", "not here"), number
        assert bool(NAME.findall(held)) == (state in ("met", "in part")), number


def test_every_finding_has_a_line_with_its_tests() -> None:
    rows = FINDING.findall(FINDINGS)
    assert [int(row[0]) for row in rows] == list(range(1, 73))
    for number, held in rows:
        files = FILE.findall(held)
        assert NAME.findall(held) or files, number
        assert all((TESTS / file).is_file() for file in files), number


@pytest.mark.parametrize("page", [PAGE, FINDINGS], ids=["reliability", "findings"])
def test_every_test_that_is_named_is_there(page: str) -> None:
    named = set(NAME.findall(page))
    there = {
        (file, name)
        for file in {file for file, _ in named}
        for name in re.findall(
            r"^def (test_\w+)\(", (TESTS / file).read_text("utf-8"), re.MULTILINE
        )
    }
    assert named - there == set()
