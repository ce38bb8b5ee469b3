"""Pages in a language whose texts are bracketed and longer: none is untranslated or truncated.

Five scenes, and with --long every scene of `tools.pictures` and every dialog.
"""

import csv
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from app.pages.explore.panels.difference.view import MAX_CELL, MAX_LABEL
from app.pages.explore.panels.templates.state import FILLERS, TARGETS, TEMPLATES
from app.pages.explore.view import EXAMPLE
from app.pages.runs import questions
from app.pages.runs.run.checkpoints_tab import ask_to_branch
from app.pages.train.estimate import EstimateState
from app.results.rows_model import format_value as format_cell
from app.running import RunningRun
from app.sample import sample_entry
from app.window import MainWindow, ask_to_close
from engine.cores import cpu_and_cores
from engine.data.formats import FORMATS
from engine.files.atomic_write import write_file
from engine.files.home import Home, free_folder
from engine.files.shipped import included_models, sample_data, starter_model, tiny_model
from engine.hub.shelf import SHELF
from engine.phrases import Phrase
from engine.record.rebuild import rebuild
from engine.results.masked_tokens import TEXT as CONTEXT
from engine.results.predictions import CELL, read_predictions
from engine.results.store import baselines_question
from engine.runs.folder import RunFolder
from engine.system.precision import MEASUREMENTS
from engine.tasks.scoring import fit_baselines
from engine.visible import shorten
from engine.worker.train import main as train
from tests.app.pages.train.test_review_step import ESTIMATED
from tests.app.pseudo import Pseudo, cut_off_texts, find_untranslated, visible_texts
from tests.conftest import LONG
from tools import pictures
from tools.pictures import (
    FAILED,
    FINISHED,
    FIRST,
    LIVE,
    RANDOM,
    SCENES,
    SECOND,
    STATES,
    STOPPED,
    TEXT,
    WORDS,
    Stage,
    list_runs,
    settle,
    tab_of_run,
)

pytestmark = pytest.mark.first  # all scenes share one home with runs
SIZE = (1280, 800)
STEPS = 2  # of each run
QUIET = 200  # ms; longer than the typing pause, after which requests start
NAMES = (  # the same in every language
    *("BERT Studio", "BERT", "RoBERTa", "DistilBERT", "ALBERT", "LoRA", "AdamW", "GELU", "ReLU"),
    *("Hugging Face", "ONNX", "PyTorch", "CUDA", "Ctrl", "JSONL"),
    *(form.title for form in FORMATS.values() if not isinstance(form.title, Phrase)),
    *(name for entry in SHELF for name in (entry.name, entry.title, entry.licence)),
    *("Scroll Left", "Scroll Right"),  # buttons of Qt, which brings its own translations
    *("WordPiece", "SHA-256", "GFLOP/s", "CPU", "GPU", "UTF-8", "utf-8", "fp32", "bf16", "fp16"),
    *("[MASK]", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "Apache-2.0", "BSD-3-Clause", "LGPL-3.0"),
    *("MIT", "GiB"),
)
USER_TEXTS = (  # texts of the user and of the sample
    *(FINISHED, STOPPED, FAILED, LIVE, EXAMPLE, TEXT, WORDS, FIRST, SECOND),
    *("topics", "topics.csv", "reviews", "unbelievable", "people", "Starter", "MiniLM", "Tiny"),
    *("step-", *RANDOM, *STATES, *TEMPLATES, *FILLERS, *TARGETS),
)
MACHINE = (  # this machine and its libraries
    *("cpu", "cuda", "AVX512", "AVX2", "torch", "tokenizers", "numpy", "float16", "float32"),
    cpu_and_cores(),
)
MONTHS = "|".join(re.escape(QLocale().standaloneMonthName(n, QLocale.FormatType.ShortFormat))
                  for n in range(1, 13))  # fmt: skip
