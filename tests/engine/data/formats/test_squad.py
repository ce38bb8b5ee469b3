"""Questions are read with the positions of their answers; errors name the question."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.formats.lines import Lines
from engine.data.formats.rows import Remarks
from engine.data.formats.squad import Answer, Question, find_nearest, read_squad
from engine.errors import BadFile
from tests.often import tries

CONTEXT = "The cat sat on the mat. 🙂 The cat slept."


def qa(id_: Any = "q1", **fields: Any) -> dict[str, Any]:
    answers = [{"text": "cat", "answer_start": 4}]
    return {"id": id_, "question": "Who sat?", "answers": answers} | fields


def article(*questions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    paragraph = {"context": CONTEXT, "qas": list(questions)}
    return {"title": "Cats", "paragraphs": [paragraph]} | fields


def read(path: Path, content: Any, remarks: Remarks | None = None) -> list[Question]:
    if not isinstance(content, bytes):
        text = content if isinstance(content, str) else json.dumps(content)
        content = text.encode("utf-8")
    path.write_bytes(content)
    return read_squad(Lines(path, "utf-8"), remarks or Remarks())


def document(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"version": "v2.0", "data": [article(*questions)]}


@pytest.mark.parametrize(
    "name, questions, answered, contexts, titles",
    [("dev-v2.0.json", 6078, 2910, 646, 16), ("test-v2.0-noanswers.json", 5915, 0, 570, 20)],
)
def test_published_questions_have_their_known_counts(
    assets, name, questions, answered, contexts, titles
):
    remarks = Remarks()
    questions_read = read_squad(
        Lines(assets / "datasets" / "squad2-devhalf" / name, "utf-8"), remarks
    )
    assert len(questions_read) == questions and remarks.sentences() == ()
    assert sum(bool(question.answers) for question in questions_read) == answered
    assert len({id(question.context) for question in questions_read}) == contexts
    assert len({question.title for question in questions_read}) == titles
    for entry in questions_read:
        for text, start in entry.answers:
            assert entry.context[start : start + len(text)] == text


def test_both_versions_are_read(tmp_path):
    path = tmp_path / "x.json"
    newer = qa("q2", is_impossible=True, answers=[], plausible_answers=[{"text": "mat"}])
    questions_read = read(path, b"\xef\xbb\xbf" + json.dumps(document(qa(), newer)).encode())
    first = Question("q1", "Cats", CONTEXT, "Who sat?", (Answer("cat", 4),))
    assert questions_read == [first, Question("q2", "Cats", CONTEXT, "Who sat?", ())]
    older = {"data": [{"paragraphs": [{"context": CONTEXT, "qas": [qa(7)]}]}]}
    assert read(path, older) == [first._replace(id="7", title="")]
    assert read(path, {"data": []}) == []


def test_a_misplaced_answer_is_moved_to_the_nearest_occurrence(tmp_path):
    shifted = qa(answers=[{"text": "cat", "answer_start": 26}, {"text": "The", "answer_start": 0}])
    for questions, note_end in (
        ([shifted], "its nearest occurrence was used: once, question q1."),
        ([shifted, shifted | {"id": "q2"}], "2 times, first question q1."),
    ):
        remarks = Remarks()
        questions_read = read(tmp_path / "x.json", document(*questions), remarks)
        assert questions_read[0].answers == (Answer("cat", 30), Answer("The", 0))
        (note,) = remarks.sentences()
        assert note.endswith(note_end)


@given(st.text("ab", max_size=12), st.text("ab", min_size=1, max_size=3), st.integers(-5, 20))
@tries(300)
def test_the_nearest_occurrence_is_chosen_among_all(context, text, start):
    positions = [n for n in range(len(context)) if context.startswith(text, n)]
    near = min(max(start, 0), len(context))
    expected = min(positions, key=lambda n: (abs(n - near), n), default=None)
    assert find_nearest(context, text, start) == expected


@given(st.text(max_size=40), st.data())
@tries(150)
def test_any_span_of_any_context_round_trips(context, data):
    start = data.draw(st.integers(0, len(context)))
    text = context[start : data.draw(st.integers(start, len(context)))]
    answers = [{"text": text, "answer_start": start}] if text else []
    content = {"data": [{"paragraphs": [{"context": context, "qas": [qa(answers=answers)]}]}]}
    with tempfile.TemporaryDirectory() as folder:
        (result,) = read(Path(folder) / "x.json", content)
    assert result.context == context and result.answers == ((Answer(text, start),) if text else ())


def test_a_lone_surrogate_is_replaced_without_shifting_offsets(tmp_path):
    context = "a \ud800 cat"
    content = {"data": [{"paragraphs": [{"context": context, "qas": [qa()]}]}]}
    (result,) = read(tmp_path / "x.json", content)
    assert result.context == "a \ufffd cat" and result.answers == (Answer("cat", 4),)


@pytest.mark.parametrize(
    "content, line, column, message",
    [
        ('{\n  "data": [,]\n}', 2, 12, "not valid JSON"),
        ('{"data": []', 1, 12, "not valid JSON"),
        ('{"data": [\n]}\n{"data": []}', 3, 1, "not valid JSON (extra data)"),
        ("", 0, 0, "empty"),
        ("question,answer\n", 1, 1, "not valid JSON"),
        ('{"data": NaN}', 0, 0, "NaN"),
        ('{"data": [], "data": []}', 0, 0, "“data” appears twice"),
        ("[" * 100_000, 0, 0, "nested more than"),
        (f'{{"data": {"9" * 5_000}}}', 0, 0, "too long"),
        (b'{"data":\n "\xff"}', 2, 3, "not text in utf-8"),
    ],
)
def test_invalid_json_is_reported_with_its_position(tmp_path, content, line, column, message):
    with pytest.raises(BadFile) as caught:
        read(tmp_path / "x.json", content)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.problem


@pytest.mark.parametrize(
    "content, message",
    [
        ([], "the document is not an object"),
        ({}, "the document has no “data”"),
        ({"data": {}}, "“data” of the document is not a list"),
        ({"data": [article(), 5]}, "article 2 is not an object"),
        ({"data": [{"title": "x"}]}, "article 1 has no “paragraphs”"),
        ({"data": [article(title=3)]}, "“title” of article 1 is not a text"),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, "article 1, paragraph 1 has no “context”"),
        (document(qa(), {"question": "?"}), "article 1, paragraph 1, question 2 has no “id”"),
        (document(qa(True)), "question 1 is not a text"),
        (
            document(qa(), qa()),
            "the id q1 appears twice, the second time at article 1, paragraph 1",
        ),
        (document(qa(question=None)), "“question” of question q1 is not a text"),
        (document(qa(answers={})), "“answers” of question q1 is not a list"),
        (document(qa(answers=["cat"])), "an answer of question q1 is not an object"),
        (document(qa(answers=[{"text": "cat"}])), "has no “answer_start”"),
        (document(qa(answers=[{"text": "cat", "answer_start": "4"}])), "is not a whole number"),
        (document(qa(answers=[{"text": "cat", "answer_start": True}])), "is not a whole number"),
        (document(qa(answers=[{"text": "", "answer_start": 4}])), "answer of question q1 is empty"),
        (
            document(qa(answers=[{"text": "dog", "answer_start": 4}])),
            "question q1 does not contain",
        ),
        (document(qa(is_impossible=True)), "question q1 is marked as impossible"),
        (document(qa(is_impossible=0)), "is not true or false"),
        (document(qa("x" * 10_000, question=1)), "of question xxx"),
    ],
)
def test_invalid_documents_are_reported(tmp_path, content, message):
    with pytest.raises(BadFile) as caught:
        read(tmp_path / "x.json", content)
    assert message in caught.value.problem
    assert caught.value.problem.startswith("x.json: ") and caught.value.problem.endswith(".")
    assert len(str(caught.value)) < 350


def test_a_file_too_large_for_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.strict_json.MAX_DOCUMENT_BYTES", 100)
    with pytest.raises(BadFile, match="larger than"):
        read(tmp_path / "x.json", document(qa()))


def test_a_document_is_read_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.data.formats.strict_json.CHUNK", 7)
    assert read(tmp_path / "x.json", document(qa()))[0].id == "q1"
