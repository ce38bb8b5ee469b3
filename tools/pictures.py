"""Draw every page, light and dark, at 1x and 2x, into build/pictures.

    python3 dev.py pictures [--only NAME …] [--out FOLDER] [--home FOLDER] [--scale 1 --scale 2]
                               [--size 1280x800]

Uses the real window, offscreen, with real workers and a new home: the sample is imported,
one run has finished, one was stopped, one failed and one is training. That takes some minutes; with
`--home` the folder is kept and used again by the next call.

A picture is called PAGE-THEME.png, or PAGE-THEME@2x.png. The scenes of each page are in SCENES.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QElapsedTimer, QEvent, QEventLoop, QThreadPool
from PySide6.QtWidgets import QApplication, QWidget

from app import theme
from app.library import describe_model
from app.notices import Notices
from app.sample import sample_entry
from app.shell.opening import make_application
from app.studio import Studio
from app.window import MainWindow
from engine.config.dataset import StoredData
from engine.config.families.bert import bert
from engine.config.families.deberta import DebertaSpec
from engine.config.families.modernbert import ModernBertSpec
from engine.config.job import FromCheckpoint, FromScratch, JobSpec
from engine.config.model import EncoderSpec
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from engine.config.training import HardwareSpec, TrainingSpec
from engine.files.home import Home
from engine.files.shipped import FIRST_TRAINING, minilm, sample_data, starter_model
from engine.record.runs import Run, all_runs
from engine.runs import launch
from engine.runs.folder import RunFolder

REPOSITORY = Path(__file__).resolve().parents[1]
SIZE = "1280x800"
THEMES = ("light", "dark")
FINISHED, STOPPED, FAILED, LIVE = "Topics", "A slower rate", "Reviews", "Words of passages"
TEXT = "He was elected [MASK] of the United States in 1860."
PASSAGE = (  # for the classifier of topics
    "The first steam locomotives pulled coal from the mines to the ports; passengers followed when "
    "the rails reached the cities."
)
STATES = (  # a word with two meanings
    "The state of New York borders on Canada.",
    "The state of Texas is larger than France.",
    "The patient was in a state of shock.",
    "Water in a liquid state flows.",
)
WORDS = "The unbelievable president spoke to the [MASK] of the United States."
FIRST, SECOND = "The president spoke to the people.", "They listened to him for an hour."
VALIDATION_ROWS = 98  # of the sample
PSEUDO_PERPLEXITY = 3  # the part of the Words panel that is computed on request
MEASURING = 2  # the first step of the wizard that shows time and memory
DEBERTA, MODERNBERT = "DeBERTa (random weights)", "ModernBERT (random weights)"
SMALL: dict[str, Any] = {
    "hidden_size": 64,
    "layers": 4,
    "heads": 4,
    "intermediate_size": 128,
    "max_positions": 128,
    "initializer_range": 0.3,  # so that heads differ
}
RANDOM: dict[str, EncoderSpec] = {
    DEBERTA: DebertaSpec(**SMALL, absolute_positions=False, position_buckets=16),
    MODERNBERT: ModernBertSpec(**SMALL, window=8),
}
QUIET = 500  # ms without activity before a picture is taken
MAX_WAIT = 30_000  # ms after which it is taken anyway
MAX_LIVE_WAIT = 3_000  # ms after which threads are ignored, since a live run keeps them busy


# ── the scenes ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Stage:
    """Objects available to a scene."""

    window: MainWindow
    home: Home
    runs: dict[str, Run]  # by name

    def show(self, page: str, argument: object = None) -> QWidget:
        self.window.go(page, argument)
        settle()
        shown: Any = self.window.pages[page]
        if page == "explore":
            shown.bench.close_panel("history")  # another scene may have opened it
        return shown  # type: ignore[no-any-return]

    def best_checkpoint(self) -> Path:
        run = RunFolder(Path(self.runs[FINISHED].folder))
        return run.checkpoint_folders()[-1]


def data_import(stage: Stage) -> None:
    stage.window.go("data")
    stage.window.open_paths([sample_data()])


def wizard(step: int) -> Callable[[Stage], None]:
    def arrange(stage: Stage) -> None:
        page: Any = stage.show("train", {"preset": "first"})  # the review, which measures the job
        if step >= MEASURING:
            estimate = page.state.estimate
            is_done = lambda: estimate.result is not None or estimate.problem is not None  # noqa: E731
            until(is_done, 300, "the estimate of time and memory")
        page.bar.step_clicked.emit(step)
        settle()

    return arrange


def explore(panel: str, fine_tuned: bool = False) -> Callable[[Stage], None]:
    def arrange(stage: Stage) -> None:
        model, text = starter_model(), TEXT
        if fine_tuned:
            model, text = stage.best_checkpoint(), PASSAGE
        page = stage.show("explore", {"model": model, "text": text})
        explore = page.state  # type: ignore[attr-defined]
        until(
            lambda: explore.first.checkpoint == model and explore.is_settled,
            60,
            f"tokens of {model.name}",
        )
        page.bench.show_panel(panel)  # type: ignore[attr-defined]

    return arrange


def training_steps(stage: Stage) -> None:
    """A snapshot of a run, with the bar of its steps."""
    run = RunFolder(Path(stage.runs[LIVE].folder))
    best = run.best_step()  # kept while the run trains on
    model = run.checkpoint(best) if best is not None else run.checkpoint_folders()[-1]
    page: Any = stage.show("explore", {"model": model, "text": TEXT})
    until(
        lambda: page.state.first.checkpoint == model and page.state.is_settled, 60, "the checkpoint"
    )
    page.bench.show_panel("words")
    page.bench.docks["words"].panel.show_part(0)
    bar = page.training_bar
    until(bar.isVisible, 60, "the bar of the training")
    bar.state.show(len(bar.state.snapshots.folders) - 2)
    until(lambda: bar.state.is_at_snapshot and bar.state.is_answered, 60, "a snapshot")


def attributions(stage: Stage) -> None:
    """Integrated gradients of a prediction, with their faithfulness and some edits."""
    explore("attribution", fine_tuned=True)(stage)
    page: Any = stage.window.pages["explore"]
    view = page.bench.docks["attribution"].panel
    view.controls.method.setCurrentIndex(1)
    view.controls.method.activated.emit(1)
    page.state.pick(2)
    settle()
    view.faithfulness.run.click()
    view.edits.drop.click()
    view.edits.suggest.click()


def vectors(stage: Stage) -> None:
    """A word with two meanings, in four texts."""
    page: Any = stage.show("explore", {"model": starter_model(), "text": STATES[0]})
    until(lambda: page.state.first.text == STATES[0] and page.state.is_settled, 60, "tokens")
    page.bench.show_panel("vectors")
    page.bench.docks["vectors"].panel.word.setText("state")
    page.bench.docks["vectors"].panel.texts.setPlainText("\n".join(STATES[1:]))


def templates(stage: Stage) -> None:
    """The initial templates."""
    explore("templates")(stage)
    page: Any = stage.window.pages["explore"]
    until(lambda: page.bench.docks["templates"].panel._state.is_complete, 120, "the grid")


def pruning(stage: Stage) -> None:
    """Heads of the sample's classifier that can go."""
    over_texts("texts")(stage)
    page: Any = stage.window.pages["explore"]
    page.bench.show_panel("heads")
    heads = page.bench.docks["heads"].panel
    heads.method.setCurrentIndex(heads.method.findData("prune"))
    heads.method.activated.emit(heads.method.currentIndex())
    heads.bar.run.click()
    until(heads.bar.run.isVisible, 600, "the rounds")


