"""Several values: what is tried, how it is combined, and how many runs that makes."""

from app.pages.train.choices import BASE_MODEL, DATA, SearchPlan
from app.pages.train.state import TrainState
from app.translation import tr
from app.widgets.forms.form import SpecForm
from app.widgets.page import Card
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import Text
from app.widgets.text.spec_texts import title_of, value_text
from app.widgets.text.tags import Tags
from engine.config.job import JobSpec
from engine.config.search import SearchField, SearchSpec, combinations, field_at
from engine.runs.groups import label_of
from engine.runs.searching import first_settings, seeds_of

PLACEHOLDER = SearchField(path="training.epochs", values=(1, 2))  # the form checks a plan alone


class SearchBox(Card):
    """Shown where some field has several values."""

    def __init__(self, state: TrainState) -> None:
        super().__init__(tr("Several values"))
        self._state = state
        self._showing = False
        self.count = Text("", "strong")
        self.values = Tags(tr("Several values"))
        self.form = SpecForm(
            SearchSpec, tuple(SearchPlan.model_fields), others={"fields": (PLACEHOLDER,)}
        )
        self.form.changed.connect(self._on_changed)
        for part in (self.count, self.values, self.form):
            self.body.addWidget(part)
        state.changed.connect(self._show)
        self._show()

    def _on_changed(self) -> None:
        if not self._showing and self.form.is_valid():
            self._state.plan_search(SearchPlan.model_validate(self.form.value()))

    def _show(self) -> None:
        job = self._state.job()
        search = job.search if job is not None else None
        set_shown(self, search is not None)
        if job is None or search is None:
            return
        self._showing = True
        plan = search.model_dump(exclude={"fields"})  # of ranges there is no grid
        if self.form.is_valid() and self.form.value() != plan:
            self.form.set_value(plan)
        self._showing = False
        self.count.setText(count_text(job, search))
        self.values.show_texts([_said(job, field) for field in search.fields])


def count_text(job: JobSpec, search: SearchSpec) -> str:
    """How many combinations are trained, with how many seeds, in how many runs."""
    seeds = len(seeds_of(job))
    count = search.limit if search.method == "tpe" else len(first_settings(job))
    text = tr("%Ln combination(s)", count)
    if count < (of := combinations(search)):
        text = tr("{0} of {1} combinations").format(numbers.count(count), numbers.count(of))
    if seeds == 1:
        return text
    runs = tr("%Ln run(s)", count * seeds)
    return tr("{0} with {1} seeds each: {2}").format(text, seeds, runs)


def _said(job: JobSpec, field: SearchField) -> str:
    """A field with its values, in a line."""
    titles = {BASE_MODEL: tr("Base model"), DATA: tr("Data set")}
    info = field_at(job, field.path)
    title = titles.get(field.path) or (title_of(field.path, info) if info else field.path)
    if field.low is not None and field.high is not None:
        template = tr("{0}: {1} to {2}")
        return template.format(title, value_text(field.low), value_text(field.high))
    values = (label_of(v) if isinstance(v, dict) else value_text(v) for v in field.values)
    return f"{title}: {', '.join(values)}"
