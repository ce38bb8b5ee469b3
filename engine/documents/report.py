"""The run report: training, scores, mistakes, and how to repeat it.

A `Report` is plain data. `html` renders a self-contained page without scripts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.checkpoints.info import checkpoint_info, fine_tuned_task
from engine.checkpoints.prediction_settings import prediction_settings
from engine.config.changes import as_text, non_defaults
from engine.config.dataset import SplitName, StoredData
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.task import percent, score_text
from engine.config.tasks import TASKS
from engine.data.datasets.importing import SPEC
from engine.data.datasets.store import open_dataset
from engine.desktop.preferences import RunPreferences
from engine.documents.card import (
    INTERVAL,
    about_rows,
    baseline_comparisons,
    classes_note,
    evaluations_note,
    limits,
    other_metrics,
    precision_note,
    score_note,
    score_rows,
    settings_rows,
    stored_results,
)
from engine.errors import StudioError
from engine.files.shipped import resources
from engine.messages.events import Prepared
from engine.messages.reports import CheckpointInfo
from engine.phrases import Phrase, phrase
from engine.results.ceiling import ceiling_sentence
from engine.results.comparing import baseline_advice
from engine.results.intervals import Interval
from engine.results.levels import levels_note
from engine.results.masked_tokens import baseline_note
from engine.results.measures import main_metric
from engine.results.prediction_sets import sets_note
from engine.results.predictions import CELL, Predictions
from engine.results.row_figures import figure, holds_numbers
from engine.results.row_lists import mistakes_first
from engine.results.seeds import mean_over_seeds, scores_by_seed
from engine.results.slices import MIN_ROWS, worst_slices
from engine.results.spans import list_spans
from engine.results.store import best_checkpoint
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.reproducibility import Reproducibility, read_reproducibility
from engine.visible import visible

MAX_MISTAKES = 20
MAX_CELL_CHARACTERS = 300
TRAINED = "trained"  # section of the curves
PART_TITLES: dict[SplitName, str] = {
    "validation": phrase("Score of the validation rows"),
    "test": phrase("Score of the test rows"),
    "train": phrase("Score of the training rows"),
}


@dataclass(frozen=True)
class Section:
    """A heading with sentences, a table, code and pictures.

    `key` assigns pictures; scores have the name of their part.
    """

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    code: str = ""


@dataclass(frozen=True)
class Report:
    """A report without its pictures; translatable texts are phrases."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    author: str = ""
    project: str = ""

    def signed(self, preferences: RunPreferences) -> "Report":
        """The report with the author and the project of the settings."""
        return replace(self, author=preferences.author, project=preferences.project)


@dataclass(frozen=True)
class Picture:
    """A picture of the section `section`; `source` is a data URI or a name.

    With `header` it is a table instead.
    """

    section: str
    title: str
    caption: str
    source: str = ""
    width: int = 0  # px
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def run_report(run: RunFolder) -> tuple[Report, dict[SplitName, Predictions]]:
    """The report of a run's best checkpoint, and the predictions in it.

    Raises StudioError if the run has no checkpoint or no stored scores.
    """
    job = run.job()
    checkpoint = best_checkpoint(run)
    info, results = checkpoint_info(checkpoint), stored_results(run, checkpoint)
    if not any(predictions.is_labelled for predictions in results.values()):
        raise StudioError(
            "The run {name} has no results to report.",
            "Score its validation rows first: on its page, or by bert-studio evaluate.",
            name=run.path.name,
        )
    history = read_reproducibility(run)
    sections = [
        *(
            section
            for part, predictions_ in results.items()
            if predictions_.is_labelled
            for section in _part(run, part, predictions_)
        ),
        _training_section(run, job, info, checkpoint_step(checkpoint)),
        _settings(job),
        *_prediction_section(settings_rows(prediction_settings(checkpoint))),
        *_codebook(job),
        Section(
            "limits",
            phrase("Limits"),
            tuple(limits(info, fine_tuned_task(checkpoint), job, results)),
        ),
        _repetition(history),
    ]
    title = phrase("Report of the run “{name}”", name=job.name)
    subtitle = phrase("Run of {date}, made with BERT Studio.", date=f"{run.created():%Y-%m-%d}")
    return Report(title, subtitle, tuple(sections)), results


