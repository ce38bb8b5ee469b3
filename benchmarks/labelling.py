"""Labelling: when to rank again, how good the estimated gain is, and how soon the next row shows.

    python -m benchmarks labelling order ASSETS/datasets
    python -m benchmarks labelling gain ASSETS/datasets
    python -m benchmarks labelling keys

`order` labels rows of real data in the order of a light model that is fitted again after every so
many labels; printed is its accuracy on other rows. `gain` compares the estimated gain with that of
200 more random rows; printed are means, and how often the 95 % interval has the gain of these rows,
and the mean gain. `keys` presses label keys in a window with 100,000 rows.
"""

import statistics
from functools import partial
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.quality.label_errors import SETS, sample_rows

POOL, TESTED, FIRST = 2_000, 1_500, 20  # rows
STOPS = (100, 200, 300)  # labels
MORE = 200  # labels
NEXT_LIMIT, SUGGESTED_LIMIT = 50, 200  # ms


def main(arguments: list[str]) -> None:
    harness.run_part("labelling", __doc__, {"order": order, "gain": gain, "keys": keys}, arguments)


def _light_model(folder: Path, name: str, rows: int) -> tuple[Any, NDArray[np.int64]]:
    """The light model of the first rows of a set, and their classes."""
    from engine.evaluation.sentence_similarity import normalise
    from engine.files.shipped import minilm
    from engine.models import checkpoint
    from engine.results.light_model import LightModel
    from engine.tasks.similarity import sentence_vectors

    sample = sample_rows(SETS[name](folder / name), rows)
    texts, names = [text for text, _ in sample], sorted({label for _, label in sample})
    classes = np.array([names.index(label) for _, label in sample])
    vectors = normalise(sentence_vectors(checkpoint.load(minilm()), texts))
    return LightModel(texts, vectors, np.eye(len(names), dtype=bool)[classes]), classes


def order(arguments: list[str]) -> None:
    from engine.tasks.row_orders import margins

    options = _options("order", arguments, seeds=2)
    print(harness.table_head("data set", "ranked", *(f"{n} labels" for n in STOPS)))
    for name in options.sets:
        model, classes = _light_model(options.datasets, name, POOL + TESTED + FIRST)

        def accuracy(train: Any, test: Any, model: Any = model, classes: Any = classes) -> float:
            return float((model.predict(train, test).argmax(axis=1) == classes[test]).mean())

        for every in (0, 1_000, 50, 20, 10, 5):
            found = []
            for seed in range(options.seeds):
                rows = np.random.default_rng(seed).permutation(len(classes))
                test, left = rows[:TESTED], rows[TESTED:]
                known, left = left[: FIRST if every else STOPS[-1]], left[FIRST:]
                while every and len(known) < STOPS[-1]:
                    ranked = left[np.argsort(margins(model.predict(known, left)), kind="stable")]
                    known, left = np.append(known, ranked[:every]), ranked[every:]
                found.append([accuracy(known[:stop], test) for stop in STOPS])
            means = (f"{value:.3f}" for value in np.mean(found, axis=0))
            title = f"every {every}" if every else "at random"
            harness.print_row(name, "once" if every > STOPS[-1] else title, *means)


def gain(arguments: list[str]) -> None:
    from engine.results.gain import estimate_gain, learning_curve

    options = _options("gain", arguments, seeds=20)
    head = ("estimate", "true mean", "width", "has this gain", "has the mean")
    print(harness.table_head("data set", "labels", *head))
    for name in options.sets:
        model, classes = _light_model(options.datasets, name, 5_000)
        targets = np.eye(classes.max() + 1, dtype=bool)[classes]
        for count in (100, 300, 600):
            found = []
            for seed in range(options.seeds):
                rows = np.random.default_rng(seed).permutation(len(classes))
                test, pool = rows[:2_000], rows[2_000:]
                curve = learning_curve(model, pool[:count], targets[pool[:count]])
                names = [""] * targets.shape[1]
                estimated = estimate_gain(curve, MORE, targets[pool[:count]], names).gain
                p = [model.predict(pool[:n], test) for n in (count, count + MORE)]
                before, after = ((part.argmax(axis=1) == classes[test]).mean() for part in p)
                found.append((*estimated, after - before))
            value, low, high, true = np.array(found).T
            mean = true.mean()
            harness.print_row(
                *(name, count, f"{value.mean():.3f}", f"{mean:.3f}", f"{(high - low).mean():.3f}"),
                f"{((low <= true) & (true <= high)).mean():.2f}",
                f"{((low <= mean) & (mean <= high)).mean():.2f}",
            )