def over_texts(panel: str) -> Callable[[Stage], None]:
    """A panel that works on the validation rows of the sample."""

    def arrange(stage: Stage) -> None:
        explore("texts", fine_tuned=True)(stage)
        page: Any = stage.window.pages["explore"]
        texts = page.bench.docks["texts"].panel
        until(lambda: texts.source.count() > 1, 60, "the data sets")
        texts.source.setCurrentIndex(1)
        texts.source.activated.emit(1)
        until(lambda: len(texts.rows.order) == VALIDATION_ROWS, 60, "the validation rows")
        other = None
        if panel == "difference":
            folder = RunFolder(Path(stage.runs[STOPPED].folder)).checkpoint_folders()[-1]
            other = describe_model(STOPPED, folder, "run")
        page.state.compare(other)
        page.bench.show_panel(panel)
        bar = page.bench.docks[panel].panel.bar
        until(bar.run.isEnabled, 60, f"the button of {panel}")
        bar.run.click()
        until(bar.run.isVisible, 600, f"the numbers of {panel}")

    return arrange


def runs_compared(stage: Stage) -> None:
    """The finished run next to the slower one that was stopped."""
    page: Any = stage.show("runs")
    rows = [page.state.rows[stage.runs[name].id] for name in (FINISHED, STOPPED)]
    page.compare(rows)