def _training_section(run: RunFolder, job: JobSpec, info: CheckpointInfo, step: int) -> Section:
    rows = [
        (phrase("base model"), base_model_name(job)),
        (phrase("checkpoint"), phrase("step {step:,}, the best one", step=step)),
        *about_rows(info, job),
    ]
    if job.group is not None:
        group = phrase("one of {n} run(s) of “{name}”", n=job.group.runs, name=job.group.name)
        rows.append((phrase("group"), group))
    if (prepared := last_prepared(run)) is not None:
        rows += [
            (phrase("training examples"), f"{prepared.examples:,}"),
            (phrase("steps"), f"{prepared.steps:,}"),
            (phrase("device"), prepared.device),
        ]
    return Section(TRAINED, phrase("Model and training"), rows=tuple(rows))


def base_model_name(job: JobSpec) -> str:
    base = job.base_model
    return base.path.name if isinstance(base, FromCheckpoint) else phrase("none: new weights")


def last_prepared(run: RunFolder) -> Prepared | None:
    return next((e for e in reversed(run.milestones()) if isinstance(e, Prepared)), None)


def _settings(job: JobSpec) -> Section:
    rows = tuple(
        (Phrase(item.title, {}), as_text(item.new), as_text(item.old)) for item in non_defaults(job)
    )
    if not rows:
        sentences = (phrase("All settings have their default values."),)
        return Section("settings", phrase("Settings"), sentences)
    header = (phrase("Setting"), phrase("Value"), phrase("Default"))
    return Section("settings", phrase("Settings other than the defaults"), (), header, rows)


def _codebook(job: JobSpec) -> Iterator[Section]:
    """The codebook of the learned column, if its data set is still stored and has one."""
    if not isinstance(job.data, StoredData) or not (job.data.folder / SPEC).is_file():
        return
    spec = open_dataset(job.data.folder).with_target(job.data.target).spec
    codebook = spec.codebooks.get(spec.coded_column or "")
    is_import = spec.has_text_spans and spec.made_from is None  # its labels are only listed
    if codebook is None or is_import:
        return
    header = (phrase("Label"), phrase("Definition"), phrase("Examples"), phrase("Counter-examples"))
    rows = tuple(
        tuple(
            visible(cell[:MAX_CELL_CHARACTERS])
            for cell in (
                code.label,
                code.definition,
                " · ".join(code.examples),
                " · ".join(code.counterexamples),
            )
        )
        for code in codebook.codes
    )
    yield Section("codebook", phrase("Codebook"), (), header, rows)


def _part(run: RunFolder, part: SplitName, predictions: Predictions) -> Iterator[Section]:
    """Score, slices and mistakes of the rows of a part."""
    counted = phrase(
        "{n:,} row(s) of {source}.", n=len(predictions), source=predictions.info.source
    )
    header = ("", Phrase(main_metric(predictions).title, {}), INTERVAL)
    comparisons = baseline_comparisons(run, part, predictions)
    rows = tuple(score_rows(predictions, comparisons))
    sentences = (
        score_note(predictions),
        classes_note(predictions),
        levels_note(predictions),
        baseline_note(predictions),
        ceiling_sentence(predictions),
        sets_note(predictions),
        other_metrics(predictions),
        counted,
        baseline_advice(comparisons) or phrase("No baselines were fitted for these rows."),
        mean_over_seeds(predictions, scores_by_seed(run, predictions)),
        precision_note(predictions),
        evaluations_note(run, part, predictions),
    )
    yield Section(part, PART_TITLES[part], tuple(filter(None, sentences)), header, rows)
    yield _slices(part, predictions)
    yield _mistakes(part, predictions)


def _slices(part: SplitName, predictions: Predictions) -> Section:
    worst = worst_slices(predictions)
    key, title = f"{part}-slices", phrase("Worst slices")
    sentence = phrase(
        "{n:,} slice(s) of at least {least} rows were tested; of those below, at most 5 % are "
        "expected to be chance.",
        n=worst.tried,
        least=MIN_ROWS,
    )
    if not worst.slices:
        text = phrase(
            "No significantly worse slice ({tried:,} slices of at least {least} rows tested).",
            least=MIN_ROWS,
            tried=worst.tried,
        )
        return Section(key, title, (text,))
    header = (phrase("Where"), phrase("Rows"), phrase("Score"), phrase("Other rows"), "p")
    is_share = not holds_numbers(predictions.info)
    rows = tuple(
        (
            item.group.name,
            f"{item.group.count:,}",
            _interval(item.group.score, is_share),
            score_text(item.elsewhere.value, is_share),
            f"{item.p:.2g}",
        )
        for item in worst.slices
    )
    return Section(key, title, (sentence,), header, rows)


