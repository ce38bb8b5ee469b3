"""The benchmark of starts: its table and pauses."""

from benchmarks import starts


def test_a_row_has_medians_and_the_range_of_the_first_step():
    measured = [
        starts.Click(0.004, 0.5, done, 1.2, 3.0, held, 0.05)
        for done, held in ((0.9, 0.02), (1.0, 0.03), (1.4, 0.5))
    ]
    assert starts.summarize("base, fresh", measured) == (
        "| base, fresh | 4 | 0.50 | 1.00 (0.90 to 1.40) | 1.20 | 3.00 | 30 | 50 |"
    )


def test_the_longest_pause_is_between_two_beats():
    assert starts.longest([1.0, 1.25, 3.25, 3.5]) == 2.0
    assert starts.longest([1.0]) == 0
