"""Checks find their problems, and their fixes derive versions without them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.dataset import Mapping, Split
from engine.data.checks import CHECKS
from engine.data.checks.check import SEVERITIES, Finding
from engine.data.checks.fixing import apply_fixes, apply_fixes_by_name, merge_texts
from engine.data.checks.giveaways import without_word
from engine.data.checks.run import cache_findings, read_findings, run_checks
from engine.data.checks.signs import sign_note
from engine.data.columns.numbers import parse_number, plain_numbers
from engine.data.columns.placeholders import find_codes, find_placeholders
from engine.data.datasets.store import Dataset, open_dataset
from engine.errors import StudioError
from engine.progress import Cancelled
from tests.engine.data.importing import import_files, write_lines
from tests.often import tries

LONG = "the quick brown fox jumps over the lazy dog near the old river bank on a summer day {n}"
Rows = list[tuple[str, str, str]]  # text, label, split


def clean_rows(count: int = 60) -> Rows:
    """Rows in which no check finds anything."""
    words = ["amber", "birch", "cedar", "dune", "ember", "fjord"]
    rows = []
    for n in range(count):
        text = f"{words[n % 6]} {words[n // 6 % 6]} number{n} is {words[(n * 5 + n // 7) % 6]}"
        split = "validation" if n % 6 == 0 else "train"
        rows.append((text, "good" if (n * 7 + n // 5) % 2 else "bad", split))
    return rows


CASES: dict[str, Rows] = {
    "leaked_rows": [("A film of note.", "good", "train"), ("a FILM  of note.", "good", "test")],
    "nearly_leaked_rows": [
        (LONG.format(n="now"), "good", "train"),
        (LONG.format(n="then"), "good", "validation"),
    ],
    "label_conflicts": [
        *[("A film of two minds.", "good", "train")] * 2,
        ("A film of two minds.", "bad", "train"),
        ("One more of them.", "good", "train"),
        ("One more of them.", "bad", "train"),
    ],
    "missing_answers": [
        ("It was founded in Rome.", "rome", "train"),
        ("Nobody knows.", "Paris", "train"),
        ("Ann did.", "ANN", "validation"),
    ],
    "label_spellings": [
        ("Something else entirely.", "Good ", "train"),
        ("Or so.", "GOOD", "train"),
    ],
    "label_signs": [("Both of it.", "good|bad", "train")],
    "placeholder_labels": [("So it is.", "-1", "train"), ("Is it so?", "-1", "validation")],
    "rare_labels": [("So it is here.", "odd", "train"), ("And not there.", "strange", "train")],
    "absent_labels": [(f"It is odd, number {n}.", "odd", "train") for n in range(12)],
    "giveaways": [(f"review{n} spoiler", "secret", "train") for n in range(25)],
    "outlying_numbers": [("A house of note.", "99999", "train"), ("A hut.", "-9999", "train")],
    "exact_duplicates": [("A film of note.", "good", "train")] * 3,
    "near_duplicates": [(LONG.format(n=n), "good", "train") for n in ("now", "then")],
    "text_lengths": [("", "good", "train"), (" ".join(["ab", "cd", "ef"] * 200), "bad", "train")],
    "broken_texts": [
        ("A cafÃ© in Paris â€œtodayâ€\x9d", "good", "train"),
        ("Rock &amp; roll<br />for all", "good", "train"),
        ("Lost \ufffd\ufffd here", "bad", "train"),
    ],
    "mixed_scripts": [("A gооd film", "good", "train"), ("Это хороший фильм", "good", "train")],
}


QUESTIONS = Mapping(text="question", pair="text", answers="label")


def question_rows(count: int = 60) -> Rows:
    """Rows whose passage has the answer."""
    return [(text, text.split()[2], split) for text, _, split in clean_rows(count)]


def scored_rows(count: int = 60) -> Rows:
    """Rows with numbers on a scale."""
    return [(text, str(n * 0.3), split) for n, (text, _, split) in enumerate(clean_rows(count))]


def store(folder: Path, rows: Rows, mapping: Mapping | None = None) -> Dataset:
    folder.mkdir(exist_ok=True)
    file = folder / "rows.jsonl"
    names = ("text", "label", "part")
    extra = [{} if mapping != QUESTIONS else {"question": f"What is it, {row[0]}?"} for row in rows]
    pairs = zip(rows, extra, strict=True)
    lines = (json.dumps(dict(zip(names, row, strict=True)) | more) for row, more in pairs)
    mapping = mapping or Mapping(text="text", label="label")
    return import_files(write_lines(file, *lines), folder / "x/1", Split(column="part"), mapping)


def select(check: str, findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.check == check]


def test_clean_data_has_no_findings(tmp_path):
    assert run_checks(store(tmp_path / "classes", clean_rows())) == []
    assert run_checks(store(tmp_path / "questions", question_rows(), QUESTIONS)) == []
    assert run_checks(store(tmp_path / "numbers", scored_rows())) == []


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_finds_its_case_and_its_fixes_reduce_it(tmp_path, check):
    if check == "missing_answers":
        dataset = store(tmp_path, question_rows() + CASES[check], QUESTIONS)
    else:
        rows = scored_rows() if check == "outlying_numbers" else clean_rows()
        dataset = store(tmp_path, rows + CASES[check])
    findings = select(check, run_checks(dataset))
    assert findings
    count = sum(finding.count for finding in findings)
    for finding in findings:
        assert finding.severity in SEVERITIES and finding.count > 0
        assert set(finding.rows.tolist()) <= set(range(60, len(dataset)))
        for number, fix in enumerate(finding.fixes):
            into = tmp_path / "fixed" / f"{finding.sentence[:20]}{number}"
            spec = apply_fixes([fix], dataset.folder, into, 2)
            remaining = select(check, run_checks(open_dataset(into)))
            assert sum(finding.count for finding in remaining) < count
            assert spec.made_from == 1 and spec.changes
    assert open_dataset(dataset.folder).spec == dataset.spec, "the old version is unchanged"


@pytest.mark.parametrize("equal, wild", [("5.5", "5000"), ("0.30000000000000004", "-99")])
def test_a_wild_number_is_found_among_numbers_that_are_nearly_all_equal(tmp_path, equal, wild):
    """Few other numbers of the same size are no outliers, and neither is rounding."""
    usual = [("a house", equal, "train")] * 600 + [("a hut", equal[:3], "train")] * 400
    others = [("one more", str(1 + n / 100), "train") for n in range(28)]
    dataset = store(tmp_path, [*usual, *others, ("a tent", wild, "train")])
    found = select("outlying_numbers", run_checks(dataset))
    assert [finding.rows.tolist() for finding in found] == [[1028]]


def test_findings_name_rows_and_counts(tmp_path):
    dataset = store(tmp_path, clean_rows() + CASES["label_conflicts"])
    (finding,) = select("label_conflicts", run_checks(dataset))
    assert finding.count == 5 and finding.rows.tolist() == [60, 61, 62, 63, 64]
    majority, several, drop = finding.fixes
    assert majority.cells == {62: {"label": "good"}} and majority.dropped.tolist() == [63, 64]
    assert drop.dropped.tolist() == [60, 61, 62, 63, 64]
    assert several.dropped.tolist() == [61, 62, 64]
    assert {row: set(cells["label"].split("|")) for row, cells in several.cells.items()} == {
        60: {"good", "bad"},
        63: {"good", "bad"},
    }


def test_answers_are_spelled_as_in_the_passage_or_dropped(tmp_path):
    test_row = ("It was found in Oslo.", "Bergen", "test")
    dataset = store(tmp_path, [*question_rows(), *CASES["missing_answers"], test_row], QUESTIONS)
    assert dataset.spec.missing_answers == 3, "training does not read the test rows"
    assert any("does not contain: 4 times" in note for note in dataset.spec.notes)
    spelled, missing = select("missing_answers", run_checks(dataset))
    assert spelled.rows.tolist() == [60, 62] and missing.rows.tolist() == [61, 63]
    fixes = [spelled.fixes[0], missing.fixes[0]]
    spec = apply_fixes(fixes, dataset.folder, tmp_path / "fixed", 2)
    assert spec.missing_answers == 0 and not any("does not contain" in note for note in spec.notes)
    remaining = open_dataset(tmp_path / "fixed").take(np.array([60, 61]), ("label",))
    assert [row["label"] for row in remaining] == ["Rome", "Ann"]


@pytest.mark.parametrize(
    "cells, sentence, fixes",
    [
        (
            [f"{n},{100 + n}" for n in range(1, 31)],
            "The comma in “1,101” may be a decimal comma or separate thousands.",
            {
                "thousands: Thousands: “1,101” as “1101”": "1101",
                "decimals: Decimal comma: “1,101” as “1.101”": "1.101",
            },
        ),
        (
            [f"{n},5" for n in range(30)],
            "“0,5” is read as the number 0.5.",
            {
                "thousands: Thousands: “0,5” as “05”": "05",
                "decimals: Decimal comma: “0,5” as “0.5”": "0.5",
            },
        ),
        (
            ["Austin, TX", "Dallas, TX"] * 15,
            "“Austin, TX” is read as one label.",
            {'several: Several labels: “Austin, TX” as “["Austin", "TX"]”': '["Austin", "TX"]'},
        ),
        (
            ["2,23", "2", "23"] * 10,
            "“2,23” is read as 2 labels: 2 · 23. Text classification reads it as one.",
            {"one: One label: “2,23” as “2 · 23”": "2 · 23"},
        ),
        (
            [f"{n}.{100 + n}" for n in range(1, 31)],
            "“1.101” is read as the number 1.101.",
            {"thousands: Thousands: “1.101” as “1101”": "1101"},
        ),
        (
            ["2,5", *(f"{n}.{100 + n}" for n in range(1, 31))],
            "The comma in numbers is ambiguous: “2,5”, but “1.101”.",
            {
                "thousands: Thousands: “2,5” as “25”": "25",
                "decimals: Decimal comma: “2,5” as “2.5”": "2.5",
            },
        ),
        (
            ["4.5 stars", "1 star", "5 stars"] * 10,
            "“4.5 stars” is read as a label, not as a number.",
            {"numbers: Numbers: “4.5 stars” as “4.5”": "4.5"},
        ),
        (
            ["1,3", "1,7", "2,0", "3", "2,3", "1"] * 5,
            "“1,3” is read as one label.",
            {
                "decimals: Decimal comma: “1,3” as “1.3”": "1.3",
                'several: Several labels: “1,3” as “["1", "3"]”': '["1", "3"]',
            },
        ),
        (
            ["joy & fear", "joy", "fear"] * 10,
            "“joy & fear” is read as one label.",
            {'several: Several labels: “joy & fear” as “["joy", "fear"]”': '["joy", "fear"]'},
        ),
        (
            ["c#|java", "java", "c#"] * 10,
            "“c#|java” is read as 2 labels: c# · java. Text classification reads it as one.",
            {"one: One label: “c#|java” as “c# · java”": "c# · java"},
        ),
        (
            ["[0, 1, 1]", "[0, 0, 1]"] * 15,
            "“[0, 1, 1]” is read as yes or no for each label, named by its position from 0: 1 · 2.",
            {},
        ),
    ],
)
def test_the_reading_of_a_sign_is_said_and_chosen_by_a_fix(tmp_path, cells, sentence, fixes):
    rows = [(f"row {n} about it", cell, "train") for n, cell in enumerate(cells)]
    (finding,) = select("label_signs", run_checks(store(tmp_path, rows)))
    assert finding.sentence == sentence and 0 in finding.rows.tolist()
    for fix, (name, cell) in zip(finding.fixes, fixes.items(), strict=True):
        assert f"{fix.name}: {fix.title}" == name
        folder = tmp_path / fix.name
        apply_fixes([fix], tmp_path / "x" / "1", folder, 2)
        assert open_dataset(folder).take(np.array([0]), ("label",))[0]["label"] == cell


def test_many_spellings_and_labels_are_summarised_in_few_findings(tmp_path):
    rows = [(f"text {n}", f"{'Label' if n % 2 else 'label'} {n // 2}", "train") for n in range(60)]
    findings = run_checks(store(tmp_path, rows))
    *single, summary = select("label_spellings", findings)
    assert len(single) == 20 and sum(finding.count for finding in single) == 20
    assert summary.sentence.startswith("10 more labels are written") and summary.count == 10
    spec = apply_fixes([summary.fixes[0]], tmp_path / "x" / "1", tmp_path / "fixed", 2)
    assert len(spec.labels) == 50
    (rare,) = select("rare_labels", findings)
    assert rare.count == 60 and "54 more" in rare.sentence


def test_a_broken_encoding_is_repaired(tmp_path):
    dataset = store(tmp_path, clean_rows() + CASES["broken_texts"])
    mojibake, lost, html = select("broken_texts", run_checks(dataset))
    assert mojibake.fixes[0].cells == {60: {"text": "A café in Paris “today”"}}
    assert html.fixes[0].cells == {61: {"text": "Rock & roll for all"}}
    assert lost.rows.tolist() == [62]


def test_a_word_that_gives_the_label_away_is_reported(tmp_path):
    (finding,) = select("giveaways", run_checks(store(tmp_path, clean_rows() + CASES["giveaways"])))
    assert "“spoiler” alone predicts the label “secret”" in finding.sentence
    assert finding.rows.tolist() == list(range(60, 85))
    assert finding.fixes[0].cells[60] == {"text": "review0"}


@pytest.mark.parametrize(
    "text, word, expected",
    [
        ("Good (SPOILER), but long.", "spoiler", "Good but long."),
        ("Spoiler: it rains\nand\tsnows", "spoiler", "it rains\nand\tsnows"),
        ("no spoilers here ", "spoiler", "no spoilers here "),
        ("\uff33\uff30\uff2f\uff29\uff2c\uff25\uff32 first", "spoiler", "first"),
        ("\u6771\u4eac\u90fd", "\u4eac", "\u6771\u90fd"),
    ],
)
def test_a_word_is_removed_from_a_text(text, word, expected):
    assert without_word(text, word) == expected


def test_fixes_of_different_words_of_a_text_are_all_applied(tmp_path):
    rows = [(f"A cafÃ© &amp; review{n} spoiler hint", "secret", "train") for n in range(25)]
    store(tmp_path, clean_rows() + rows)
    findings = run_checks(open_dataset(tmp_path / "x" / "1"))
    fixes = {(finding.check, fix.name) for finding in findings for fix in finding.fixes}
    expected = fixes & {("giveaways", "remove-spoiler"), ("giveaways", "remove-hint")}
    assert len(expected) == 2
    repair = {("broken_texts", "repair")}
    apply_fixes_by_name(expected | repair, tmp_path / "x" / "1", tmp_path / "x" / "2", 2)
    (row,) = open_dataset(tmp_path / "x" / "2").take(np.array([60]), ("text",))
    assert row == {"text": "A café &amp; review0"}


@pytest.mark.parametrize(
    "first, second, merged",
    [
        ("a b d e", "a b c d", "a b d"),
        ("x b c d e", "a b c d y", "x b c d y"),
        ("a b c d e f", "b c d e", "b c d e f"),
        ("a x c d e", "a y c d e", "a y c d e"),
    ],
)
def test_two_changes_of_a_text_are_merged(first, second, merged):
    assert merge_texts("a b c d e", first, second) == merged


def test_a_column_that_gives_the_label_away_is_reported(tmp_path):
    rows = [(text, label, f"x{label}") for text, label, _ in clean_rows(200)]
    lines = [f"{text},{label},{n * 3 % 200},{other}" for n, (text, label, other) in enumerate(rows)]
    file = write_lines(tmp_path / "rows.csv", "text,label,id,source", *lines)
    dataset = import_files(file, tmp_path / "x", mapping=Mapping(text="text", label="label"))
    (finding,) = select("giveaways", run_checks(dataset))
    assert "column “source” alone predicts the label" in finding.sentence and not len(finding.rows)


def test_tagged_rows_and_questions_are_checked(tmp_path):
    tags = [("Ada saw Paris", "B-person O B-place", "train"), ("Ada saw Paris", "O O O", "train")]
    tagged = store(tmp_path, tags, Mapping(text="text", tags="label"))
    assert select("label_conflicts", run_checks(tagged))[0].rows.tolist() == [0, 1]


def test_findings_are_cached_by_fingerprint(tmp_path):
    cases = [row for rows in CASES.values() for row in rows]
    findings = run_checks(store(tmp_path, clean_rows() + cases))
    assert read_findings(tmp_path, "abc") is None
    cache_findings(tmp_path, "abc", findings)
    cached = read_findings(tmp_path, "abc")
    assert cached is not None and len(cached) == len(findings)
    for old, new in zip(findings, cached, strict=True):
        assert (old.check, old.count, old.sentence) == (new.check, new.count, new.sentence)
        assert (old.rows == new.rows).all()
        for fix, other in zip(old.fixes, new.fixes, strict=True):
            assert (fix.title, fix.change, fix.cells) == (other.title, other.change, other.cells)
            assert fix.spellings == other.spellings and (fix.dropped == other.dropped).all()
            assert (fix.moved == other.moved).all() and (fix.moved_to == other.moved_to).all()
    for file in (tmp_path / "checks").rglob("*.json"):
        file.write_text("[{}]")
    assert read_findings(tmp_path, "abc") is None, "a damaged cache is ignored"


def test_checks_report_progress_and_can_be_cancelled(tmp_path):
    dataset = store(tmp_path, clean_rows())
    progress: list[tuple[int, int]] = []
    run_checks(dataset, lambda done, total: progress.append((done, total)))
    assert progress == sorted(progress) and progress[-1][0] >= 0.95 * progress[-1][1]
    with pytest.raises(Cancelled):
        run_checks(dataset, cancelled=lambda: len(progress) > 3)


def test_a_new_random_split_keeps_copies_together(tmp_path):
    texts = [LONG.format(n=f"number {n // 2} {'now' if n % 2 else 'then'}") for n in range(80)]
    texts = [text.replace("fox", f"fox{n // 2}") for n, text in enumerate(texts)]
    texts = [text.replace("day", f"day{n // 2}") for n, text in enumerate(texts)]
    lines = (f"{text},{n // 2 % 2}" for n, text in enumerate(texts))
    file = write_lines(tmp_path / "rows.csv", "text,label", *lines)
    (finding,) = select("nearly_leaked_rows", run_checks(import_files(file, tmp_path / "x" / "1")))
    fix = finding.fixes[-1]
    assert fix.title == "Split again, duplicates together"
    spec = apply_fixes([fix], tmp_path / "x" / "1", tmp_path / "x" / "2", 2)
    assert not select("nearly_leaked_rows", run_checks(open_dataset(tmp_path / "x" / "2")))
    assert spec.rows["validation"] == 8


def test_a_fix_that_leaves_no_training_rows_is_refused(tmp_path):
    rows = [("", "good", "train")] * 3 + [("A film.", "good", "validation")]
    dataset = store(tmp_path, rows)
    (empty,) = select("text_lengths", run_checks(dataset))
    with pytest.raises(StudioError, match="No training row is left"):
        apply_fixes([empty.fixes[0]], dataset.folder, tmp_path / "x" / "2", 2)
    assert np.array_equal(open_dataset(dataset.folder).splits, dataset.splits)


@pytest.mark.parametrize(
    "count, severity, message",
    [(550, "note", "truncated to 512 tokens"), (6_000, "warning", "84 % of all")],
)
def test_a_row_with_most_of_the_words_is_a_warning(tmp_path, count, severity, message):
    rows = [(f"A film number {n} of many that are long.", "good", "train") for n in range(60)]
    dataset = store(tmp_path, [*rows, ("word " * count, "bad", "train")])
    (finding,) = select("text_lengths", run_checks(dataset))
    assert (finding.severity, message in finding.sentence) == (severity, True), finding.sentence


def test_labels_absent_from_validation_are_moved_there(tmp_path):
    odd = [(f"It is odd, number {n}.", "odd", "train") for n in range(12)]
    twins = [("Said twice.", "twin", "train")] * 2
    dataset = store(tmp_path, clean_rows() + odd + twins)
    (finding,) = select("absent_labels", run_checks(dataset))
    assert "“odd”, “twin”" in finding.sentence and len(finding.rows) == 14
    (fix,) = finding.fixes
    assert len(fix.moved) == round(12 * 10 / 74), "equal texts stay in one split"
    apply_fixes([fix], dataset.folder, tmp_path / "x" / "2", 2)
    (remaining,) = select("absent_labels", run_checks(open_dataset(tmp_path / "x" / "2")))
    assert "“odd”" not in remaining.sentence and not remaining.fixes
    only_train = [(text, label, "train") for text, label, _ in clean_rows()]
    findings = run_checks(store(tmp_path / "none", only_train))
    assert not select("absent_labels", findings), "no validation rows is another problem"


@pytest.mark.parametrize("labels", [("+", "-"), ("-", "a"), ("0", "1"), ("?", ".", "yes", "no")])
def test_signs_among_signs_are_labels(labels, tmp_path):
    rows = [(f"text {n} of {n % 7}", label, "train") for n, label in enumerate(labels * 20)]
    checks = {finding.check for finding in run_checks(store(tmp_path / "d", rows))}
    assert "placeholder_labels" not in checks


LABELS = st.sampled_from(["4.5 stars", "[0, 1, 1]", "a & b", "1.234", "1,5", "a;b", "", "a"])
SIGNS = st.text("0159.,;:/&+- []%kga'\"{}|#−", max_size=8)


@given(st.dictionaries(LABELS | SIGNS, st.integers(1, 3), max_size=8))
@tries(200)
def test_the_reading_of_any_labels_can_be_said(labels):
    assert isinstance(sign_note(labels), str)
    assert {*find_codes(labels), *find_placeholders(labels)} <= labels.keys()
    plain = plain_numbers(labels) or {}
    assert all(parse_number(number) is not None for number in plain.values())
