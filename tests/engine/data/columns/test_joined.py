"""Columns joined by a template, from the import to a model that reads files by it."""

import json

import pytest
from pydantic import ValidationError
from transformers import AutoTokenizer

from engine.applying.apply import apply
from engine.checkpoints.info import checkpoint_info
from engine.cli import main
from engine.config.codebook import Code, Codebook
from engine.config.dataset import FileData, Mapping, Reading
from engine.data.columns.joined import JoinedColumn, columns_of_model, with_joined
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import open_dataset, resolve
from engine.documents.card import model_card
from engine.errors import MissingColumn, StudioError
from engine.messages.applying import Apply, FileInput
from engine.models import checkpoint
from engine.runs.folder import RunFolder
from engine.tasks.predicting import Predictor
from engine.training.loop import train
from tests.engine.training import small
from tests.tasks.jobs import JOBS

FULL = {"a": "Refund", "b": "Pay me", "c": "web"}
EMPTY_CELLS = {  # template: texts without the first cell, without the second, with neither
    "{a}. {b}": ("Pay me", "Refund", ""),
    "{a}, {b}": ("Pay me", "Refund", ""),
    "{a} | {b}": ("Pay me", "Refund", ""),
    "Title: {a}\nBody: {b}": ("Body: Pay me", "Title: Refund", ""),
    "{a} ({c}): {b}": ("(web): Pay me", "Refund (web)", "(web)"),
    "{a} by {b}.": ("by Pay me.", "Refund.", ""),
    "{c}: {a}. {b}": ("web. Pay me", "web: Refund", "web"),
}


def test_nothing_is_written_for_an_empty_cell():
    for template, (no_first, no_second, neither) in EMPTY_CELLS.items():
        column = JoinedColumn(template, [*FULL])
        full = [FULL[name] for name in column.columns]
        assert column.join(full) == template.format(**FULL)
        for emptied, expected in (("a", no_first), ("b", no_second), ("ab", neither)):
            cells = [None if name in emptied else FULL[name] for name in column.columns]
            assert column.join(cells) == expected, template
    assert JoinedColumn("{a} {b}", ["a", "b"]).join(['["I", "fly"]', " so "]) == "I fly so"


def test_a_separator_makes_a_pair_and_mistakes_are_named():
    mapping = Mapping(text="title [SEP] {body}", label="queue")
    assert mapping.texts == ("{title}", "{body}") and mapping.template == "{title} [SEP] {body}"
    assert mapping.sources == ("{title}", "{body}", "queue", "title", "body")
    assert Mapping.model_validate_json(mapping.model_dump_json()) == mapping
    for wrong in (
        {"text": "a [SEP] b [SEP] c"},
        {"text": "a [SEP] b", "pair": "c"},
        {"text": "a [SEP]"},
        {"text": "{a} {a}"},
        {"text": "{a} {b}", "label": "b"},
        {"text": "{a} {b}", "tags": "c"},
    ):
        with pytest.raises(ValidationError):
            Mapping(**wrong)
    with pytest.raises(MissingColumn, match=r"no column “boby”.*a, body"):
        with_joined(Mapping(text="{a}: {boby}"), {"a": ["x"], "body": ["y"]})


def test_a_model_reads_its_columns_by_name():
    guess = Mapping(text="body", label="queue")
    columns = ("title", "body", "queue")
    for texts, expected in (
        ({"text": "title"}, ("title",)),
        ({"text": "review"}, ("body",)),
        ({"text": "{title}. {body}"}, ("{title}. {body}",)),
        ({"text": "{title}", "pair": "{body}"}, ("{title}", "{body}")),
    ):
        mapping, note = columns_of_model(texts, guess, columns)
        assert mapping.texts == expected and mapping.label == "queue" and not note
    mapping, note = columns_of_model({"text": "{title}. {text}"}, guess, columns)
    assert mapping is None and "“{title}. {text}”, and there is no column “text”" in note
    pair = {"text": "premise", "pair": "hypothesis"}
    assert columns_of_model(pair, Mapping(text="a", pair="b"), ("a", "b"))[0].texts == ("a", "b")
    assert "premise [SEP] hypothesis" in columns_of_model(pair, guess, columns)[1]
    tagged = Mapping(text="body", tags="queue")
    assert columns_of_model({"text": "title"}, tagged, columns)[0] == tagged


