"""Filter sentences: meaning, errors, completions."""

from dataclasses import replace
from typing import Any

import pytest

from app.pages.runs.columns import all_columns, column_info
from app.pages.runs.rows import RunRow, read_rows
from app.pages.runs.sentence import (
    column_name,
    comparison,
    completions,
    is_sentence,
    parse,
    parse_quantity,
    quote,
)
from engine.config.tasks.token_classification import TokenClassification
from tests.engine.runs import fake_worker


@pytest.fixture
def rows(studio, make_run) -> list[RunRow]:
    job = fake_worker.job("tags")
    make_run("first")
    make_run("second one", step=7, outcome="failed")
    make_run(
        "tags",
        job=job.model_copy(update={"task": TokenClassification()}),
        step=0,
        outcome="stopped",
    )
    by_name = {row.name: row for row in read_rows(studio.record)}
    first, second, tags = (by_name[name] for name in ("first", "second one", "tags"))
    first.measured["validation_accuracy@at best"] = 0.8
    second.measured["validation_accuracy@at best"] = 0.6
    return [replace(first, measured=first.measured, tags=("paper", "ward 7")), second, tags]


def test_a_sentence_selects_runs(rows):
    for sentence, names in [
        ("task is NER", "tags"),
        ("task is token classification", "tags"),
        ("task is not NER", "first second"),
        ("accuracy > 0.7", "first"),
        ("acc >= 60 %", "first second"),
        ("accuracy > 0.9 or state is failed", "second"),
        ("state = failed and accuracy < 0.7", "second"),
        ("not (state is failed)", "first tags"),
        ("learning rate = 5e-5", "first second tags"),
        ("learning rate = 0.00005 and name is first", "first"),
        ("training.learning_rate > 1e-4", ""),
        ('name is "second one"', "second"),
        ("name contains ON", "second"),
        ("name does not contain on", "first tags"),
        ("tags is ward 7", "first"),
        ("tags is empty", "second tags"),
        ("tags is not empty", "first"),
        ("state in (failed, finished)", "first second"),
        ("state not in (failed, finished)", "tags"),
        ("gradient checkpointing is off", "first second tags"),
        ("gradient checkpointing is on", ""),
        ("accuracy is empty", "tags"),
        ("started > 2020-01", "first second tags"),
        ("started < 2020-01-31", ""),
        ("batch size > 16 and batch size < 33", "first second tags"),
        ("batch size = 16", ""),
        ("step ≠ 20", "second tags"),
    ]:
        parsed = parse(sentence)
        assert parsed.error is None
        assert " ".join(row.name.split()[0] for row in rows if parsed.test(row)) == names


def test_an_error_is_one_sentence_with_its_position():
    for sentence, expected, position in [
        ("learnin rate = 3", "There is no field “learnin rate”: did you mean “learning rate”?", 0),
        ("task is NER and qqqq > 1", "There is no field “qqqq”.", 16),
        ("accuracy > high", "“high” is not a number, and “Accuracy” needs one.", 11),
        ("name > b", "“b” is not a number: compare texts with “is” or “contains”.", 7),
        ("learning rate", "A comparison must follow “learning rate”", 13),
        ("learning rate =", "A value must follow “learning rate =”.", 15),
        ("(step = 3", "A bracket is not closed: add “)”.", 9),
        ("step = 3 )", "“)” does not belong here", 9),
        ("step = 3 and", "A comparison is missing here", 12),
        ("state in (failed", "A bracket is not closed", 16),
    ]:
        error = parse(sentence).error
        assert error.message.startswith(expected)
        assert error.start == position


def test_plain_words_are_a_search_and_numbers_have_units():
    assert not is_sentence("night of runs")
    assert not is_sentence("")
    assert is_sentence("x is y") and is_sentence("loss<3")
    for text, number in [
        ("3e-5", 3e-5),
        ("1,000", 1000),
        ("70 %", 0.7),
        ("10 min", 600),
        ("-.5", -0.5),
        ("x", None),
    ]:
        assert parse_quantity(text) == (pytest.approx(number) if number is not None else None)
    assert quote("plain words") == "plain words"
    assert quote("this and that") == '"this and that"'
    assert quote("a=b") == '"a=b"'


def test_the_end_of_a_sentence_is_completed(rows):
    for text, expected, completion in [
        ("learn", "field", "learning rate"),
        ("state ", "operator", "is"),
        ("state is f", "value", "failed"),
        ("state is failed ", "conjunction", "and"),
        ("state is failed and tas", "field", "task"),
    ]:
        parsed = parse(text)
        assert parsed.expected == expected
        assert completions(parsed, text, rows)[0] == completion


def test_every_column_has_a_name_and_every_cell_a_sentence(rows):
    odd = replace(rows[1], name='say "and" or (not)', notes="a = b, c", measured={})
    for row in (rows[0], odd):
        for key in all_columns():
            only, none = parse(comparison(key, row)), parse(comparison(key, row, negated=True))
            assert only.error is None and none.error is None, comparison(key, row)
            if '"' not in str(_value(key, row)):  # quotation marks cannot be quoted
                assert only.test(row) and not none.test(row), comparison(key, row)
    for key in all_columns():
        assert parse(f"{key} is empty").error is None
        assert parse(f"{column_name(key)} is empty").error is None


def _value(key: str, row: RunRow) -> Any:
    info = column_info(key)
    return info.row_value(row) if info is not None else None
