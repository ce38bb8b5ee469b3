"""Columns of the table of runs: title, text, tooltip, sort order.

`COLUMNS` has the columns of a run itself. `column_info` also returns a column for each setting of
the job, by its path, and for each metric, by its name and point on the curve.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, get_args

from app.pages.runs.groups import best_scores, values_text
from app.pages.runs.job_fields import Value, job_titles
from app.pages.runs.rows import Measure, RunRow, queue_key
from app.running_texts import stage_text, step_text
from app.translation import in_language, tr, translated
from app.widgets.text import numbers, run_texts
from app.widgets.text.spec_texts import value_text
from engine.config.tasks import TASKS
from engine.record.metrics import When

WIDTH = 100  # px, initial width of setting and metric columns
TRAINING_METRICS = ("loss", "learning_rate", "gradient_norm", "tokens_per_second", "tokens")


class Column(StrEnum):
    """Columns of a run itself; the values are keys in the settings."""

    STATE = "state"
    NAME = "name"
    TASK = "task"
    DATA = "data"
    BASE_MODEL = "base_model"
    BEST = "best"
    SEEDS = "seeds"  # shown if there are runs with several seeds
    LOSS = "loss"
    PROGRESS = "progress"
    TIME = "time"
    STARTED = "started"
    TAGS = "tags"
    NOTES = "notes"
    DEVICE = "device"
    PARAMETERS = "parameters"
    EXAMPLES = "examples"
    STEP = "step"
    BEST_STEP = "best_step"
    JOB = "job"  # the job with several runs that the run belongs to


DEFAULT_COLUMNS = (  # until the user chooses others
    Column.STATE,
    Column.NAME,
    Column.TASK,
    Column.DATA,
    Column.BASE_MODEL,
    Column.BEST,
    Column.SEEDS,
    Column.LOSS,
    Column.TIME,
    Column.STARTED,
)


@dataclass(frozen=True)
class ColumnInfo:
    """One column: its texts, and its values to sort and filter by.

    `order` returns the sort key, None to come last; default: the text. `tooltip` returns a longer
    text; if “”, the text is the tooltip. `value` returns a number, a boolean or a text for filters
    and charts; default: the text. `synonyms` returns other names for the text. `measure` is the
    metric of the column, if any.
    """

    title: Callable[[], str]
    width: int  # px, initial
    text: Callable[[RunRow], str]
    order: Callable[[RunRow], Any] | None = None
    tooltip: Callable[[RunRow], str] = lambda row: ""
    value: Callable[[RunRow], Value] | None = None
    synonyms: Callable[[RunRow], Sequence[str]] = lambda row: ()
    measure: Measure | None = None
    is_number: bool = False
    key: str = ""  # set by `column_info`

    def sort_key(self, row: RunRow) -> Any:
        """Sort key of a run; None to come last."""
        return self.order(row) if self.order is not None else self.text(row).casefold() or None

    def row_value(self, row: RunRow) -> Value:
        """The value for filters, groups and charts; None if the cell is empty."""
        return self.value(row) if self.value is not None else self.text(row) or None


def _best_text(row: RunRow) -> str:
    if row.best_score is None:
        return ""
    return run_texts.score(row.best_metric, row.best_score)


def _best_order(row: RunRow) -> tuple[str, float] | None:
    """Sort by metric, then the best first: scores of different metrics cannot be compared."""
    if row.best_score is None:
        return None
    sign = -1 if row.higher_is_better else 1
    return run_texts.evaluation_title(row.best_metric), sign * row.best_score


def _best_tooltip(row: RunRow) -> str:
    if row.best_score is None:
        return ""
    name = run_texts.metric_title(row.best_metric)
    return tr("Best {0} at step {1}").format(name, numbers.count(row.best_step))


def _state_text(row: RunRow) -> str:
    state = run_texts.state_text(row.state)
    if row.is_working and row.steps:
        return tr("{0} {1}").format(state, numbers.percent(row.fraction, 0))
    return state


def _time_text(row: RunRow) -> str:
    if row.seconds_left is not None:
        return tr("{0} left").format(numbers.duration(row.seconds_left))
    return numbers.duration(row.seconds) if row.seconds else ""


def seeds_tooltip(row: RunRow, seeds: Sequence[RunRow]) -> str:
    """Number of finished runs behind a mean, given the runs that differ only in the seed."""
    if row.job is None or row.job.group is None:
        return ""
    group = row.job.group
    template = tr("Mean and standard deviation of the best score; {0} of {1} runs have finished")
    total = len(group.seeds) or group.runs // max(1, len(group.vectors))
    text = template.format(len(best_scores(seeds)), total)
    return f"{values_text(row)}\n{text}" if group.search is not None else text


def _is_new(row: RunRow) -> bool:
    """True before the first start."""
    return row.is_waiting and row.started is None


def _start_order(row: RunRow) -> tuple[Any, ...]:
    """Sort key: waiting runs come after all others, in queue order."""
    if row.is_waiting:
        return 1, *queue_key(row)
    return 0, (row.started or row.created).timestamp()


def _start_tooltip(row: RunRow) -> str:
    text = numbers.moment(row.started or row.created)
    if not row.is_waiting:
        return text
    if row.started is None:
        text = tr("In the queue since {0}").format(text)
    drag = tr("While the table is sorted by Started, drag queued runs to reorder the queue.")
    return f"{text}\n{drag}"


def _task_names(row: RunRow) -> Sequence[str]:
    """Synonyms of a task: “NER” for “Token classification (NER)”, and the name in files."""
    title = run_texts.task_title(row.task)
    _, _, abbreviation = title.partition("(")
    return row.task, row.task.replace("_", " "), abbreviation.rstrip(")"), title.partition(" (")[0]


def _count(number: int) -> str:
    return numbers.count(number) if number else ""


def _numeric(
    title: Callable[[], str],
    width: int,
    text: Callable[[RunRow], str],
    value: Callable[[RunRow], float | None],
    **kwargs: Any,
) -> ColumnInfo:
    return ColumnInfo(title, width, text, value, value=value, is_number=True, **kwargs)


def _count_column(
    title: Callable[[], str], number: Callable[[RunRow], int], width: int = 96
) -> ColumnInfo:
    """A column of an integer; 0 is shown empty."""
    return _numeric(title, width, lambda row: _count(number(row)), lambda row: number(row) or None)


COLUMNS = {
    Column.STATE: ColumnInfo(
        lambda: tr("State"),
        124,
        _state_text,
        lambda row: run_texts.state_order(row.state),
        lambda row: f"{translated(row.problem)} {translated(row.advice)}".strip(),
        value=lambda row: row.state,
        synonyms=lambda row: (run_texts.state_text(row.state),),
    ),
    Column.NAME: ColumnInfo(
        lambda: tr("Name"),
        144,
        lambda row: row.name,
        tooltip=lambda row: f"{row.name}\n{row.notes}" if row.notes else "",
    ),
    Column.TASK: ColumnInfo(
        lambda: tr("Task"), 128, lambda row: run_texts.task_title(row.task), synonyms=_task_names
    ),
    Column.DATA: ColumnInfo(lambda: tr("Data set"), 84, lambda row: row.data),
    Column.BASE_MODEL: ColumnInfo(lambda: tr("Base model"), 92, lambda row: row.base_model),
    Column.BEST: ColumnInfo(
        lambda: tr("Best score"),
        104,
        _best_text,
        _best_order,
        _best_tooltip,
        value=lambda row: row.best_score,
        is_number=True,
    ),
    # the table provides its texts, which depend on other runs
    Column.SEEDS: ColumnInfo(
        lambda: tr("Mean ± SD (seeds)"), 136, lambda row: "", lambda row: row.group or None
    ),
    Column.LOSS: _numeric(
        lambda: tr("Training loss"),
        100,
        lambda row: numbers.decimal(row.loss, 3) if row.loss is not None else "",
        lambda row: row.loss,
    ),
    Column.PROGRESS: _numeric(
        lambda: tr("Progress"),
        96,
        lambda row: numbers.percent(row.fraction, 0) if row.steps else "",
        lambda row: row.fraction if row.steps else None,
        tooltip=lambda row: " · ".join(filter(None, (stage_text(row), step_text(row)))),
    ),
    Column.TIME: _numeric(lambda: tr("Time"), 104, _time_text, lambda row: row.seconds or None),
    Column.STARTED: ColumnInfo(
        lambda: tr("Started"),
        76,
        lambda row: tr("queued") if _is_new(row) else numbers.day(row.started or row.created),
        _start_order,
        _start_tooltip,
        value=lambda row: (row.started or row.created).astimezone().strftime("%Y-%m-%d %H:%M"),
    ),
    Column.TAGS: ColumnInfo(
        lambda: tr("Tags"), 110, lambda row: ", ".join(row.tags), synonyms=lambda row: row.tags
    ),
    Column.NOTES: ColumnInfo(lambda: tr("Notes"), 140, lambda row: row.notes),
    Column.DEVICE: ColumnInfo(
        lambda: tr("Device"),
        88,
        lambda row: value_text(row.device) if row.device else "",
        synonyms=lambda row: (row.device,),
    ),
    Column.PARAMETERS: _count_column(lambda: tr("Parameters"), lambda row: row.parameters),
    Column.EXAMPLES: _count_column(lambda: tr("Training examples"), lambda row: row.examples),
    Column.STEP: _count_column(lambda: tr("Step"), lambda row: row.step, 76),
    Column.BEST_STEP: _count_column(lambda: tr("Best step"), lambda row: row.best_step, 76),
    Column.JOB: ColumnInfo(
        lambda: tr("Job with several runs"),
        110,
        lambda row: str(row.fields.get("group.name") or "") if row.group else "",
        lambda row: row.group or None,
        value=lambda row: row.group or None,
        synonyms=lambda row: (str(row.fields.get("group.name") or ""),) if row.group else (),
    ),
}


@cache
def column_info(key: str) -> ColumnInfo | None:
    """The column with this key; None if the key is unknown."""
    name, at, when = key.partition("@")
    if key in COLUMNS:
        return replace(COLUMNS[Column(key)], key=str(key))
    if at and when in get_args(When):
        return _metric_column(Measure(name, when))  # type: ignore[arg-type]  # checked above
    return _job_column(key) if key in job_titles() else None


def known_columns(keys: Iterable[str]) -> list[ColumnInfo]:
    """The columns with these keys, without duplicates and unknown ones."""
    return [info for key in dict.fromkeys(keys) if (info := column_info(key)) is not None]


def all_columns() -> Iterator[str]:
    """Keys of all columns; in a filter, the first of several columns with the same name wins."""
    yield from Column
    evaluations = [m.key for m in all_measures() if m.name.startswith(run_texts.VALIDATION)]
    yield from evaluations
    yield from job_titles()
    yield from (m.key for m in all_measures() if m.key not in evaluations)


@cache
def all_measures() -> tuple[Measure, ...]:
    """Each metric of each task: at the best checkpoint, at the last evaluation, and at its best."""
    metrics = {m.name: m for task in TASKS.values() for m in task.info.metrics}
    result = []
    for name, metric in metrics.items():
        best: When = "highest" if metric.higher_is_better else "lowest"
        times: tuple[When, ...] = ("at best", "last", best)
        result += [Measure(f"{run_texts.VALIDATION}{name}", when) for when in times]
    result += [Measure(name, "last") for name in TRAINING_METRICS]
    return (*result, Measure("loss", "lowest"))


def measure_title(measure: Measure) -> str:
    """“macro F1”, “last macro F1”, “lowest training loss”."""
    is_validation = measure.name.startswith(run_texts.VALIDATION)
    get_title = run_texts.evaluation_title if is_validation else run_texts.metric_title
    title = get_title(measure.name)
    if measure.name == f"{run_texts.VALIDATION}loss":
        title = run_texts.metric_title(measure.name)
    template = {
        "at best": "{0}",
        "last": tr("last {0}"),
        "lowest": tr("lowest {0}"),
        "highest": tr("highest {0}"),
    }[measure.when]
    return template.format(title)


def _metric_column(measure: Measure) -> ColumnInfo:
    key = measure.key

    def text(row: RunRow) -> str:
        value = row.measured.get(key)
        return "" if value is None else run_texts.metric_value(measure.name, value)

    def title() -> str:
        sentence = measure_title(measure)
        return sentence[:1].upper() + sentence[1:]

    return _numeric(title, WIDTH, text, lambda row: row.measured.get(key), measure=measure, key=key)


def _job_column(path: str) -> ColumnInfo:
    title = job_titles()[path]

    def text(row: RunRow) -> str:
        value = row.fields.get(path)
        return "" if value is None else value_text(value)

    def order(row: RunRow) -> Any:
        """Sort numbers before texts, if jobs have both."""
        value = row.fields.get(path)
        return None if value is None else (isinstance(value, str), value)

    return ColumnInfo(
        lambda: in_language(title),
        WIDTH,
        text,
        order,
        value=lambda row: row.fields.get(path),
        synonyms=lambda row: (str(row.fields.get(path)), value_text(row.fields.get(path))),
        key=path,
    )
