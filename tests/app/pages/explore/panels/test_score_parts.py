"""The parts of an attention score are named if relative positions add to it."""

from app.pages.explore.panels.attention.pair import score_text
from engine.messages.explore.attention import QueryKeyShown, ScorePart

ANSWER = QueryKeyShown(
    to=1,
    layer=0,
    head=0,
    query_token=0,
    key_token=1,
    query=(1.0, 2.0),
    key=(0.5, 0.25),
    products=(0.5, 0.5),
    score=1.75,
    scores=(0.25, 1.75, None),
    weight=0.8,
    parts=(
        ScorePart(term="content", value=1.0),
        ScorePart(term="content to position", value=0.5),
        ScorePart(term="position to content", value=0.25),
    ),
)


def test_the_parts_of_a_score_are_named_and_summed():
    text = score_text(ANSWER)
    positions = [text.index(n) for n in ("content–content", "content–position", "position–content")]
    assert positions == sorted(positions)
    assert "rank 1 of 2" in text and "products" not in text
    text = score_text(ANSWER.model_copy(update={"parts": ()}))
    assert text.startswith("The products sum to the attention score")
