"""Untrusted text in sentences and on the terminal: visible, on one line, and not too long."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.cli import main
from engine.cli.progress import ProgressLine
from engine.data.formats.rows import Remarks
from engine.errors import BadFile, StudioError
from engine.messages.events import Ended, Noted
from engine.phrases import Phrase, phrase, render
from engine.system.terminal import echo, echo_error, echo_json
from engine.visible import SENTENCE_CHARACTERS, concise, one_line, visible

HOSTILE = "a\x1b[2Jb\u202ec\x9bd\ud800e"
ESCAPED = r"a\x1b[2Jb\u202ec\x9bd\ud800e"


def test_terminal_control_characters_are_escaped():
    assert visible(HOSTILE + "\n\té\u3000न\u200dम") == ESCAPED + "\n\té\u3000न\u200dम"
    assert one_line("a\nb\tc\r") == r"a\nb\tc\x0d"


def test_the_terminal_gets_no_foreign_escape_sequence(capsys):
    echo(HOSTILE)
    echo_error(HOSTILE)
    echo_error("two", "lines\nin three")
    echo_json({"name": HOSTILE, "emoji": "😀"})
    out, err = capsys.readouterr()
    written, printed = out.splitlines()
    assert err.splitlines() == [ESCAPED, "two", r"lines\nin three"]
    assert written == ESCAPED
    assert json.loads(printed) == {"name": HOSTILE, "emoji": "😀"}
    assert printed.isprintable() and "😀" in printed


def test_the_progress_line_escapes_notes_of_a_run(capsys):
    ProgressLine(sys.stdout).on_event(
        Noted(at=datetime(2030, 1, 1, tzinfo=UTC), text=HOSTILE + "\nx")
    )
    assert capsys.readouterr().out == ESCAPED + r"\nx" + "\n"


def test_no_command_prints_the_escape_sequences_of_a_file(capsys, tmp_path):
    data = tmp_path / "name\x1b[31m.csv"
    data.write_text("a\x1b[2J,b\u202e\n1,2\n3,4\n", encoding="utf-8")
    for arguments in (
        ["check", str(data)],
        ["evaluate", str(data), "--model", str(tmp_path / "no\x1b[5m")],
        ["predict", str(data), "--model", "no", "--out", str(tmp_path / "o\x9b.csv")],
        ["job", "--data", str(data), "--text", "c\x1b]0;x\x07"],
    ):
        main(arguments)
        captured = "".join(capsys.readouterr())
        assert captured and all(line.isprintable() for line in captured.splitlines())


@pytest.mark.parametrize(
    "error",
    [
        StudioError("x" * 400_000),
        StudioError(phrase("“{name}” is wrong.", name="x" * 400_000), "y" * 400_000),
        StudioError(phrase("Wrong."), phrase("Choose: {all}.", all=", ".join(["name"] * 9_999))),
        BadFile(Path("f" * 255), phrase("it has no “{name}”.", name="z" * 999), "y" * 200),
    ],
)
def test_a_refusal_is_short_and_the_rest_is_in_its_details(error):
    assert len(str(error)) <= SENTENCE_CHARACTERS
    assert len(error.details) > SENTENCE_CHARACTERS
    assert len(error.details) <= 100_000


def test_a_long_name_is_cut_and_the_sentence_can_still_be_translated():
    error = StudioError(
        phrase("“{name}” is wrong.", name="<" + "x" * 999 + ">"), phrase("Choose another.")
    )
    assert isinstance(error.problem, Phrase) and error.advice == "Choose another."
    german = render(error.problem, lambda key, _: key.replace("is wrong", "ist falsch"))
    assert german.startswith("“<xxx") and german.endswith("xxx>” ist falsch.")


def test_a_short_sentence_is_unchanged():
    text = phrase("{count} rows of {file}.", count=3, file="a.csv")
    assert concise(text)[0] is text
    assert StudioError(text).details == ""


def test_a_remark_on_a_long_name_is_short():
    remarks = Remarks()
    remarks.count(phrase("Row without “{key}”", key="k" * 10_000), 3)
    (sentence,) = remarks.sentences()
    assert len(sentence) <= SENTENCE_CHARACTERS and "line 3" in sentence


def test_texts_of_a_foreign_run_are_short_and_visible():
    event = Ended.model_validate(
        {
            "at": "2030-01-01T00:00:00Z",
            "outcome": "failed",
            "problem": "x\x1b[2J" + "y" * 400_000,
            "advice": {"key": "Choose {name}.", "args": {"name": "z" * 400_000}},
        }
    )
    assert len(event.problem) <= SENTENCE_CHARACTERS >= len(event.advice)
    assert event.problem.startswith(r"x\x1b[2Jyyy") and event.problem.isprintable()
    assert isinstance(event.advice, Phrase) and event.advice.key == "Choose {name}."