ENCODINGS = ("utf-16", "latin-1", "shift_jis", "big5")
PATTERNS = (  # paths, versions, checksums, and quoted names and texts of the user
    r"(?:/[\w.-]+)+/?",
    r"[\w-]+:? \d+(?:\.\d+)+\S*",
    r"\b[0-9a-f]{8,}\b",
    r"“[^”⟦⟧]*”",
    r": (?:text|topic|article)\b",
    rf"\b\d{{1,2}} (?:{MONTHS})\b",  # of a run that started before midnight
)
with sample_data().open(encoding="utf-8", newline="") as sample:
    ROWS = list(csv.DictReader(sample))
TOPICS = {row["topic"] for row in ROWS}
NOT_TRANSLATED = sorted((*USER_TEXTS, *NAMES, *MACHINE, *ENCODINGS, *TOPICS), key=len, reverse=True)
KNOWN = re.compile("|".join((*PATTERNS, *(rf"(?<!\w){re.escape(n)}" for n in NOT_TRANSLATED))))


@cache
def user_texts() -> frozenset[str]:
    """Texts of the user: cells of the sample, and tokens of the models."""
    texts = [cell for row in ROWS for cell in row.values()]
    cells = {" ".join(cell.split()) for text in texts for cell in (text, text[:MAX_CELL])}
    vocabularies = [folder / "vocab.txt" for folder in included_models().values()]
    tokens = [token for file in vocabularies for token in file.read_text("utf-8").split("\n")]
    cells |= {shorten(topic, MAX_LABEL) for topic in TOPICS}
    return frozenset({*cells, *tokens, *(token.removeprefix("##") for token in tokens)})


def contexts(home: Home) -> frozenset[str]:
    """Texts around masked tokens in the list of results, and the tokens of trained vocabularies."""
    files = home.runs.glob("*/results/*.parquet")
    predictions = [p for p in map(read_predictions, files) if p.info.task == "pretraining"]
    cells = {format_cell(cell, CELL + CONTEXT) for p in predictions for cell in p.cells(CONTEXT)}
    for file in home.runs.glob("*/checkpoints/*/vocab.txt"):
        cells |= {token.removeprefix("##") for token in file.read_text("utf-8").split("\n")}
    return frozenset(" ".join(cell.split()) for cell in cells)


@pytest.fixture(autouse=True)
def no_leaked_processes() -> None:
    """Disabled: the window and its workers live until the end of this module."""