def tokens(stage: Stage) -> None:
    """A pair of texts with an unknown word and a masked one."""
    page: Any = stage.show("explore", {"model": starter_model(), "text": WORDS, "pair": SECOND})
    until(lambda: page.state.first.pair == SECOND and page.state.is_settled, 60, "tokens")
    page.bench.show_panel("tokens")
    page.state.pick(3)


def compare(stage: Stage) -> None:
    """Predictions of two models, next to the history of texts."""
    page: Any = stage.show("explore", {"model": starter_model(), "text": TEXT})
    until(lambda: page.state.first.text == TEXT and page.state.is_settled, 60, "tokens")
    page.bench.show_panel("words")
    page.bench.docks["words"].panel.show_part(0)
    folder = RunFolder(Path(stage.runs[LIVE].folder)).checkpoint_folders()[-1]
    page.state.compare(describe_model(LIVE, folder, "run"))
    until(lambda: page.state.second.is_tokenized, 60, "tokens of the second model")
    page.bench.show_panel("history")


def words(part: int) -> Callable[[Stage], None]:
    """A part of the Words panel, with a word of several tokens masked."""

    def arrange(stage: Stage) -> None:
        page: Any = stage.show("explore", {"model": starter_model(), "text": WORDS})
        until(lambda: page.state.first.text == WORDS and page.state.is_settled, 60, "tokens")
        page.bench.show_panel("words")
        start = WORDS.index("unbelievable")
        masked = next(
            n for n, t in enumerate(page.state.first.tokens) if t.start == start and t.end
        )
        if not page.state.first.is_masked(masked):
            page.state.toggle_mask(masked)
        panel = page.bench.docks["words"].panel
        panel.show_part(part)
        panel.candidates.typed.setText("great, new, young, unbelievable")
        panel.candidates.typed.returnPressed.emit()
        shown = panel.pseudo_perplexity if part == PSEUDO_PERPLEXITY else panel.candidates
        shown.run.click()
        settle()

    return arrange


def attention(measure: int = 0, form: int = 0) -> Callable[[Stage], None]:
    """Heads of a pair of texts; of the last form the query and key of two tokens."""

    def arrange(stage: Stage) -> None:
        page: Any = stage.show("explore", {"model": starter_model(), "text": FIRST, "pair": SECOND})
        until(lambda: page.state.first.pair == SECOND and page.state.is_settled, 60, "tokens")
        page.bench.show_panel("attention")
        page.bench.docks["attention"].panel.overview.measure.setCurrentIndex(measure)
        page.bench.docks["attention"].panel.show_form(form)
        settle()
        page.state.pick_head(1, 1)
        page.state.pick(2)
        page.state.pick_target(3)
        settle()

    return arrange


