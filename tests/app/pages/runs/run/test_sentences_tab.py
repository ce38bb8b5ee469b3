"""A pre-training shows how it fills the same sentences at each evaluation."""

from engine.config.tasks.pretraining import Pretraining
from engine.results.sentences import Filled, Guess, Sentence, append_filled
from engine.results.store import predictions_file
from engine.runs.folder import RunFolder
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import assert_distinct_keys
from tests.app.pages.runs.pages import open_run, read_run
from tests.engine.results.rows import masked_tokens
from tests.engine.runs import fake_worker


def filled(step: int, *guesses: str) -> Filled:
    chosen = tuple(Guess(token=token, probability=0.5 / n) for n, token in enumerate(guesses, 1))
    sentence = Sentence(before="the capital", after="France", truth="of", rank=step, guesses=chosen)
    return Filled(step=step, sentences=(sentence,) * 3)


def test_predictions_of_the_sentences_are_listed_by_step(make_page, make_run, studio, qtbot):
    page = make_page()
    job = fake_worker.job("words").model_copy(update={"task": Pretraining()})
    run = make_run("words", job=job, step=7, outcome="stopped")
    results = RunFolder(read_run(studio, run).folder).results
    masked_tokens().write(predictions_file(results, "validation"))
    view = open_run(page, run, qtbot)
    baseline = " · unigram baseline: accuracy 50.0 %"
    qtbot.waitUntil(lambda: view.header.status.full_text().endswith(baseline))
    tab = view.tabs.indexOf(view.sentences)
    assert view.tabs.isTabVisible(tab) and view.tabs.tabText(tab) == "Sentences o&ver time"
    view.tabs.setCurrentIndex(tab)
    shown = view.sentences.widget
    assert "after the first evaluation" in shown.note.text()
    append_filled(results, filled(5, "the", "a"))
    append_filled(results, filled(1200, "of"))
    qtbot.waitUntil(lambda: shown.model.rowCount() == 2)
    assert shown.sentences.text().startswith("1: the capital […] France – of\n2: ")
    cells = [[shown.model.index(row, column).data() for column in (0, 3)] for row in (0, 1)]
    assert cells == [
        ["1,200", "of 50.0 % · original token: rank 1,200"],
        ["5", "the 50.0 %, a 25.0 % · original token: rank 5"],
    ]
    assert_accessible(shown)
    assert_distinct_keys(view)
    other = open_run(page, make_run("other"), qtbot)
    assert not other.tabs.isTabVisible(other.tabs.indexOf(other.sentences))