def _mistakes(part: SplitName, predictions: Predictions) -> Section:
    """The mistakes, most confident first; for numbers, the largest errors."""
    key = f"{part}-mistakes"
    count = len(predictions) - int(predictions.table["gold"].null_count)
    if holds_numbers(predictions.info):
        title, errors = phrase("Largest errors"), np.abs(figure(predictions, "residual"))
        is_wrong = errors > 0
        gold = phrase("True number")
        sentence = phrase("Rows with the largest residuals, of {n:,} row(s).", n=count)
    else:
        title, is_wrong = phrase("Most confident mistakes"), figure(predictions, "score") < 1
        wrong, gold = int(is_wrong.sum()), phrase("True label")
        sentence = phrase("{wrong:,} of {n:,} row(s) are misclassified.", wrong=wrong, n=count)
    order = mistakes_first(predictions)
    rows_shown = [int(row) for row in order if is_wrong[row]][:MAX_MISTAKES]
    if not rows_shown:
        return Section(key, title, (sentence,))
    texts = _text_columns(predictions)
    header = (phrase("Row"), *texts, gold, phrase("Predicted"), phrase("Probability"))
    rows = tuple(_mistake(predictions, row, texts) for row in rows_shown)
    if not any(row[-1] for row in rows):  # the task has none
        header, rows = header[:-1], tuple(row[:-1] for row in rows)
    return Section(key, title, (sentence,), header, rows)


def _text_columns(predictions: Predictions) -> tuple[str, ...]:
    mapping = predictions.info.mapping
    others = filter(None, (mapping.beginning, mapping.negative))
    read = (*mapping.texts, *others, *mapping.endings)
    return tuple(name for name in dict.fromkeys(read) if name in predictions.columns)


def _mistake(predictions: Predictions, index: int, texts: Sequence[str]) -> tuple[str, ...]:
    """Row number, texts, true and predicted label, or their spans, and probability."""
    (row,) = predictions.table.slice(index, 1).to_pylist()
    head = TASKS[predictions.info.task].info.head
    labels = row["gold"], row["predicted"]
    if head is not None and head.marks_text:
        labels = list_spans(predictions, index)
    cells = (*(row[CELL + name] for name in texts), *labels)
    probability = row["probability"]
    return (
        f"{row['row']:,}",
        *map(_truncate, cells),
        "" if probability is None else percent(probability),
    )


def _prediction_section(rows: Sequence[tuple[str, str]]) -> Iterator[Section]:
    """The thresholds and the temperature, if not the defaults."""
    if rows:
        yield Section("prediction", phrase("Thresholds and temperature"), rows=tuple(rows))


def _repetition(history: Reproducibility) -> Section:
    sentences = [
        phrase(
            "The folder of the run holds the job as spec.json. Train it again with the same "
            "versions on the same data:"
        ),
        *history.obstacles,
    ]
    if history.branched is not None:
        sentences.insert(0, history.branched.sentence())
    rows = [*history.environment.items()]
    if history.weights:
        rows.append((phrase("SHA-256 of the weights"), history.weights))
    return Section(
        "repeat",
        phrase("Reproduction"),
        tuple(sentences),
        rows=tuple(rows),
        code="bert-studio train spec.json --into NEW_RUN",
    )


def _interval(score: Interval, is_share: bool) -> str:
    value, low, high = (score_text(number, is_share) for number in score)
    return f"{value} ({low} to {high})"


def _truncate(text: str | None) -> str:
    if text is None or len(text) <= MAX_CELL_CHARACTERS:
        return text or ""
    return f"{text[:MAX_CELL_CHARACTERS]}…"


# ── the page ─────────────────────────────────────────────────────────────────────────────────

MAX_UNSIZED, MAX_COLUMN = 40, 50  # characters of cells without a width, and of a column
GAP = 8  # characters between columns
BOLD = 1.4  # relative width of bold text


def html(
    report: Report,
    pictures: Sequence[Picture] = (),
    translate: Callable[[str], str] = str,
    language: str = "en",
) -> str:
    """Render the report as one page; `translate` translates a text into `language`, a code."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, keep_trailing_newline=True)
    environment.filters |= {
        "text": lambda text: visible(translate(text)),
        "widths": _widths,
        "any": any,
    }
    page = environment.from_string((resources() / "report.html").read_text("utf-8"))
    return page.render(report=report, pictures=pictures, language=language)


def _widths(table: Section | Picture) -> list[str]:
    """Relative widths of columns with long texts; empty for the others."""
    columns = list(zip(*table.rows, strict=True)) if table.header else []
    longest = [max(map(len, column)) for column in columns]
    if not any(length > MAX_UNSIZED for length in longest):
        return [""] * len(columns)
    names = [BOLD * len(name) for name in table.header]
    weights = [min(max(pair), MAX_COLUMN) + GAP for pair in zip(longest, names, strict=True)]
    return [f"{100 * weight / sum(weights):.0f}%" for weight in weights]