def _options(part: str, arguments: list[str], seeds: int) -> Any:
    parser = harness.parser(f"labelling {part}", __doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=["trec-qc", "subj"])
    parser.add_argument("--seeds", type=int, default=seeds)
    return parser.parse_args(arguments)


def keys(arguments: list[str]) -> None:
    parser = harness.parser("labelling keys", __doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--coded", type=int, default=300, help="keys pressed")
    options = parser.parse_args(arguments)
    with harness.work_folder() as work, harness.offscreen_window(work / "home") as opened:
        studio, window = opened
        folder = _store(studio.home.datasets / "answers", work, options.rows)
        studio.navigate.emit("data", folder)
        harness.wait_until(lambda: "data" in window.pages)
        page = window.pages["data"]
        harness.wait_until(lambda: page.dataset and page.dataset.editing.keys.isVisible())
        view = page.dataset
        harness.wait_until(lambda: view.model.index(0, 2).data() not in (None, "…"))
        _press(view, options.coded, f"next of {options.rows:,} rows", NEXT_LIMIT)
        _list_with_suggestions(view)
        _press(view, options.coded, "the same with suggestions", SUGGESTED_LIMIT)


def _store(folder: Path, work: Path, rows: int) -> Path:
    """Texts without labels, with a column to code."""
    from benchmarks.results import WORDS
    from engine.config.codebook import Code, Codebook
    from engine.config.dataset import Mapping, Split
    from engine.data.datasets.deriving import Edits, derive
    from engine.data.datasets.importing import import_dataset
    from engine.data.formats.reading import recognise

    rng, file = np.random.default_rng(0), work / "answers.csv"
    lines = [f"{' '.join(rng.choice(WORDS, 20))} {row}" for row in range(rows)]
    file.write_text("\n".join(["text", *lines]) + "\n", encoding="utf-8")
    mapping = Mapping(text="text")
    import_dataset(
        "answers", {"all": file}, recognise(file).reading, mapping, Split(), folder / "1"
    )
    book = Codebook(codes=tuple(Code(label=label) for label in ("price", "staff", "food")))
    derive(
        folder / "1", folder / "2", 2, edits=Edits(coded_column="topic", codebooks={"topic": book})
    )
    return folder / "2"


def _press(view: Any, count: int, title: str, limit: int) -> None:
    """Time from the press of a key until the next row is selected, read and painted."""
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    table, model = view.table, view.model
    column = model.find_section("text")
    view.window().activateWindow()
    QTest.qWaitForWindowActive(view.window())
    table.setFocus()
    harness.wait_until(table.hasFocus)
    times, busy, first = [], [], table.currentIndex().row()
    for number in range(count):
        began, before = perf_counter(), thread_time()
        QTest.keyClicks(table, "123"[number % 3])
        place = table.currentIndex().row()
        assert place == first + number + 1, "the next row is selected"
        harness.wait_until(partial(_is_read, model.index(place, column)))
        table.viewport().repaint()
        QApplication.processEvents()
        times.append(1_000 * (perf_counter() - began))
        busy.append(1_000 * (thread_time() - before))
    for kind, values in (("elapsed", times), ("CPU of the GUI thread", busy)):
        last = statistics.quantiles(values, n=100)[-1]
        figures = f"median {statistics.median(values):.1f} ms, 99 % {last:.1f}"
        print(f"{title}, {kind}: {figures} (limit {limit} ms)")


def _is_read(index: Any) -> bool:
    return bool(index.data() != "…")


def _list_with_suggestions(view: Any) -> None:
    """A list as if a model had answered; rankings while rows are labelled are answered, too."""
    from engine.messages.labelling import LabelsSuggested, Suggestion, SuggestLabels

    editing = view.editing
    rows = np.random.default_rng(1).permutation(editing.state.unlabelled())[:1_000].tolist()
    found = tuple(Suggestion(row=row, label="staff", probability=0.6) for row in rows)
    answer = LabelsSuggested(suggestions=found, rows=len(rows), learns=True)
    studio = view._studio

    def answered(question: Any, done: Any, *_: Any) -> Any:
        from PySide6.QtCore import QTimer

        if isinstance(question, SuggestLabels):
            QTimer.singleShot(0, lambda: done(answer))
        return _Worker()

    studio.one_time_worker = answered
    card = editing.card
    card.orders.setCurrentIndex(card.orders.findData("uncertain"))
    card.control.setChecked(True)
    card.suggest.click()
    harness.wait_until(lambda: editing.review.kind == "labels" and len(view.state.indices) > 0)
    harness.wait_until(lambda: view.model.index(0, 2).data() not in (None, "…"))
    view.table.selectRow(0)


class _Worker:
    def cancel(self) -> None:
        """Nothing runs."""
