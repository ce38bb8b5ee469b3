"""A page on a fresh home with a tiny model, and an explorer that answers on request."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QObject, Signal

from app import library
from app.library import ModelEntry, describe_model
from app.pages.explore.state import ExploreState
from app.pages.explore.view import ExplorePage
from app.studio import Studio
from engine.config.families.bert import BertSpec
from engine.files.home import Home
from engine.messages.explore.attention import ArrayFile, Attended
from engine.messages.explore.fill_mask import MaskFilled
from engine.messages.explore.text import LabelProbability, Prediction
from engine.messages.question import Answer, Question, Refused
from engine.models.checkpoint import write
from engine.models.heads import Heads
from engine.models.network import Network
from engine.tokenizers.tokenizer import Tokenizer
from engine.worker.answerers import answer
from engine.worker.context import WorkerContext
from tests.app.threads import FakeWorkers
from tests.engine.models.small import tokenizer

WORDS = (
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("the", "cat", "sat", "on", "mat", "a", "dog", "un", "##happy", "##s", ".", "&"),
    *("<", ">", "/", "b", "x", "%", "s", "ש", "##ל", "##ו", "##ם", "東", "京", "😀"),
)
SPEC = BertSpec(
    vocab_size=len(WORDS), hidden_size=16, layers=3, heads=2, intermediate_size=32, max_positions=32
)
PATIENCE = 30_000  # ms


def make_model(
    path: Path,
    heads: Heads,
    words: tuple[str, ...] = WORDS,
    labels: tuple[str, ...] = (),
    spec: BertSpec = SPEC,
) -> Path:
    """A checkpoint folder whose vocabulary has words of several scripts."""
    path.mkdir(parents=True)
    labels = labels or tuple(f"label {number}" for number in range(heads.outputs))
    write(path, Network(spec, heads), tokenizer(path, words), labels)
    return path


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models below, initialised once: copies take a hundredth of the time."""
    folder = tmp_path_factory.mktemp("checkpoints")
    make_model(folder / "tiny", Heads(mlm=True))
    make_model(folder / "zz-classes", Heads(outputs=3))
    return folder


@pytest.fixture
def model(home: Home, checkpoints: Path) -> Path:
    """A masked language model without other heads."""
    return Path(shutil.copytree(checkpoints / "tiny", home.models / "tiny"))


@pytest.fixture
def classifier(home: Home, checkpoints: Path) -> Path:
    """A model with three classes and no MLM head."""
    return Path(shutil.copytree(checkpoints / "zz-classes", home.models / "zz-classes"))