def family_form(name: str, form: int) -> Callable[[Stage], None]:
    """A form of the Attention panel with a small random model of another family."""

    def arrange(stage: Stage) -> None:
        model = random_model(stage.home, name)
        page: Any = stage.show("explore", {"model": model, "text": FIRST, "pair": SECOND})
        until(lambda: page.state.first.checkpoint == model and page.state.is_settled, 60, "tokens")
        page.bench.show_panel("attention")
        page.bench.docks["attention"].panel.show_form(form)
        settle()
        page.state.pick_head(1, 1)
        page.state.pick(2)
        page.state.pick_target(3)
        settle()

    return arrange


def palette(stage: Stage) -> None:
    stage.show("home")
    stage.window.open_palette()


def open_run(name: str) -> Callable[[Stage], object]:
    return lambda stage: stage.show("runs", {"run": stage.runs[name].id})


def tab_of_run(name: str, tab: str) -> Callable[[Stage], object]:
    def arrange(stage: Stage) -> None:
        view = stage.show("runs", {"run": stage.runs[name].id}).run  # type: ignore[attr-defined]
        view.tabs.setCurrentWidget(getattr(view, tab))
        settle()

    return arrange


def results(stage: Stage) -> None:
    """Score of the finished run with its baselines."""
    page: Any = stage.show("runs", {"run": stage.runs[FINISHED].id})
    page.run.tabs.setCurrentWidget(page.run.results)
    until(page.run.results.widget.baselines.isVisible, 60, "the results")
    line = page.run.results.widget.baselines
    if line.fit.isVisible():
        line.fit.click()
        until(line.verdict.isVisible, 120, "the baselines")


def trying(stage: Stage) -> None:
    """A text tried on the model of a run, with the words that decided."""
    page: Any = stage.show("runs", {"run": stage.runs[FINISHED].id})
    tab = page.run.use.widget
    page.run.tabs.setCurrentWidget(page.run.use)
    until(lambda: tab.try_view is not None, 60, "the model of the run")
    tab.try_view.text.setPlainText(PASSAGE)
    until(lambda: tab.try_view.words.shown, 60, "the words that decided")


SCENES: dict[str, Callable[[Stage], object]] = {
    "home": lambda stage: stage.show("home"),
    "data": lambda stage: stage.show("data"),
    "data-set": lambda stage: stage.show("data", sample_entry(stage.home).folder),
    "data-import": data_import,
    "models": lambda stage: stage.show("models"),
    "models-get": lambda stage: stage.show("models", {"get": ""}),
    "model": lambda stage: stage.show("models", starter_model()),
    "train-task": wizard(0),
    "train-data": wizard(1),
    "train-base-model": wizard(2),
    "train-settings": wizard(3),
    "train-review": wizard(4),
    "runs": lambda stage: stage.show("runs"),
    "runs-compare": runs_compared,
    "run-finished": tab_of_run(FINISHED, "charts"),
    "run-results": results,
    "run-checkpoints": tab_of_run(FINISHED, "checkpoints"),
    "run-use": trying,
    "run-batch": tab_of_run(STOPPED, "batch"),
    "run-reproducibility": tab_of_run(FINISHED, "reproducibility"),
    "run-machine": tab_of_run(FINISHED, "machine"),
    "run-live": open_run(LIVE),
    "run-rows": tab_of_run(LIVE, "rows"),
    "run-failed": open_run(FAILED),
    "explore-tokens": tokens,
    "explore-words": explore("words"),
    "explore-attention": explore("attention"),
    "explore-candidates": words(1),
    "explore-logit-lens": words(2),
    "explore-pseudo-perplexity": words(PSEUDO_PERPLEXITY),
    "explore-norms": attention(measure=1),
    "explore-query-key": attention(form=2),
    "explore-deberta": family_form(DEBERTA, 2),
    "explore-modernbert": family_form(MODERNBERT, 0),
    "explore-task-predictions": explore("predictions", fine_tuned=True),
    "explore-attributions": attributions,
    "explore-training-steps": training_steps,
    "explore-vectors": vectors,
    "explore-templates": templates,
    "explore-texts": over_texts("texts"),
    "explore-heads": over_texts("heads"),
    "explore-pruning": pruning,
    "explore-difference": over_texts("difference"),
    "explore-map": over_texts("map"),
    "explore-compare": compare,
    "help": lambda stage: stage.show("help", "settings"),
    "settings": lambda stage: stage.show("settings"),
    "palette": palette,
}


