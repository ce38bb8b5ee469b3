"""The commands for every night run as they are shown."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import mslex
import pytest

import engine.cli as cli
from engine.config.dataset import Mapping
from engine.documents.nightly import CODE, EXIT_CODES, Nightly, cron_line, scheduled_task


@pytest.mark.skipif(sys.platform == "win32", reason="cron")
def test_the_line_for_cron_writes_the_predictions_and_its_exit_code_says_what_happened(
    tuned, tmp_path
):
    file = tmp_path / "100 % new's.csv"
    file.write_text("id,body\n1,a lovely film\n2,a dull film\n", encoding="utf-8")
    model, out = tuned("text_classification").checkpoint, tmp_path / "100 % new's-predicted.csv"
    nightly = Nightly(model, file, out, 0.8, 3, 30, Mapping(text="body"))
    line = cron_line(nightly)
    assert line.startswith("30 3 * * * ") and "\n" not in line
    assert "%" not in line.replace("\\%", ""), "cron ends the command at a bare %"
    command = line.removeprefix("30 3 * * * ").replace("\\%", "%")
    assert subprocess.run(["sh", "-c", command]).returncode == 0
    with open(out, encoding="utf-8", newline="") as written:
        rows = list(csv.DictReader(written))
    assert [row["id"] for row in rows] == ["1", "2"] and {"label", "unsure"} <= rows[0].keys()
    log = out.with_suffix(".log")
    assert "2 rows written to" in log.read_text()
    file.unlink()
    assert subprocess.run(["sh", "-c", command]).returncode == cli.WRONG_INPUT
    assert file.name in log.read_text().splitlines()[-1]


def test_the_task_of_windows_has_the_same_command(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", r"C:\Program Files\BERT Studio\bert-studio.exe")
    nightly = Nightly(Path("C:/it's/model"), Path("D:/new texts.csv"), Path("D:/out.xlsx"))
    program, *arguments = nightly.command()
    assert "--threshold" not in arguments, "the one stored with the model"
    assert nightly._replace(threshold=0.0).command()[-2:] == ["--threshold", "0"], "none"
    assert arguments[:2] == ["predict", str(nightly.data)]
    text = scheduled_task(nightly, "BERT Studio: it's")
    assert "-TaskName 'BERT Studio it''s'" in text and "-Daily -At 02:00" in text
    assert f"-Execute '{program}'" in text and f"-WorkingDirectory '{CODE}'" in text
    quoted = text.split("-Argument '")[1].split("' -WorkingDirectory")[0].replace("''", "'")
    assert quoted == subprocess.list2cmdline(arguments)


ODD = (  # names of files, folders, columns and models
    *("plain", "two words", "it's", "it’s", "‘quoted’", "‚low‛", "“double”", "''", "’'’"),
    *("50 %", "%TEMP%", "$HOME", "$(Get-Date)", "`n", "a;b", "a & b", "a|b", "#a", "@a", "--%"),
    *("(a)", "{a}", "[a]", "a,b", "a\\", "two words\\", 'say "hi"', '\\"', "ä ß 語 🚢", "-out"),
)
QUOTE = "['‘’‚‛]"
VERBATIM = re.compile(f"{QUOTE}((?:[^'‘’‚‛]|{QUOTE}{{2}})*){QUOTE}")


def verbatim_strings(text: str) -> list[str]:
    """The verbatim strings of a PowerShell command, by the grammar of [MS-PSLS] 2.3.5.2."""
    return [re.sub(f"{QUOTE}({QUOTE})", r"\1", part) for part in VERBATIM.findall(text)]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_reach_the_program_through_powershell_and_the_task_scheduler(name):
    """PowerShell reads the strings, and Windows splits the one with the arguments."""
    mapping = Mapping(text=name)
    nightly = Nightly(Path(f"/m/{name}"), Path(f"/d/{name}.csv"), Path(f"/o/{name}.csv"))
    nightly = nightly._replace(mapping=mapping)
    task = scheduled_task(nightly, f"BERT Studio: {name}")
    title, program, arguments, folder = verbatim_strings(task)
    assert [program, *mslex.split(f"x {arguments}", like_cmd=False)[1:]] == nightly.command()
    assert folder == str(CODE) and not set(title) & set('\\/:*?"<>|'), "no name of a file"
    outside = VERBATIM.sub("", task)
    assert not set(outside) & set("'‘’‚‛\"$;&|%"), "nothing else of the names"
    assert " ".join(outside.split()) == (
        "Register-ScheduledTask -TaskName ` -Trigger (New-ScheduledTaskTrigger -Daily -At 02:00) `"
        " -Action (New-ScheduledTaskAction -Execute -Argument -WorkingDirectory )"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="cron")
@pytest.mark.parametrize("name", ODD)
def test_odd_names_reach_the_program_through_cron_and_the_shell(name, monkeypatch, tmp_path):
    show = tmp_path / "show"
    show.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\n")
    show.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(show))
    nightly = Nightly(Path("/m"), Path(f"/d/{name}.csv"), tmp_path / "o.csv", mapping=None)
    nightly = nightly._replace(mapping=Mapping(text=name))
    line = cron_line(nightly).removeprefix("0 2 * * * ")
    assert subprocess.run(["sh", "-c", line.replace("\\%", "%")]).returncode == 0
    assert (tmp_path / "o.log").read_text() == f"{nightly.command()[1:]}\n"


def test_every_exit_code_is_explained():
    codes = {0, cli.WRONG_INPUT, cli.WRONG_USAGE, cli.BUG, cli.CANCELLED}
    assert set(EXIT_CODES) == codes