class FakeExplorer(QObject):
    """Records questions; a test answers."""

    answered = Signal(object)
    died = Signal(str)
    busy_changed = Signal(bool)

    def __init__(self, scratch: Path) -> None:
        super().__init__()
        self.scratch = scratch
        self.questions: list[Question] = []
        self.served = 0  # questions that a loop of the test has answered
        self.starts = 0
        self._context = WorkerContext(scratch, self.answered.emit)  # keeps models loaded

    def start(self) -> None:
        self.starts += 1

    def ask(self, question: Question) -> int:
        self.questions.append(question.model_copy(update={"number": len(self.questions) + 1}))
        return len(self.questions)

    def of_kind(self, kind: str) -> list[Any]:
        return [question for question in self.questions if question.kind == kind]

    def refuse(self, question: Question, problem: str) -> None:
        self.answered.emit(Refused(to=question.number, problem=problem, advice="Do this."))

    def compute(self, question: Any) -> Any:
        """Answer as the worker does; returns the last answer."""
        last = answer(question, self._context)
        self.answered.emit(last)
        return last

    def fill(self, question: Any, *labels: str, causal: bool = False) -> Answer:
        """Answer with `labels` at every mask; the actual token has 1 %."""
        model_tokenizer = Tokenizer.from_folder(question.checkpoint)
        tokens = model_tokenizer.encode(question.text, question.pair, 32).tokens
        masked = set(question.masked)
        positions = [n for n, t in enumerate(tokens) if t.id == model_tokenizer.mask or n in masked]
        ranked = tuple(
            LabelProbability(label=label, probability=0.5 / (n + 1))
            for n, label in enumerate(labels)
        )
        typed = [t.id == model_tokenizer.mask for t in tokens]

        def rank(n: int) -> int:
            if typed[n]:
                return 0
            return labels.index(tokens[n].text) + 1 if tokens[n].text in labels else 1_234

        actual = [LabelProbability(label=t.text, probability=0.01) for t in tokens]
        no_token = LabelProbability(label="", probability=0.01)
        filled = MaskFilled(
            to=question.number,
            tokens=tokens,
            predictions=tuple(Prediction(first=n, last=n, ranked=ranked) for n in positions),
            actual=tuple(no_token if typed[n] else actual[n] for n in positions),
            ranks=tuple(map(rank, positions)),
            requested=tuple(() for _ in positions),
            causal=causal,
        )
        self.answered.emit(filled)
        return filled

    def attend(self, question: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Answer with `weights`, or with random ones, as float32 [L, H, T, T]."""
        model_tokenizer = Tokenizer.from_folder(question.checkpoint)
        tokens = model_tokenizer.encode(question.text, question.pair, 32).tokens
        if weights is None:
            random = np.random.default_rng(question.number)
            weights = random.dirichlet(np.full(len(tokens), 0.3), (3, 2, len(tokens)))
        weights = weights.astype(np.float32)
        path = self.scratch / f"attention-{question.number}.npy"
        np.save(path, weights)
        file = ArrayFile(path=path, shape=weights.shape, dtype="float32")
        self.answered.emit(Attended(to=question.number, tokens=tokens, weights=file))
        return weights


@pytest.fixture
def workers(explorer: FakeExplorer) -> FakeWorkers:
    return FakeWorkers(explorer.scratch, explorer)


@pytest.fixture
def explorer(qtbot: Any, tmp_path: Path) -> FakeExplorer:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return FakeExplorer(scratch)


@pytest.fixture(autouse=True)
def _no_included_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test provides its own models."""
    monkeypatch.setattr(library, "included_models", dict)


@pytest.fixture
def workshop(
    studio: Studio, explorer: FakeExplorer, workers: FakeWorkers, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Studio]:
    """The studio with the explorer that answers on request."""
    original, studio.explorer = studio.explorer, explorer
    monkeypatch.setattr(studio, "one_time_worker", workers.start)
    yield studio
    studio.explorer = original


@pytest.fixture
def entry(model: Path) -> ModelEntry:
    return describe_model("tiny", model, "imported")


@pytest.fixture
def explore(qtbot: Any, entry: ModelEntry) -> ExploreState:
    """The state for “the cat sat”, settled."""
    state = ExploreState()
    state.choose_model(entry)
    state.set_texts("the cat sat")
    qtbot.waitUntil(lambda: state.is_settled, timeout=PATIENCE)
    return state


@pytest.fixture
def page(qtbot: Any, workshop: Studio) -> ExplorePage:
    """The page, before anything is opened."""
    page = ExplorePage(workshop)
    qtbot.addWidget(page)
    page.resize(1180, 720)
    page.show()
    return page


@pytest.fixture
def make_page(qtbot: Any, workshop: Studio, wait: Any) -> Callable[..., ExplorePage]:
    """`make_page(model, text)` opens a text with a model in the window."""

    def make(
        model: Path,
        text: str = "the cat",
        size: tuple[int, int] = (1000, 640),
        pair: str | None = None,
    ) -> ExplorePage:
        page = ExplorePage(workshop)
        qtbot.addWidget(page)
        page.resize(*size)
        page.show()
        page.arrive({"model": model, "text": text, "pair": pair})
        wait(lambda: page.state.is_settled and page.state.first.text == text)
        return page

    return make


@pytest.fixture
def wait(qtbot: Any) -> Callable[[Callable[[], Any]], None]:
    """`wait(condition)` until it holds."""
    return lambda condition: qtbot.waitUntil(lambda: bool(condition()), timeout=PATIENCE)