# ── waiting ──────────────────────────────────────────────────────────────────────────────────


def until(ready: Callable[[], bool], seconds: float, what: str) -> None:
    """Run the event loop until `ready`."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            sys.exit(f"not within {seconds:g} s: {what}")
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 50)
        time.sleep(0.05)  # `ready` may read the record


def settle() -> None:
    """Run the event loop until background work has been quiet for a while."""
    total, quiet = QElapsedTimer(), QElapsedTimer()
    total.start()
    quiet.start()
    while quiet.elapsed() < QUIET and total.elapsed() < MAX_WAIT:
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        reads = QThreadPool.globalInstance().activeThreadCount() > 0
        if _Explorer.computes or (reads and total.elapsed() < MAX_LIVE_WAIT):
            quiet.restart()
        time.sleep(0.005)
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)  # of the last turn


class _Explorer:
    """State of the explorer worker, as last reported."""

    computes = False

    @classmethod
    def on_event(cls, what: object) -> None:
        cls.computes = bool(what)


# ── the home ─────────────────────────────────────────────────────────────────────────────────


def open_studio(home: Home, app: QApplication) -> Studio:
    studio = Studio(home, Notices(app), app)
    studio.explorer.busy_changed.connect(_Explorer.on_event)
    return studio


def list_runs(studio: Studio) -> dict[str, Run]:
    with studio.record.read() as session:
        runs = {run.name: run for run in all_runs(session)}
        session.expunge_all()
    return runs


def jobs(home: Home, base: Path) -> dict[str, JobSpec]:
    """Jobs of the runs, in training order."""
    entry = sample_entry(home)
    assert entry.spec is not None
    sample = StoredData(folder=entry.folder, fingerprint=entry.spec.fingerprint)
    model = FromCheckpoint(path=base)
    first = TrainingSpec.model_validate({**FIRST_TRAINING, "learning_rate": 1e-4, "max_length": 80})
    missing = StoredData(folder=home.datasets / "reviews" / "1")
    fresh = FromScratch(model=bert(2, 128, vocabulary=4000))
    one_thread = HardwareSpec(threads=1)  # leaves the other cores to the window
    return {
        FINISHED: JobSpec(
            name=FINISHED,
            task=TextClassification(),
            base_model=model,
            data=sample,
            training=first,
        ),
        STOPPED: JobSpec(
            name=STOPPED,
            task=TextClassification(),
            base_model=model,
            data=sample,
            training=first.model_copy(update={"learning_rate": 2e-5, "epochs": 10.0}),
            hardware=one_thread,
        ),
        FAILED: JobSpec(
            name=FAILED, task=TextClassification(), base_model=model, data=missing, training=first
        ),
        LIVE: JobSpec(
            name=LIVE,
            task=Pretraining(),
            base_model=fresh,
            data=sample,
            training=TrainingSpec(
                steps=60_000,
                learning_rate=1e-3,
                max_length=64,
                evaluate_every=100,
                keep=40,  # keeps what a picture compares with
                snapshot_every=10_000,
            ),
            hardware=one_thread,
        ),
    }


def random_model(home: Home, name: str) -> Path:
    """A model of a family that is not included, with random weights; created once."""
    folder = home.cache / "pictures" / name
    if folder.exists():
        return folder
    import torch

    from engine.models.checkpoint import save
    from engine.models.heads import Heads
    from engine.models.network import Network
    from engine.tokenizers.tokenizer import Tokenizer

    tokenizer = Tokenizer.from_folder(starter_model())
    spec = RANDOM[name].model_copy(update={"vocab_size": tokenizer.size})
    torch.manual_seed(1)
    save(folder, Network(spec, Heads(mlm=True)), tokenizer)
    return folder


def prepare(home: Home, app: QApplication) -> None:
    """Train missing runs, and leave the live one training."""
    studio = open_studio(home, app)
    studio.dispatcher.begin()
    for name, job in jobs(home, minilm()).items():
        if name not in list_runs(studio):
            print(f"training “{name}”")
            studio.dispatcher.start(job)
        _reach_state(studio, name)
    studio.close()


def _reach_state(studio: Studio, name: str) -> None:
    """Bring a run into its state in the pictures."""

    def now() -> Run:
        return list_runs(studio)[name]

    run = now()
    if name == LIVE:
        if run.state in ("stopped", "crashed"):
            studio.dispatcher.resume(run.id)
        until(lambda: now().state == "running" and now().step >= run.step + 200, 1200, "a live run")
    elif name == STOPPED:
        until(lambda: now().step >= 40 or now().state == "stopped", 1200, "forty steps")
        if now().state == "running":
            studio.dispatcher.stop(run.id)
        until(lambda: now().state == "stopped", 120, "the stop")
    else:
        ended = ("finished", "failed")
        until(lambda: now().state in ended, 2400, f"the end of “{name}”")


# ── the pictures ─────────────────────────────────────────────────────────────────────────────


def take(home: Home, app: QApplication, out: Path, names: list[str], size: str) -> None:
    """Draw these scenes at the scale of this process; `size` is 1280x800, for example."""
    studio = open_studio(home, app)
    window = MainWindow(studio)
    window.resize(*map(int, size.split("x")))
    window.show()
    window.begin()
    settle()
    stage = Stage(window, home, list_runs(studio))
    ratio = window.devicePixelRatioF()
    for name in names:
        for theme_name in THEMES:
            theme.apply(app, theme_name)  # type: ignore[arg-type]
            SCENES[name](stage)
            settle()
            shown = app.activePopupWidget() or app.activeModalWidget() or window
            suffix = "" if ratio == 1 else f"@{ratio:g}x"
            path = out / f"{name}-{theme_name}{suffix}.png"
            if not shown.grab().save(str(path), "PNG", 0):
                sys.exit(f"{path} could not be written")
            print(path.name)
            if shown is not window:
                shown.close()
    window.close()
    studio.close()


def inner(home: Home, work: str, scale: str, *arguments: str) -> None:
    """Run one part in a separate process, since the scale is fixed when Qt starts."""
    settings = dict(os.environ, QT_SCALE_FACTOR=scale, BERT_STUDIO_HOME=str(home.root))
    settings.setdefault("QT_QPA_PLATFORM", "offscreen")
    command = [sys.executable, "-m", "tools.pictures", "--inner", work, "--home", str(home.root)]
    if code := subprocess.run([*command, *arguments], env=settings, cwd=REPOSITORY).returncode:
        sys.exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the pictures of every page.")
    parser.add_argument("--only", action="append", choices=SCENES, help="only this scene")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "pictures")
    parser.add_argument("--home", type=Path, help="a home folder that is kept")
    parser.add_argument("--scale", action="append", help="1 and 2 if none is given")
    parser.add_argument("--size", default=SIZE, help="of the window, as 1280x800")
    parser.add_argument("--inner", choices=("prepare", "take"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = options.only or list(SCENES)
    if options.inner:
        home, app = Home(options.home), make_application(sys.argv[:1])
        home.make()
        theme.apply(app, "light")
        if options.inner == "prepare":
            prepare(home, app)
        else:
            take(home, app, options.out, names, options.size)
        return
    with tempfile.TemporaryDirectory(prefix="bert-studio-pictures-") as temporary:
        home = Home(options.home or Path(temporary) / "home")
        inner(home, "prepare", "1")
        chosen = ["--size", options.size, *(word for name in names for word in ("--only", name))]
        try:
            for scale in options.scale or ["1", "2"]:
                inner(home, "take", scale, "--out", str(options.out.absolute()), *chosen)
        finally:
            for folder in home.runs.iterdir():
                launch.kill_worker(folder)


if __name__ == "__main__":
    main()
