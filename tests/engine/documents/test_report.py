"""The run report agrees with its files, and cannot contain active content."""

from html.parser import HTMLParser

import pytest
from huggingface_hub import ModelCard

from engine.checkpoints.info import checkpoint_info
from engine.config.codebook import Code, Codebook
from engine.config.dataset import StoredData
from engine.config.job import RunGroup
from engine.data.datasets.deriving import Edits, derive
from engine.documents.card import model_card
from engine.documents.report import (
    MAX_CELL_CHARACTERS,
    TRAINED,
    Picture,
    Report,
    Section,
    html,
    run_report,
)
from engine.errors import StudioError
from engine.models.heads import Heads
from engine.phrases import phrase
from engine.results.measures import main_score
from engine.results.predictions import Predictions, read_predictions
from engine.results.store import log_evaluation, predictions_file
from engine.runs.folder import RunFolder
from tests.engine.data.importing import import_files, write_lines
from tests.engine.fine_tuned import KINDS, copy_model
from tests.engine.models.small import folder
from tests.engine.results.rows import class_rows

HOSTILE = '<script>alert("1")</script>\u202eevil<img src=x onerror=alert(1)>'


class Page(HTMLParser):
    """The parsed page: tags, attributes, headings, cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[tuple[str, str]] = []  # the innermost tag, and its text
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.tags[-1], data.strip()))

    def texts_in(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


@pytest.fixture
def model(tuned, tmp_path):
    return copy_model(tuned("text_classification"), tmp_path)


def sections(report: Report) -> dict[str, Section]:
    return {section.key: section for section in report.sections}


def test_the_report_agrees_with_the_run_folder(model):
    report, results = run_report(model.run)
    predictions, by_key = (
        read_predictions(predictions_file(model.run.results, "validation")),
        sections(report),
    )
    assert list(results) == ["validation"] and results["validation"].info == predictions.info
    assert "Good or bad" in report.title
    score = main_score(predictions)
    assert report.sections[0] is by_key["validation"], "the score comes first"
    assert by_key["validation"].rows[0][1:] == (
        f"{100 * score.value:.1f} %",
        f"{100 * score.low:.1f} % to {100 * score.high:.1f} %",
    )
    metrics = predictions.info.metrics
    sentences = by_key["validation"].sentences
    assert sentences[0] == "Score: accuracy {:.1f} % ({:.1f} % to {:.1f} %).".format(
        *(100 * number for number in score)
    )
    assert sentences[1].startswith(f"Macro F1 {100 * metrics['f1_macro']:.1f} % (")
    assert f"Other metrics: loss {metrics['loss']:.4f}." in sentences
    assert any(
        f"in {predictions.info.precision};" in item for item in by_key["validation"].sentences
    )
    trained = dict(item[:2] for item in by_key[TRAINED].rows)
    job = model.run.job()
    assert trained["trained on"] == job.data.name and trained["labels"] == "bad, good"
    assert trained["checkpoint"] == f"step {predictions.info.step}, the best one"
    settings = {row[0]: row[1:] for row in by_key["settings"].rows}
    assert settings["Learning rate"] == (f"{job.training.learning_rate:g}", "5e-5")
    assert settings["Epochs"] == ("1", "3")
    repeat = dict(item[:2] for item in by_key["repeat"].rows)
    assert repeat["torch"] and len(repeat["SHA-256 of the weights"]) == 64
    wrong = predictions.numbers("score") < 1
    assert len(by_key["validation-mistakes"].rows) == min(20, int(wrong.sum()))


def test_the_page_has_every_section_and_picture(model):
    report, _ = run_report(model.run)
    picture = Picture("validation", "Matrix", "Gold by row.", "data:image/png;base64,AAAA", 400)
    page = Page(html(report, [picture]))
    assert page.texts_in("h1") == [report.title]
    assert page.texts_in("h2") == [str(section.title) for section in report.sections]
    cells = [cell for section in report.sections for row in section.rows for cell in row if cell]
    assert page.texts_in("td") + page.texts_in("th")
    assert set(cells) <= {text for _, text in page.texts}
    assert ("src", picture.source) in page.attributes
    assert ("alt", "Matrix. Gold by row.") in page.attributes
    assert not {"script", "link", "iframe"} & set(page.tags)
    assert all(str(v).startswith("data:") for n, v in page.attributes if n in ("src", "href"))


def test_foreign_markup_is_escaped():
    report = Report(
        phrase("Report of the run “{name}”", name=HOSTILE),
        HOSTILE,
        (Section('"><script>', HOSTILE, (HOSTILE,), (HOSTILE,), ((HOSTILE,),), HOSTILE),),
    )
    text = html(report, [Picture('"><script>', HOSTILE, '"', 'x" onerror="alert(1)', 10)])
    page = Page(text)
    assert "script" not in page.tags and "onerror" not in dict(page.attributes)
    assert page.tags.count("img") == 1
    assert "\u202e" not in text and "\\u202e" in text
    assert [row for _, row in page.texts if "alert" in row]


def test_the_page_is_in_the_language_of_the_reader():
    report = Report("", "", (Section("limits", phrase("Limits")),))
    text = html(report, (), {"Limits": "Grenzen", "": ""}.__getitem__, "de")
    assert "<h2>Grenzen</h2>" in text and '<html lang="de">' in text


def test_mistakes_are_limited_with_the_most_confident_first(model):
    long = "word " * 200
    predictions = class_rows(
        ["bad", "bad", "good"],
        ["good", "good", "good"],
        scores=[[0.4, 0.6], [0.1, 0.9], [0.2, 0.8]],
        text=["first", long, "third"],
    )
    file = predictions_file(model.run.results, "validation")
    stored = read_predictions(file)
    Predictions(
        predictions.info.model_copy(update={"step": stored.info.step}), predictions.table
    ).write(file)
    report, _ = run_report(model.run)
    rows = sections(report)["validation-mistakes"].rows
    assert [row[0] for row in rows] == ["1", "0"]
    assert rows[0][1] == f"{long[:MAX_CELL_CHARACTERS]}…" and rows[0][-1] == "90.0 %"


def test_evaluations_on_test_rows_are_counted(model):
    predictions = read_predictions(predictions_file(model.run.results, "validation"))
    test = Predictions(predictions.info.model_copy(update={"part": "test"}), predictions.table)
    test.write(predictions_file(model.run.results, "test"))
    for _ in range(2):
        log_evaluation(model.run.results, test.info)
    report, results = run_report(model.run)
    assert list(results) == ["validation", "test"]
    assert "scored 2 times" in " ".join(sections(report)["test"].sentences)


def test_a_run_names_its_group(model):
    group = RunGroup(id="1", name="Seeds", runs=3)
    job = model.run.job().model_copy(update={"group": group})
    model.run.spec_file.write_text(job.model_dump_json(), encoding="utf-8")
    rows = sections(run_report(model.run)[0])[TRAINED].rows
    assert ("group", "one of 3 runs of “Seeds”") in rows


def test_the_codebook_of_the_learned_column_is_in_the_report(model, tmp_path):
    lines = [f"film {n},{n % 2}" for n in range(9)]
    file = write_lines(tmp_path / "films.csv", "text,label", *lines)
    import_files(file, tmp_path / "films" / "1")
    code = Code(label="1", definition="a good film", examples=("a joy", "fine"))
    edits = Edits(codebooks={"label": Codebook(codes=(code, Code(label="0")))})
    derive(tmp_path / "films" / "1", tmp_path / "films" / "2", 2, edits=edits)
    shown = (("1", "a good film", "a joy · fine", ""), ("0", "", "", ""))
    for version, rows in (("2", shown), ("1", ())):
        data = StoredData(folder=tmp_path / "films" / version)
        job = model.run.job().model_copy(update={"data": data})
        model.run.spec_file.write_text(job.model_dump_json(), encoding="utf-8")
        section = sections(run_report(model.run)[0]).get("codebook")
        assert (() if section is None else section.rows) == rows


def test_a_run_without_results_is_refused(model, tmp_path):
    predictions_file(model.run.results, "validation").unlink()
    with pytest.raises(StudioError, match="no results to report") as error:
        run_report(model.run)
    assert "bert-studio evaluate" in error.value.advice
    with pytest.raises(StudioError, match="not a run folder"):
        run_report(RunFolder(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_every_task_has_a_report(tuned, kind):
    report, results = run_report(tuned(kind).run)
    result = sections(report)
    mistakes = result["validation-mistakes"]
    assert set(results["validation"].info.mapping.texts) < set(mistakes.header) or not mistakes.rows
    assert Page(html(report)).texts_in("h2")[0] == "Score of the validation rows"


def test_a_model_card_has_metadata_and_scores(model):
    predictions = read_predictions(predictions_file(model.run.results, "validation"))
    assert predictions.info.step is not None
    best = model.run.checkpoint(predictions.info.step)
    text, score = model_card(best, "hf"), main_score(predictions)
    card = ModelCard(text)
    assert card.data.pipeline_tag == "text-classification"
    assert card.data.library_name == "transformers"
    (entry,) = [result for result in card.data.eval_results if result.metric_type == "accuracy"]
    assert entry.metric_value == pytest.approx(predictions.info.metrics["accuracy"], abs=1e-4)
    assert (
        "| this model | {:.1f} % | {:.1f} % to {:.1f} % |".format(*(100 * n for n in score)) in text
    )
    assert "| labels | bad, good |" in text and "| trained on | sentences.csv |" in text
    assert f"Computed in {predictions.info.precision};" in text
    assert "AutoModelForSequenceClassification" in text and "chose the checkpoint" in text
    assert "onnxruntime" in model_card(best, "onnx") and "```" not in model_card(best, "tf1")


def test_a_model_card_says_how_other_programs_differ(tuned, tmp_path):
    best = copy_model(tuned("regression"), tmp_path).checkpoint
    positions = checkpoint_info(best).max_positions
    card = model_card(best, "onnx", "int8")
    assert f"At most {positions} tokens of an input are read" in card
    for text in ("depends a little on the other texts of its batch", "transformers.js shows 1"):
        assert text in card and text not in model_card(best, "hf")
    assert "tokenizers 0.20" not in card and "in windows" not in card
    (best / "merges.txt").touch()
    assert "tokenizers 0.20" in model_card(best, "hf")
    assert "in windows" in model_card(tuned("question_answering").checkpoint, "hf")


def test_a_model_card_omits_unknown_facts(tmp_path):
    text = model_card(folder(tmp_path / "model", Heads(mlm=True)), "hf")
    assert ModelCard(text).data.pipeline_tag is None
    assert "## Scores" not in text and "trained on" not in text and "## Use" not in text
