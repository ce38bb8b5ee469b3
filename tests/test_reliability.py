"""docs/RELIABILITY.md has a line for every fault, and every test that it names is there."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = (TESTS.parent / "docs" / "RELIABILITY.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| \d×\d \| [^|]+ \| [^|]+ \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)
NAME = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_fault_has_a_line_that_says_how_it_stands() -> None:
    rows = ROW.findall(PAGE)
    assert [int(row[0]) for row in rows] == list(range(1, 65))
    for number, state, held in rows:
        assert state in ("met", "in part", "not met", "not here"), number
        assert bool(NAME.findall(held)) == (state in ("met", "in part")), number


def test_every_test_that_is_named_is_there() -> None:
    named = set(NAME.findall(PAGE))
    there = {
        (file, name)
        for file in {file for file, _ in named}
        for name in re.findall(
            r"^def (test_\w+)\(", (TESTS / file).read_text("utf-8"), re.MULTILINE
        )
    }
    assert named - there == set()
