"""Question answering compared with transformers and with expected answers."""

import json

import numpy as np
import pytest
import torch
from transformers import BertForQuestionAnswering

from engine.config.dataset import SPLITS, Split
from engine.config.tasks.question_answering import QuestionAnswering
from engine.data.columns.answers import Answer, AnswerMismatch, format_answers, parse_answers
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from engine.models.checkpoint import load, save
from engine.models.network import Network
from engine.runs.folder import RunFolder
from engine.tasks.evaluating import evaluate
from engine.tasks.learner import Batch
from engine.tasks.predicting import Predictor
from engine.tasks.question_answering import QuestionAnsweringLearner, span_logits
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.loop import train
from tests.engine.training.small import NETWORK, answering, questions

SHORT = "Ann lives in Rome. Bob lives in Oslo."
FRIENDS = " ".join(f"Bob {number} lives in Oslo." for number in range(12))
PASSAGE = f"Ann lives in Rome. {FRIENDS} Eve lives in Turin."


def silent(done, total): ...


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([PASSAGE, "where does ann eve bob live?"], 120)


@pytest.fixture
def learner() -> QuestionAnsweringLearner:
    return QuestionAnsweringLearner(QuestionAnswering(doc_stride=8, unanswerable=True))


@pytest.fixture
def network(tokenizer, learner) -> Network:
    spec = NETWORK.model_copy(update={"vocab_size": tokenizer.size})
    return Network(spec, learner.heads).eval()


@pytest.fixture
def examples(tokenizer, learner, tmp_path):
    return learner.tokenize(ROWS, tokenizer, 32, tmp_path / "tokenized", silent)


def load_reference(network, tokenizer, folder) -> BertForQuestionAnswering:
    save(folder, network, tokenizer)
    return BertForQuestionAnswering.from_pretrained(folder, local_files_only=True).eval()


ROWS = Rows(
    texts=["Where does Eve live?", "Where does Ann live?", "Where does Kim live?"],
    pairs=[PASSAGE, PASSAGE, PASSAGE[:60]],
    answers=["Turin", format_answers([Answer("Rome", 13)]), ""],
)


def test_windows_with_the_whole_answer_have_its_position(tokenizer, learner, examples, tmp_path):
    assert len(examples) > 6
    hits = set()
    for number, (first, last) in enumerate(examples.targets.tolist()):
        owner = int(examples.owners[number])
        ids = examples.tokenized.ids(number)[first : last + 1].tolist()
        if first:
            text = "".join(tokenizer.token(i).removeprefix("##") for i in ids)
            assert text == ("turin", "rome")[owner]
            hits.add(owner)
    assert hits == {0, 1}
    repeated = learner.tokenize(ROWS, tokenizer, 32, tmp_path / "tokenized", silent)
    assert np.array_equal(repeated.targets, examples.targets)


def test_loss_and_scores_match_transformers(tokenizer, learner, network, examples, tmp_path):
    model = load_reference(network, tokenizer, tmp_path / "model")
    full = np.flatnonzero(examples.tokenized.lengths == 32)  # transformers also scores padding
    batch = learner.batch(examples, full, tokenizer, np.random.default_rng(0))
    assert batch.attention_mask is None
    with torch.no_grad():
        output = model(
            input_ids=batch.tokens,
            token_type_ids=batch.segments,
            start_positions=batch.targets[:, 0],
            end_positions=batch.targets[:, 1],
        )
        logits = span_logits(network, batch)
        loss = learner.losses(network, batch)["answers"]
    assert torch.allclose(logits[..., 0], output.start_logits, atol=1e-5)
    assert torch.allclose(logits[..., 1], output.end_logits, atol=1e-5)
    assert float(loss) == pytest.approx(float(output.loss), abs=1e-5)


