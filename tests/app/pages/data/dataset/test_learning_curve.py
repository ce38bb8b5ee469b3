"""The score over the number of labelled rows, from the runs on the versions of a data set."""

from app.pages.data.dataset.editing.learning_curve import read_scores
from engine.config.dataset import StoredData
from tests.app.pages.data.dataset.test_view import PATIENCE, open_view
from tests.app.pages.runs.conftest import make_run
from tests.engine.runs import fake_worker

__all__ = ["make_run"]


def test_scores_are_drawn_over_labelled_rows(qtbot, page, write, make_run):
    rows = [
        f"film {n},{('', 'good', 'bad')[n % 3]},{('', 'sad', 'dry')[n // 10]}" for n in range(30)
    ]
    view = open_view(qtbot, page, write("films.csv", "text,label,tone\n" + "\n".join(rows) + "\n"))
    qtbot.waitUntil(view.editing.keys.isVisible, timeout=PATIENCE)
    view.editing.state.set_label([0, 3, 6], "good")
    view.editing.state.save()
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "2", timeout=PATIENCE)
    films = page.dataset.state.folder.parent
    for name, version, step in (("one", "1", 5), ("two", "2", 20), ("half", "2", 10)):
        data = StoredData(folder=films / version)
        job = fake_worker.job(name).model_copy(update={"data": data})
        outcome = "stopped" if name == "half" else "finished"
        make_run(name, step=step, outcome=outcome, job=job)
    make_run("another data set")
    data = StoredData(folder=films / "2", target="tone")
    make_run("other", step=9, job=fake_worker.job("other").model_copy(update={"data": data}))
    scores = read_scores(page._studio.record, page._studio.datasets())
    assert [score.labelled_rows for score in scores] == [20, 23]
    (other,) = read_scores(page._studio.record, page._studio.datasets(), "tone")
    assert other.labelled_rows == 20, "of another column"
    assert len({score.metric for score in scores}) == 1
    page.show_list()
    page.open_dataset(films / "2")
    curve = page.dataset.editing.curve
    qtbot.waitUntil(curve.isVisible, timeout=PATIENCE)
    assert "with 20 labelled rows" in curve.summary.text()
    assert curve.chart.chart.series[0].x.tolist() == [20, 23]
    page.resize(1280, 800)
