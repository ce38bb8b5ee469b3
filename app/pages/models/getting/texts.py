"""Texts about models that are not downloaded yet."""

from app.pages.models.getting.state import GettingState, MachineFacts
from app.pages.models.texts import family_title
from app.translation import tr, translated
from app.widgets.entries import Entry
from app.widgets.text import numbers
from app.widgets.text.labels import TextStyle
from engine.hub.cost import Verdict, verdict
from engine.hub.shelf import LANGUAGES, MAX_NAMED, ShelfEntry
from engine.messages.hub import Cost, HubModel

ICONS = {
    "english": "book-open",
    "multilingual": "text",
    "languages": "text",
    "fields": "graduation-cap",
    "sentences": "search",
}
Fact = tuple[str, str] | tuple[str, str, TextStyle]


def training_verdict(state: GettingState, entry: ShelfEntry) -> Verdict | None:
    """Verdict on fine-tuning the model here; None before the machine was read."""
    if state.machine is None:
        return None
    return verdict(state.estimate_cost(entry).training_bytes, state.machine.training_free)


def verdict_text(rating: Verdict | None) -> str:
    match rating:
        case None:
            return ""
        case "fits":
            return tr("fits")
        case "tight":
            return tr("tight")
        case "too large":
            return tr("too large to fine-tune")


def entry_card(state: GettingState, entry: ShelfEntry) -> Entry:
    """Card of a model on the shelf."""
    rating = training_verdict(state, entry)
    facts = [translated(entry.good_for), language_names(entry.languages)]
    return Entry(
        entry.name,
        entry.title,
        " · ".join(facts),
        ICONS[entry.group],
        figure=numbers.size(entry.bytes),
        unit=tr("{0} parameters").format(numbers.large_count(entry.parameters)),
        mark=verdict_text(rating),
        warns=rating in ("tight", "too large"),
    )


def result_card(model: HubModel) -> Entry:
    """Card of a search result."""
    facts = [family_title(model.family) if model.family else tr("unknown family")]
    facts.append(model.licence or tr("no licence named"))
    return Entry(
        model.name,
        model.name,
        " · ".join(facts),
        "box",
        figure=numbers.large_count(model.downloads),
        unit=tr("downloads a month"),
        mark=_result_mark(model),
        warns=not model.is_loadable,
    )


def _result_mark(model: HubModel) -> str:
    if not model.is_loadable:
        return tr("not supported")
    return tr("gated") if model.gated else tr("private") if model.private else ""


def language_names(codes: tuple[str, ...]) -> str:
    """Names of languages, or their number if there are many."""
    if "mul" in codes:
        return tr("many languages")
    if len(codes) > MAX_NAMED:
        return tr("%Ln language(s)", len(codes))
    return ", ".join(translated(LANGUAGES[code]) for code in codes)


def shelf_facts(state: GettingState, entry: ShelfEntry) -> list[Fact]:
    """Everything known about a model before its download."""
    return [
        (tr("Good for"), translated(entry.good_for)),
        (tr("Languages"), language_names(entry.languages)),
        (tr("Family"), family_title(entry.family)),
        (tr("Parameters"), numbers.large_count(entry.parameters)),
        (tr("Download"), tr("about {0}").format(numbers.size(entry.bytes))),
        (tr("Max. length"), tr("%Ln token(s)", entry.max_length)),
        (tr("Licence"), entry.licence),
        *cost_facts(state.machine, state.estimate_cost(entry)),
    ]


def cost_facts(machine: MachineFacts | None, cost: Cost) -> list[Fact]:
    """Memory and time that a model takes on this machine; empty before the machine was read."""
    facts: list[Fact] = []
    if machine is None:
        return facts
    on_gpu = tr("about {0} of memory, {1} free on {2}")
    on_processor = tr("about {0} of memory, {1} free")
    for name, needed, free, template in (
        (
            tr("Fine-tuning"),
            cost.training_bytes,
            machine.training_free,
            on_gpu if machine.gpu else on_processor,
        ),
        (tr("Exploring"), cost.exploring_bytes, machine.memory_free, on_processor),
    ):
        text = template.format(numbers.size(needed), numbers.size(free), machine.gpu)
        facts.append((name, text, "body" if verdict(needed, free) == "fits" else "warn"))
    if cost.seconds is not None:
        text = tr("about {0} on the CPU") if machine.gpu else tr("about {0}")
        facts.append((tr("1,000 short texts"), text.format(_time(cost.seconds))))
    return facts


def _time(seconds: float) -> str:
    return tr("a second") if seconds < 1.5 else numbers.duration(seconds)


def result_facts(model: HubModel) -> list[Fact]:
    """Everything known about a search result."""
    facts: list[Fact] = [
        (tr("Family"), family_title(model.family) if model.family else tr("unknown")),
        (tr("Licence"), model.licence or tr("not stated"), "body" if model.licence else "warn"),
        (tr("Downloads"), tr("{0} in the last month").format(numbers.count(model.downloads))),
    ]
    if model.gated:
        facts.append((tr("Access"), tr("gated: the owners ask who uses the model"), "warn"))
    if model.private:
        facts.append((tr("Access"), tr("private")))
    if not model.is_loadable:
        facts.append((tr("Note"), tr("BERT Studio does not support this family."), "warn"))
    return facts
