"""What is made ahead comes in order, with its errors at their places."""

import threading

import pytest

from engine.data.packing.ahead import AHEAD, ahead


def test_all_comes_in_order_and_not_more_is_taken_than_is_wanted():
    taken: list[int] = []

    def items():
        for number in range(10):
            taken.append(number)
            yield number

    coming = ahead(lambda number: number * number, items())
    assert next(coming) == 0 and taken == list(range(AHEAD + 1))
    assert list(coming) == [number * number for number in range(1, 10)]


def test_the_next_is_made_while_one_is_used():
    made = threading.Event()
    coming = ahead(lambda number: made.set() if number else None, range(2))
    next(coming)
    assert made.wait(10)
    assert list(coming) == [None]


def test_an_error_comes_where_it_belongs():
    coming = ahead(lambda number: 1 // (2 - number), range(4))
    assert [next(coming), next(coming)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(coming)
