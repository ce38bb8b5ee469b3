"""Rows come up in an order; each fifth one is from a random sample of all rows."""

from collections import Counter

from engine.data.datasets.drawing import draw_rows


def test_rows_come_up_in_their_order_with_their_chances():
    assert [draw[:4] for draw in draw_rows([4, 2, 9], "uncertain")] == [
        (row, "uncertain", 1.0, False) for row in (4, 2, 9)
    ]
    assert [draw.chance for draw in draw_rows([4, 2, 9], "random")] == [1 / 3, 1 / 2, 1]


def test_each_fifth_row_is_drawn_from_all_rows_and_those_met_before_belong_to_the_sample():
    counts, size = Counter[int](), Counter[int]()
    for seed in range(2_000):
        draws = draw_rows(range(10, 20), "uncertain", range(20), range(10), seed)
        assert sorted(draw.row for draw in draws) == list(range(10, 20))
        assert [draw.control for draw in draws] == [n % 5 == 4 for n in range(len(draws))]
        first = draws[4]
        assert (first.drawn, first.chance) == ("random", 1 / 6)
        assert {*first.also} <= {*range(10)} | {draw.row for draw in draws[:4]}
        sample = {first.row, *first.also}
        counts.update(sample)
        size[len(sample)] += 1
    # all rows are as likely, although the first four that come up are fixed
    expected = sum(n * times for n, times in size.items()) / 20
    assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values()), counts


def test_rows_outside_the_listed_ones_come_up_at_random_and_once():
    draws = draw_rows([1, 2, 3, 4, 5, 6, 7, 8], "likely", range(100), [0], 7)
    rows = [draw.row for draw in draws]
    assert len({*rows}) == len(rows) and {*range(1, 9)} <= {*rows} and 0 not in rows
    assert [draw.control for draw in draws[:5]] == [False] * 4 + [True]