@pytest.fixture(scope="module")
def trained(measurements: bytes) -> Iterator[Home]:
    """A home with a run of each outcome, with a path too short to wrap."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        home = Home(Path(folder) / "home")
        home.make()
        write_file(home.cache / MEASUREMENTS, measurements)
        patch.setenv("BERT_STUDIO_HOME", str(home.root))
        patch.setattr(pictures, "QUIET", QUIET)
        names = set() if os.environ.get(LONG) else {FINISHED, FAILED}  # only long scenes use others
        for name, job in pictures.jobs(home, tiny_model()).items():
            if names and name not in names:
                continue
            training = job.training.model_copy(update={"steps": STEPS})
            job = job.model_copy(update={"training": training})
            run = RunFolder.create(free_folder(home.runs, name), job)
            if train(run.path) == 0 and name == FINISHED:
                labels = read_predictions(run.results / "validation.parquet").info.labels
                fit_baselines(baselines_question(run, "validation", labels))
        rebuild(home)
        yield home


@pytest.fixture(scope="module")
def stage(trained: Home, qapp: QApplication, no_preloading: None) -> Iterator[Stage]:
    patch = pytest.MonkeyPatch()
    if not os.environ.get(LONG):
        patch.setattr(EstimateState, "measure", show_estimate)
    pseudo = Pseudo()
    qapp.installTranslator(pseudo)
    studio = pictures.open_studio(trained, qapp)
    studio.settings.set("ask_on_close", False)
    studio.settings.set("stand_by", False)
    window = MainWindow(studio)
    window.resize(*SIZE)
    window.show()
    window.begin()
    settle()
    yield Stage(window, trained, list_runs(studio))
    window.close()
    studio.close()
    qapp.removeTranslator(pseudo)
    patch.undo()


def show_estimate(state: EstimateState) -> None:
    """Replaces a measurement, whose process takes 7 s."""
    if state._key() not in state._estimates:
        state._estimates[state._key()] = ESTIMATED
        state.changed.emit()


def dataset_question(stage: Stage) -> None:
    page: Any = stage.show("data", sample_entry(stage.home).folder)
    page._on_delete()


def model_page(act: Callable[[Any], object]) -> Callable[[Stage], object]:
    """An action on the page of an imported model, which has more of them than the starter."""

    def arrange(stage: Stage) -> None:
        folder = stage.home.models / "mine"
        if not folder.exists():
            shutil.copytree(starter_model(), folder)
        page: Any = stage.show("models", folder)
        act(page)

    return arrange


def model_tab(tab: int) -> Callable[[Stage], object]:
    def arrange(stage: Stage) -> None:
        page: Any = stage.show("models", starter_model())
        page.model.tabs.setCurrentIndex(tab)

    return arrange


def refused_import(stage: Stage) -> None:
    folder = stage.home.root / "nothing"
    folder.mkdir(exist_ok=True)
    page: Any = stage.show("models")
    page.import_from(folder)
    pictures.until(lambda: page.state.problem is not None, 60, "a refusal")


def ask_about_run(question: Callable[..., object]) -> Callable[[Stage], object]:
    def arrange(stage: Stage) -> None:
        page: Any = stage.show("runs")
        row = next(row for row in page.state.rows.values() if row.name == FINISHED)
        question(page, page.state, [row])

    return arrange


def branch_question(stage: Stage) -> None:
    page: Any = SCENES["run-checkpoints"](stage) or stage.window.pages["runs"]
    tab = page.run.checkpoints
    pictures.until(lambda: tab._state.run.row is not None, 30, "the checkpoints")
    ask_to_branch(tab, tab._state, STEPS)


def close_question(stage: Stage) -> None:
    stage.show("home")
    running = RunningRun(id="a", name=FINISHED, state="running", step=1, steps=2)
    queued = replace(running, id="b", state="queued")
    ask_to_close(stage.window, stage.window.studio.settings, [running, queued], print)


EXTRA_SCENES: dict[str, Callable[[Stage], object]] = {
    "run-log": tab_of_run(FINISHED, "log"),
    "run-failed-log": tab_of_run(FAILED, "log"),
    "run-details": tab_of_run(FINISHED, "details"),
    "run-rename": ask_about_run(questions.ask_name),
    "run-notes": ask_about_run(questions.ask_notes),
    "run-tags": ask_about_run(questions.ask_tags),
    "run-export": ask_about_run(questions.ask_export),
    "run-delete": ask_about_run(questions.ask_delete),
    "run-branch": branch_question,
    "model-vocabulary": model_tab(1),
    "model-tokenizer": model_tab(2),
    "model-card": model_tab(3),
    "model-delete": model_page(lambda page: page._on_delete()),
    "model-export": model_page(lambda page: page.model.export.click()),
    "model-import-refused": refused_import,
    "data-delete": dataset_question,
    "help": lambda stage: stage.window.show_help("attention"),
    "close": close_question,
    "licences": lambda stage: stage.show("settings").about.licences.click(),  # type: ignore[attr-defined]
}
ALL_SCENES = SCENES | EXTRA_SCENES
QUICK = ("train-settings", "run-results", "run-failed", "explore-attention")


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in ALL_SCENES],
)
def test_every_text_of_a_scene_is_translated_and_not_cut_off(stage, name):
    ALL_SCENES[name](stage)
    settle()
    top = _topmost(stage.window)
    try:
        missed = find_untranslated(visible_texts(top), KNOWN, user_texts() | contexts(stage.home))
        cut = [f"{text.position}: {text.text[:80]}" for text in cut_off_texts(top)]
    finally:
        if top is not stage.window:
            top.close()
    texts = [*(f"not translated: {text}" for text in missed), *(f"cut off: {text}" for text in cut)]
    assert not texts, "\n".join(texts)


def _topmost(window: MainWindow) -> QWidget:
    """The open menu or dialog, or the window."""
    dialogs = (w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog))
    open_dialogs = (dialog for dialog in dialogs if dialog.isVisible())
    return QApplication.activePopupWidget() or next(open_dialogs, None) or window
