"""The fidelity benchmark: equal inputs on both sides, and its table."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.fidelity import ours, results, settings
from engine.data.tokenized.windows import answer_positions, windows
from engine.files.shipped import starter_model
from engine.tokenizers.tokenizer import Tokenizer

questions = pytest.importorskip("benchmarks.fidelity.reference_questions")


def squad(*rows: tuple[str, str, list[tuple[str, int]]]) -> str:
    """A file with a paragraph for each (question, context, answers)."""
    paragraphs = [
        {
            "context": context,
            "qas": [
                {
                    "id": str(number),
                    "question": question,
                    "answers": [{"text": text, "answer_start": start} for text, start in answers],
                    "is_impossible": not answers,
                }
            ],
        }
        for number, (question, context, answers) in enumerate(rows)
    ]
    return json.dumps({"version": "v2.0", "data": [{"title": "", "paragraphs": paragraphs}]})


def test_both_sides_have_equal_windows_and_answers(tmp_path):
    words = ["In", "1066", "the", "Normans,", "un-conquered,", "crossed", "(twice)", "é", "中国"]
    rng = random.Random(7)
    rows = []
    for length in (1, 20, 150, 200, 290, 400):
        context = " ".join(rng.choices(words, k=length))
        span = sorted(rng.sample(range(len(context) + 1), 2))
        rows.append(("Who crossed what?", context, [(context[slice(*span)], span[0])]))
        rows.append(("Who did not?", context, []))
    path = tmp_path / "train.json"
    path.write_text(squad(*rows), encoding="utf-8")

    setting = replace(settings.TASKS["squad2-devhalf"], max_length=200)
    reference = questions.Questions(starter_model(), setting, path)
    examples = iter(reference.examples)
    tokenizer = Tokenizer.from_folder(starter_model())
    count = 0
    for question, context, answers in rows:
        question_tokens, context_tokens = (
            tokenizer.encode(text, max_length=10_000).tokens[1:-1] for text in (question, context)
        )
        offsets = [(token.start, token.end) for token in context_tokens]
        our_windows = windows(
            [token.id for token in question_tokens],
            [token.id for token in context_tokens],
            offsets,
            tokenizer.cls,
            tokenizer.sep,
            max_length=200,
            stride=settings.STRIDE,
        )
        owners = questions._owners(
            list(reference._windows(0, questions.Question(question, context, answers)))
        )
        for number, window in enumerate(our_windows):
            best = {tuple(span) for span in window.offsets[window.is_max_context].tolist()}
            assert best == {span for span, owner in owners.items() if owner == number}
        positions = np.zeros((len(our_windows), 2))
        for text, start in answers:
            positions = answer_positions(our_windows, offsets, start, start + len(text))
        for window, (first, last) in zip(our_windows, positions, strict=True):
            row = next(examples)
            assert row["input_ids"] == window.ids and row["token_type_ids"] == window.segments
            assert (row["start_positions"], row["end_positions"]) == (first, last)
            count += 1
    assert next(examples, None) is None and count > 2 * len(rows)


def test_the_best_answer_is_inside_one_window_or_empty():
    question = questions.Question("Who?", "Ann and Bob", [])
    characters = [None, None, None, (0, 3), (4, 7), (8, 11), None]
    window = questions.Window(0, {}, characters)

    def answer(starts: dict[int, float], ends: dict[int, float], threshold: float = 0.0) -> str:
        logits = [np.array([side.get(index, 0.0) for index in range(7)]) for side in (starts, ends)]
        return questions._answer(question, [(window, *logits)], threshold)

    assert answer({3: 5}, {5: 5}) == "Ann and Bob"
    assert answer({5: 5}, {3: 4, 5: 1}) == "Bob"  # 5 + 1: an end before its start is invalid
    assert answer({0: 9, 3: 5}, {0: 2, 3: 5}) == ""  # 11 for no answer, 10 for Ann
    assert answer({0: 8, 3: 5}, {0: 2, 3: 5}) == "Ann"  # equal: the difference is not above 0
    assert answer({0: 9, 3: 5}, {0: 2, 3: 5}, np.inf) == "Ann"  # as in SQuAD 1.1
    assert answer({1: 9}, {6: 9, 4: 1}) == "and"  # tokens outside the context are no answer


def test_the_table_uses_the_last_run_of_each_seed(tmp_path, capsys, monkeypatch):
    setting = settings.TASKS["codah"]
    settings.data_folder(tmp_path).mkdir()
    for name in (setting.train, *setting.evaluated.values()):
        (settings.data_folder(tmp_path) / name).write_text(name, encoding="utf-8")
    monkeypatch.setitem(settings.TASKS, "codah", replace(setting, epochs=99))
    results.add(tmp_path, "ours", "codah", 1, {"accuracy": 0.99}, 1.0, {})
    monkeypatch.setitem(settings.TASKS, "codah", setting)
    for name in set(settings.TASKS) - {"codah"}:
        monkeypatch.delitem(settings.TASKS, name)
    assert not results.exists(tmp_path, "ours", "codah", 1)
    for side, fractions in (("transformers", (0.9, 0.5, 0.6, 0.7)), ("ours", (0.4, 0.3, 0.2))):
        for seed, fraction in zip((1, 1, 2, 3), fractions, strict=False):
            results.add(tmp_path, side, "codah", seed, {"accuracy": fraction}, 1.0, {})
    assert results.exists(tmp_path, "ours", "codah", 1)
    capsys.readouterr()
    results.main([str(tmp_path)])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == ("| codah | accuracy | 60.00 ± 10.00 | 25.00 ± 7.07 (runs: 2) | -35.00 | yes |")


@pytest.mark.parametrize("outcome", ["finished", "stopped", None])
def test_only_finished_runs_are_evaluated(tmp_path, outcome):
    lines = [{"kind": "started"}, {"kind": "saved", "step": 8}]
    if outcome is not None:
        lines.append({"kind": "ended", "outcome": outcome})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "events.jsonl").write_text(text, encoding="utf-8")
    if outcome == "finished":
        ours._check_finished(tmp_path)
    else:
        with pytest.raises(SystemExit, match="not trained to its end"):
            ours._check_finished(tmp_path)