def test_padding_changes_no_loss_and_parts_add_up(tokenizer, learner, network, examples):
    numbers = np.arange(len(examples))
    batch = learner.batch(examples, numbers, tokenizer, np.random.default_rng(0))
    assert batch.attention_mask is not None
    with torch.no_grad():
        full = float(learner.losses(network, batch)["answers"])
        counts = learner.counts(batch)
        parts = sum(float(learner.losses(network, p, counts)["answers"]) for p in batch.parts(3))
        longer = Batch(
            torch.nn.functional.pad(batch.tokens, (0, 8), value=tokenizer.pad),
            torch.nn.functional.pad(batch.segments, (0, 8)),
            torch.nn.functional.pad(batch.attention_mask, (0, 8)),
            batch.targets,
            None,
        )
        padded = float(learner.losses(network, longer)["answers"])
    assert parts == pytest.approx(full, abs=1e-5)
    assert padded == pytest.approx(full, abs=1e-5)


def test_only_excluding_padding_differs_from_transformers(
    tokenizer, learner, network, examples, tmp_path
):
    """The softmax of transformers includes padding; without it loss and gradients are equal."""
    model = load_reference(network, tokenizer, tmp_path / "model")
    numbers = np.arange(len(examples))
    batch = learner.batch(examples, numbers, tokenizer, np.random.default_rng(0))
    real, ends = batch.attention_mask, batch.targets.T
    assert not real.all()
    inputs = {"token_type_ids": batch.segments, "attention_mask": real.long()}
    output = model(input_ids=batch.tokens, start_positions=ends[0], end_positions=ends[1], **inputs)
    logits = torch.stack([output.start_logits, output.end_logits], 1)  # [B, 2, T]
    over_tokens = logits.masked_fill(~real[:, None], float("-inf")).logsumexp(-1)
    without = output.loss - (logits.logsumexp(-1) - over_tokens).mean()
    ours = learner.losses(network, batch)["answers"]
    assert ours.item() == pytest.approx(without.item(), abs=1e-5)
    assert output.loss.item() > ours.item() + 0.01
    without.backward()
    ours.backward()
    reference = dict(model.named_parameters())
    for name in ("bert.embeddings.word_embeddings.weight", "qa_outputs.weight"):
        heads = {"qa_outputs.weight": network.task.dense.weight}
        parameter = heads.get(name, network.encoder.embeddings.token.weight)
        assert torch.allclose(parameter.grad, reference[name].grad, atol=1e-5)


class Oracle(torch.nn.Module):
    """Scores the true start and end of each window highest."""

    uses_plan = False
    probe = None

    def __init__(self, examples):
        super().__init__()
        self.spans = {
            tuple(examples.tokenized.ids(n)): examples.targets[n] for n in range(len(examples))
        }

    def forward(self, work, *args):
        return work(self, *args)

    def unpad(self, lengths, width, positions=None):
        return None

    def logits(self, tokens, segments, real=None, unpadded=None):
        scores = torch.zeros(*tokens.shape, 2)
        for row, ids in enumerate(tokens):
            count = len(ids) if real is None else int(real[row].sum())
            first, last = self.spans[tuple(ids[:count].tolist())]
            scores[row, first, 0] = scores[row, last, 1] = 9
        return scores


def test_perfect_scores_give_perfect_answers(tokenizer, learner, examples):
    metrics = evaluate(Oracle(examples), learner, tokenizer, examples, batch_size=4)
    report = metrics.report()
    assert (report.questions, report.exact_match, report.f1) == (3, 1, 1)
    predictions = metrics.predictions()
    assert [item["answer"] for item in predictions] == ["Turin", "Rome", ""]
    assert PASSAGE[predictions[0]["start"] : predictions[0]["end"]] == "Turin"
    assert predictions[0]["probability"] > 0.9 > 0.1 > predictions[0]["no_answer"]
    assert predictions[2]["no_answer"] > 0.9
    assert predictions[1]["candidates"][0]["text"] == "Rome"


def test_a_model_for_answerable_questions_always_answers(tokenizer, tmp_path):
    learner = QuestionAnsweringLearner(QuestionAnswering(doc_stride=8))
    rows = Rows(ROWS.texts[:2], ROWS.pairs[:2], answers=ROWS.answers[:2])
    learner.fit_labels(rows)
    assert learner.task.unanswerable is False
    examples = learner.tokenize(
        rows.without_targets(), tokenizer, 32, tmp_path / "tokenized", silent
    )
    oracle = Oracle(learner.tokenize(rows, tokenizer, 32, tmp_path / "known", silent))
    for positions in oracle.spans.values():
        positions[:] = 0  # no window has an answer
    metrics = evaluate(oracle, learner, tokenizer, examples, batch_size=4)
    assert all(p["answer"] and p["no_answer"] == 0 for p in metrics.predictions())
    with pytest.raises(StudioError, match="needs a question, a passage and its answers"):
        metrics.report()