def write_tickets(path, header="subject,body,label"):
    rows = [
        ("" if n % 8 == 1 else small.GOOD[n % 3], small.BAD[n % 3] if n % 8 else "", n % 2)
        for n in range(48)
    ]
    lines = [f"{title},{body},{'good' if good else 'bad'}" for title, body, good in rows]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return rows


def test_an_import_joins_columns_and_edits_of_them(tmp_path):
    rows = write_tickets(tmp_path / "tickets.csv")
    data = FileData(
        path=tmp_path / "tickets.csv", mapping=Mapping(text="{subject}: {body}", label="label")
    )
    dataset = resolve(data, tmp_path / "set" / "1")
    assert dataset.spec.columns == ("subject", "body", "label", "{subject}: {body}")
    assert not dataset.spec.empty and not dataset.spec.targets
    first = dataset.page(0, 2)
    assert first[0]["{subject}: {body}"] == rows[0][0], "row 0 has no body"
    assert first[1]["{subject}: {body}"] == rows[1][1]
    edits = Edits(cells={0: {"body": "Hello"}})
    derive(tmp_path / "set" / "1", tmp_path / "set" / "2", 2, edits=edits)
    book = Codebook(kind="spans", codes=(Code(label="x"),))
    coding = Edits(coded_column="marks", codebooks={"marks": book})
    with pytest.raises(StudioError, match="Spans cannot be marked in texts that are joined"):
        derive(tmp_path / "set" / "1", tmp_path / "set" / "3", 3, edits=coding)
    text = open_dataset(tmp_path / "set" / "2").page(0, 1)[0]["{subject}: {body}"]
    assert text == f"{rows[0][0]}: Hello"


@pytest.mark.parametrize("template", ["subject [SEP] body", "{subject}. {body}"])
def test_a_model_reads_files_by_the_template_of_its_data(template, tmp_path, capsys):
    rows = write_tickets(tmp_path / "tickets.csv")
    mapping = Mapping(text=template, label="label")
    kind = "text_classification" if mapping.pair is None else "pair_classification"
    data = FileData(path=tmp_path / "tickets.csv", mapping=mapping, reading=Reading())
    job = JOBS[kind](tmp_path, steps=1).model_copy(update={"data": data})
    run = RunFolder.create(tmp_path / "run", job)
    train(job, run, run.append)
    folder = run.checkpoint_folders()[-1]
    texts = checkpoint_info(folder).texts
    assert [*texts.values()] == [*mapping.texts]
    assert "row['subject']" in model_card(folder, "hf")
    assert f"| text | {mapping.template} |" in model_card(folder, "hf")
    checkpoint.import_checkpoint(folder, tmp_path / "copy")
    assert checkpoint_info(tmp_path / "copy").texts == texts

    predictor = Predictor(folder)
    given = FileInput(path=data.path, reading=Reading(), mapping=mapping)
    out = tmp_path / "out.jsonl"
    apply(Apply(checkpoint=folder, given=given, out=out), predictor)
    applied = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [*applied[0]][:3] == ["subject", "body", "label"] and len(applied) == len(rows)
    assert mapping.text not in applied[0]
    by_command = tmp_path / "command.jsonl"
    assert main(["predict", str(data.path), "--model", str(folder), "--out", str(by_command)]) == 0
    assert by_command.read_text() == out.read_text()
    assert f"Text: “{mapping.template}”." in capsys.readouterr().err
    write_tickets(tmp_path / "other.csv", "title,body,label")
    other = str(tmp_path / "other.csv")
    assert main(["predict", other, "--model", str(folder), "--out", str(by_command)]) == 1
    assert "there is no column “subject”" in capsys.readouterr().err

    if mapping.pair is not None:
        titles, bodies = zip(*[(title, body) for title, body, _ in rows], strict=True)
        ours = predictor._loaded.tokenizer.encode_many(titles, bodies)
        # in lists: alone, an empty second text would be read as none
        theirs = AutoTokenizer.from_pretrained(folder)([*titles], [*bodies])
        assert [ids for ids, _ in ours] == theirs["input_ids"]
        assert [segments for _, segments in ours] == theirs["token_type_ids"]
