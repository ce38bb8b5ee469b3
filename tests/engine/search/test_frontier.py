"""The search for smaller models tries every shape once, the promising ones first."""

from itertools import product

from engine.messages.shrinking import ShrinkPoint, Shrunk
from engine.search.frontier import FIRST, Tried, next_shape

DIMENSIONS = ((2, 3, 4, 6), (768, 1536, 3072), (64,))


def search(trials: int, score) -> list[Tried]:
    tried: list[Tried] = []
    for _ in range(trials):
        shape = next_shape(DIMENSIONS, tried, seed=0)
        if shape is None:
            break
        tried.append(Tried(shape, cost=float(shape[0] * (shape[1] + 1000)), score=score(shape)))
    return tried


def test_every_shape_is_tried_once_and_the_first_are_spread():
    tried = [item.shape for item in search(100, lambda shape: 0.0)]
    assert sorted(tried) == sorted(product(*DIMENSIONS))
    first = tried[:FIRST]
    assert len({shape[0] for shape in first}) == FIRST
    assert tried == [item.shape for item in search(100, lambda shape: 0.0)]  # no hidden state


def test_shapes_that_pay_are_tried_before_others():
    """If the intermediate size costs without any gain, most draws leave it small."""
    tried = search(9, lambda shape: shape[0] / 6)
    later = [item.shape[1] for item in tried[FIRST:]]
    assert later.count(768) >= later.count(3072)


def test_the_frontier_has_no_point_that_another_beats():
    points = tuple(
        ShrinkPoint(
            name=f"{n}",
            checkpoint="/x",
            layers=1,
            hidden_size=8,
            intermediate_size=8,
            vocabulary=8,
            parameters=1,
            bytes=cost,
            max_length=8,
            milliseconds=cost,
            times=1,
            slowest=1,
            fastest=1,
            score=score,
            low=0,
            high=1,
        )
        for n, (cost, score) in enumerate([(4, 0.9), (2, 0.8), (3, 0.7), (2, 0.75), (1, 0.5)])
    )
    shrunk = Shrunk(points=points, metric="accuracy", rows=9, done=4, trials=4)
    assert [point.name for point in shrunk.frontier()] == ["4", "1", "0"]
    for point in shrunk.frontier("bytes"):
        assert not any(p.bytes <= point.bytes and p.score > point.score for p in points)
    lower = shrunk.model_copy(update={"higher_is_better": False})
    assert [point.name for point in lower.frontier()] == ["4"]
