"""Entries of the command palette: pages and actions at once, names after they are read."""

from collections.abc import Callable, Sequence
from functools import partial

from app.palette import Command
from app.studio import Studio
from app.translation import tr
from app.widgets.help_topics import topics
from app.widgets.text import numbers
from engine.config.tasks import FIRST_TASK, PRETRAINING
from engine.record.runs import all_runs


def at_once(
    studio: Studio,
    pages: Sequence[tuple[str, str, str, str]],  # key, title, icon, shortcut
    quit_window: Callable[[], object],
    show_help: Callable[[str], object],
) -> list[Command]:
    """Pages of the window, global actions, and pages of help."""
    page, action = tr("Page"), tr("Action")
    go = studio.go.emit
    found = [Command(title, page, icon, partial(go, key, None), k) for key, title, icon, k in pages]
    there = {key for key, *_ in pages}
    actions: list[tuple[str, str, str, object]] = [
        ("train", tr("Fine-tune a model"), "graduation-cap", {"task": FIRST_TASK}),
        ("train", tr("Pre-train from text"), "book-open", {"task": PRETRAINING}),
        ("data", tr("Add a data set"), "file-plus", {"import": True}),
        ("models", tr("Import a model"), "import", {"import": True}),
        ("explore", tr("Predict with a model"), "microscope", {"panel": "predictions"}),
        ("explore", tr("Compare two models"), "columns-2", {"compare": True}),
    ]
    found += [
        Command(title, action, icon, partial(go, key, argument))
        for key, title, icon, argument in actions
        if key in there
    ]
    themes = [
        (tr("Light theme"), "sun", "light"),
        (tr("Dark theme"), "moon", "dark"),
        (tr("Follow system theme"), "sun-moon", "system"),
    ]
    found += [
        Command(title, action, icon, partial(studio.settings.set, "theme", theme))
        for title, icon, theme in themes
    ]
    found.append(Command(tr("Quit"), action, "x", quit_window, "Ctrl+Q"))
    found += [
        Command(
            each.title, tr("Help"), "circle-question-mark", partial(show_help, each.key), each.line
        )
        for each in topics()
    ]
    return found


def by_name(studio: Studio) -> list[Command]:
    """Runs, data sets and models; reads files and the record, so call it outside the GUI thread."""
    go = studio.go.emit
    with studio.record.read() as session:
        runs = [(run.id, run.name, run.state) for run in all_runs(session)]
    found = [
        Command(name, tr("Run"), "activity", partial(go, "runs", {"run": run}), state)
        for run, name, state in runs
    ]
    found += [
        Command(
            data.name,
            tr("Data set"),
            "database",
            partial(go, "data", data.folder),
            tr("version {0}").format(data.version),
        )
        for data in studio.datasets()
    ]
    found += [
        Command(
            model.name,
            tr("Model"),
            "boxes",
            partial(go, "models", model.path),
            tr("step {0}").format(numbers.count(model.step)) if model.step else "",
        )
        for model in studio.models()
    ]
    return found
