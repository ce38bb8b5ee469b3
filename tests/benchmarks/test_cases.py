"""Every benchmark case is listed and has a working help text."""

from pathlib import Path

import pytest

from benchmarks.__main__ import CASES, main

README = Path(__file__).parents[2] / "benchmarks" / "README.md"


def test_every_case_is_in_the_table_and_has_help(capsys):
    rows = README.read_text(encoding="utf-8").splitlines()
    for name, case in CASES.items():
        assert f"| `{name}` | {case.description} |" in rows
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0
        assert f"usage: python -m benchmarks {name} " in capsys.readouterr().out


def test_without_a_case_all_are_listed(capsys):
    main([])
    listed = capsys.readouterr().out
    assert all(case.description in listed for case in CASES.values())
    with pytest.raises(SystemExit, match="No case “nothing”"):
        main(["nothing"])


def test_options_after_a_part_are_passed_to_it(capsys):
    with pytest.raises(SystemExit):
        main(["quality", "night", "--help"])
    assert "usage: python -m benchmarks quality night " in capsys.readouterr().out