@pytest.mark.parametrize(
    "cell,answers",
    [
        ("", ()),
        ("Oslo", (Answer("Oslo", 32),)),
        ('[{"text": "Rome", "answer_start": 13}]', (Answer("Rome", 13),)),
        ('[{"text": "Rome", "answer_start": 14}]', (Answer("Rome", 13),)),
        (
            '{"text": ["Bob", "Ann"], "answer_start": [19, 0]}',
            (Answer("Bob", 19), Answer("Ann", 0)),
        ),
        ('{"text": [], "answer_start": []}', ()),
    ],
)
def test_answers_are_parsed_from_several_formats(cell, answers):
    assert parse_answers(cell, SHORT) == answers
    assert parse_answers(format_answers(answers), SHORT) == answers


@pytest.mark.parametrize(
    "cell", ["Paris", "[1]", '{"text": 3}', '[{"text": "", "answer_start": 0}]']
)
def test_an_answer_that_is_not_in_the_passage_is_refused(cell, tokenizer, learner, tmp_path):
    with pytest.raises(AnswerMismatch, match="does not contain"):
        parse_answers(cell, PASSAGE)
    rows = Rows(["who?"], [PASSAGE], answers=[cell], lines=[7])
    with pytest.raises(StudioError, match=r"In row 1 \(line 7\), the passage does not contain"):
        learner.tokenize(rows, tokenizer, 32, tmp_path / "tokenized", silent)


def test_a_squad_file_is_recognised(tmp_path):
    recognised = recognise(questions(tmp_path / "q.json"))
    assert recognised.reading.format == "squad"
    assert recognised.columns == ("id", "title", "question", "context", "answers")
    assert recognised.mapping.columns == ("question", "context", "answers")
    table = tmp_path / "q.csv"
    table.write_text(f"question,context,answer\nwho?,{PASSAGE[:18]},Ann\n", encoding="utf-8")
    assert recognise(table).mapping.answers == "answer"
    table.write_text(f"question,passage,answer\nis it?,{PASSAGE[:18]},yes\n", encoding="utf-8")
    assert recognise(table).mapping.answers is None


def test_a_run_learns_and_its_checkpoint_stores_the_task(tmp_path):
    run = RunFolder.create(
        tmp_path / "run", answering(tmp_path, epochs=45, evaluate_every=1000, save_every=0)
    )
    events = []
    assert train(run.job(), run, events.append)[0] == "finished"
    best = run.checkpoint_folders()[-1]
    stored = load(best).config["bert_studio_task"]
    assert (stored["kind"], stored["doc_stride"], stored["unanswerable"]) == (
        "question_answering",
        6,
        True,
    )
    passage = "ann lives in rome and bob in oslo ."
    answer = Predictor(best, max_length=24).predict(Rows(["where does ann live ?"], [passage]))
    assert answer[0]["answer"] == "rome"
    metrics = {e.name: e.value for e in events if e.kind == "measured"}
    assert metrics["validation_f1"] > 0.5
    BertForQuestionAnswering.from_pretrained(best, local_files_only=True)


def test_questions_about_one_passage_stay_in_one_split(tmp_path):
    path = tmp_path / "q.jsonl"
    rows = [
        {"question": f"who is {n}?", "context": f"{n % 10} is Ann.", "answers": "Ann"}
        for n in range(200)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    recognised = recognise(path)
    split = Split(validation=0.3, test=0.2)
    spec = import_dataset(
        "q", {"all": path}, recognised.reading, recognised.mapping, split, tmp_path / "data"
    )
    assert spec.rows == {"train": 100, "validation": 60, "test": 40}
    dataset = open_dataset(tmp_path / "data")
    passages = [set(dataset.rows(part).pairs) for part in SPLITS]
    assert sum(map(len, passages)) == 10
