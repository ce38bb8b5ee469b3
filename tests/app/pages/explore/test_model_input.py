"""Two inputs: one text through two models, or a pinned text next to the typed one."""

import pytest

from app.library import ModelEntry, describe_model
from app.pages.explore.captions import source
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import TextInput
from app.pages.explore.panel import Panel
from engine.messages.explore.fill_mask import FillMask
from engine.models.heads import Heads
from tests.app.pages.explore.conftest import make_model

OTHER_WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "c", "##at", "sat")


@pytest.fixture
def other(home) -> ModelEntry:
    """A model that splits “cat” in two."""
    path = make_model(home.models / "other", Heads(mlm=True), OTHER_WORDS)
    return describe_model("other", path, "imported")


def fill(side):
    return side.checkpoint and FillMask(
        checkpoint=side.checkpoint, text=side.text, pair=side.pair, masked=side.masked
    )


def test_a_second_model_splits_the_same_text_differently(explore, other, wait):
    explore.toggle_mask(2)
    explore.compare(other)
    wait(lambda: explore.is_settled)
    first, second = explore.sides
    assert [t.text for t in first.tokens] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert [t.text for t in second.tokens] == ["[CLS]", "the", "c", "##at", "sat", "[SEP]"]
    assert (first.masked, second.masked) == ((2,), (2, 3))
    counterparts = [second.counterpart(token) for token in first.tokens]
    assert counterparts == [0, 1, 3, 4, 5]  # “cat” maps to “##at”, the longer piece
    assert second.counterpart(second.tokens[2].model_copy(update={"segment": 1})) == -1
    explore.unmask_all()
    settled = []
    explore.settled.connect(lambda: settled.append([side.text for side in explore.sides]))
    explore.set_texts("the sat")
    wait(lambda: explore.is_settled)
    assert settled == [["the sat", "the sat"]]
    explore.toggle_mask(1)
    assert [side.masked for side in explore.sides] == [(1,), (1,)]
    assert len(settled) == 2
    explore.compare(None)
    assert not explore.is_compared
    assert len(explore.sides) == 1


def test_a_pinned_input_stays_while_the_first_is_edited(explore, wait):
    pinned = TextInput("a dog", None, (frozenset({(2, 5)}), frozenset()))
    explore.compare(explore.first.model, pinned)
    wait(lambda: explore.is_settled)
    explore.set_texts("the cat")
    explore.unmask_all()
    wait(lambda: explore.is_settled)
    assert [side.text for side in explore.sides] == ["the cat", "a dog"]
    assert [side.masked for side in explore.sides] == [(), (2,)]
    explore.compare(explore.first.model, None)
    wait(lambda: explore.is_settled)
    assert explore.second.text == "the cat"


def test_an_unreadable_side_is_reported_and_the_first_still_works(explore, home, wait):
    problems = []
    explore.problem_changed.connect(problems.append)
    (home.models / "broken").mkdir()
    explore.compare(describe_model("broken", home.models / "broken", "imported"))
    wait(lambda: problems)
    assert explore.is_settled
    assert problems[-1].endswith(".")
    explore.compare(None)
    assert problems[-1] == ""


def test_each_side_is_queried_separately(explore, other, explorer, wait):
    first, second = LiveQuery(explore, explorer, fill), LiveQuery(explore, explorer, fill, side=1)
    panel = Panel((first, second))
    panel.set_active(True)
    assert [question.side for question in explorer.questions] == [0]
    explore.compare(other)
    wait(lambda: explore.is_settled)
    assert [question.side for question in explorer.questions] == [0, 1], "not the first again"
    explore.toggle_mask(2)
    assert [question.masked for question in explorer.questions[2:]] == [(2,), (2, 3)]
    answers = [explorer.fill(question, "x") for question in explorer.questions[2:]]
    assert (first.answer, second.answer) == tuple(answers)
    explore.compare(None)
    assert first.answer is answers[0]
    assert second.answer is None


def test_all_panels_share_a_selection_and_captions_name_sources(explore, wait):
    changes = []
    explore.head_changed.connect(lambda layer, head: changes.append((layer, head)))
    explore.target_changed.connect(changes.append)
    explore.pick_head(2, 1)
    explore.pick_head(2, 1)
    explore.pick_target(3)
    assert changes == [(2, 1), 3]
    explore.pick(3)
    explore.set_texts("the")
    wait(lambda: explore.is_settled)
    assert (explore.picked, explore.target) == (-1, -1)
    explore.set_texts("the %s <b>cat</b> " + "sat " * 200)
    wait(lambda: explore.is_settled)
    explore.toggle_mask(1)
    text = source(explore)
    assert "Model: tiny." in text
    assert "the %s <b>cat</b>" in text
    assert "Masked: “the”." in text
    assert "Truncated to the first 32 tokens." in text
    assert len(text) < 600
