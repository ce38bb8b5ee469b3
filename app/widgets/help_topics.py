"""Pages of the help: one for each concept, setting and metric. No widgets.

A concept is `resources/help/KEY.md`: its first line is the tooltip, followed by title and text. The
page of a setting is made from its title and description in the spec, of a metric from its task.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.translation import in_language, marked, tr, translated_page
from app.widgets.text.spec_texts import help_of, title_of, value_text
from engine.config.dataset import Mapping, Reading, Split
from engine.config.families import FAMILIES
from engine.config.features import Features
from engine.config.fields import get_settings, get_ticks
from engine.config.job import FromScratch
from engine.config.search import SearchSpec
from engine.config.task import Metric
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec
from engine.files.shipped import resources
from engine.phrases import number_text

FIRST = "start"  # the first page
SETTING, METRIC = "setting-", "metric-"  # prefixes of keys
CONCEPT_RANKS = (0, 1, 2, 5)  # words begin the title, are in it, in the line, in the text
STUB_RANKS = (3, 3, 4, 6)  # of settings and metrics
NO_MATCH = 7  # rank of a page that a search does not find
SECTIONS: tuple[tuple[str, tuple[type[BaseModel], ...]], ...] = (
    (marked("Training"), (TrainingSpec,)),
    (marked("Feature extraction"), (Features,)),
    *((task.info.title, (task,)) for task in TASKS.values()),
    (marked("From scratch"), (FromScratch, *(family.spec for family in FAMILIES.values()))),
    (marked("Hardware"), (HardwareSpec,)),
    (marked("Several values"), (SearchSpec,)),
    (marked("Data set"), (Reading, Mapping, Split)),
)
OWNERS = frozenset(spec for _, specs in SECTIONS for spec in specs)


@dataclass(frozen=True)
class Concept:
    """One page. `line` is the explanation in one line, `text` is markdown without the title."""

    key: str
    line: str
    title: str
    text: str


def concept(key: str) -> Concept:
    """A page in the user's language.

    Raises FileNotFoundError or KeyError for a key without a page, which is a bug.
    """
    if key.startswith(SETTING):
        return _setting(*_setting_pages()[key])
    if key.startswith(METRIC):
        return _metrics()[key]
    page = _parse(key, translated_page(_page(key)))
    lists = {"settings": _list_of_settings, "metrics": _list_of_metrics}
    if key not in lists:
        return page
    before, heading, source = page.text.rpartition("## ")  # the last section names the sources
    text = f"{before}{lists[key]()}\n\n{heading}{source}"
    return Concept(key, page.line, page.title, text)


@cache
def _page(key: str) -> str:
    return (resources() / "help" / f"{key}.md").read_text(encoding="utf-8")


def concepts() -> tuple[Concept, ...]:
    """Pages of concepts: the first page, then by title."""
    keys = (file.stem for file in (resources() / "help").glob("*.md"))
    pages = (concept(key) for key in keys)
    return tuple(sorted(pages, key=lambda c: (c.key != FIRST, c.title.casefold())))


def topics() -> tuple[Concept, ...]:
    """All pages: concepts, settings (each once) and metrics."""
    pages = [_setting(*setting) for setting in _setting_pages().values()]
    settings = {(page.title, page.line): page for page in reversed(pages)}
    return (*concepts(), *reversed(settings.values()), *_metrics().values())


def find_pages(typed: str) -> list[Concept]:
    """Pages that contain every typed word: the page with this title, concepts whose title or line
    has the words, settings and metrics that have them, then pages whose text has them."""
    words = typed.casefold().split()
    ranked = [(_rank(words, page), index, page) for index, page in enumerate(topics())]
    return [page for rank, _, page in sorted(ranked, key=lambda item: item[:2]) if rank < NO_MATCH]


def _rank(words: list[str], page: Concept) -> int:
    title, line, text = (part.casefold() for part in (page.title, page.line, page.text))
    typed = " ".join(words)
    if title == typed:
        return 0
    ranks = STUB_RANKS if page.key.startswith((SETTING, METRIC)) else CONCEPT_RANKS
    if title.startswith(typed):
        return ranks[0]
    texts = (title, f"{title} {line}", f"{title} {line} {text}")
    found = (n for n, part in enumerate(texts, 1) if all(word in part for word in words))
    return next((ranks[n] for n in found), NO_MATCH)


def _parse(key: str, page: str) -> Concept:
    line, _, rest = page.partition("\n")
    title, _, text = rest.strip().partition("\n")
    return Concept(key, line.strip(), title.removeprefix("#").strip(), text.strip())


# ── settings ─────────────────────────────────────────────────────────────────────────────────


def setting_key(spec: type[BaseModel], name: str) -> str:
    """Key of the page of a setting, which the spec may inherit."""
    owner = next((base for base in spec.__mro__ if base in OWNERS), spec)
    return f"{SETTING}{owner.__name__}.{name}"


@cache
def _setting_pages() -> dict[str, tuple[str, type[BaseModel], str, FieldInfo]]:
    """Section, spec and field of each page, untranslated."""
    return {
        setting_key(spec, name): (section, spec, name, info)
        for section, specs in SECTIONS
        for spec in specs
        for name, info in get_settings(spec).items()
    }


def _setting(section: str, spec: type[BaseModel], name: str, info: FieldInfo) -> Concept:
    facts = [(tr("Section"), in_language(section)), (tr("In files"), f"`{name}`")]
    if not info.is_required() and info.default is not None:
        facts.append((tr("Default"), _value(info.get_default(call_default_factory=True))))
    if ticks := get_ticks(info):
        facts.append((tr("Usual values"), ", ".join(map(number_text, ticks))))
    if get_origin(info.annotation) is Literal:
        facts.append((tr("Choices"), ", ".join(map(_value, get_args(info.annotation)))))
    lines = "\n".join(f"- **{title}:** {value}" for title, value in facts)
    more = tr("All settings: [Training settings](settings.md)")
    return Concept(
        setting_key(spec, name), help_of(info), title_of(name, info), f"{lines}\n\n{more}"
    )


def _value(value: object) -> str:
    return escape(value_text(value)) if value not in ((), {}, "") else tr("none")


def _list_of_settings() -> str:
    """Every setting as a link to its page, by section; shared settings once."""
    parts, seen = [], set[tuple[str, str]]()
    for section, specs in SECTIONS:
        links = []
        for spec in specs:
            for name, info in get_settings(spec).items():
                title, line = title_of(name, info), help_of(info)
                if (title, line) not in seen:
                    seen.add((title, line))
                    links.append(f"[{escape(title)}]({setting_key(spec, name)})")
        if links:
            parts.append(f"**{in_language(section)}**: {' · '.join(links)}")
    return "\n\n".join([f"## {tr('All settings')}", *parts])


# ── metrics ──────────────────────────────────────────────────────────────────────────────────


def _all_metrics() -> Iterator[Metric]:
    metrics = (metric for task in TASKS.values() for metric in task.info.metrics)
    return iter({metric.name: metric for metric in metrics}.values())


def _metrics() -> dict[str, Concept]:
    return {f"{METRIC}{metric.name}": _metric(metric) for metric in _all_metrics()}


def _metric(metric: Metric) -> Concept:
    tasks = [task.info for task in TASKS.values() if metric in task.info.metrics]
    facts = [
        (tr("Tasks"), ", ".join(in_language(kind.title) for kind in tasks)),
        (tr("Better"), tr("higher") if metric.higher_is_better else tr("lower")),
        (tr("In files"), f"`{metric.name}`"),
    ]
    lines = "\n".join(f"- **{title}:** {value}" for title, value in facts)
    more = tr("All metrics: [Metrics](metrics.md)")
    title = in_language(metric.title)
    return Concept(
        f"{METRIC}{metric.name}",
        in_language(metric.description),
        title[:1].upper() + title[1:],
        f"{lines}\n\n{more}",
    )


def _list_of_metrics() -> str:
    """The metrics of each task; the first selects the best checkpoint."""
    parts = []
    for task in TASKS.values():
        metrics = sorted(task.info.metrics, key=lambda m: m.name != task.info.best_metric)
        links = [f"[{escape(in_language(m.title))}]({METRIC}{m.name})" for m in metrics]
        parts.append(f"**{in_language(task.info.title)}**: {' · '.join(links)}")
    return "\n\n".join([f"## {tr('By task')}", *parts])


def escape(text: str) -> str:
    """Escape text for markdown."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#" else letter for letter in text)
