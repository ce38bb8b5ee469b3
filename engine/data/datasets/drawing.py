"""The order in which rows come up to be coded, and the chance with which each was drawn."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from engine.config.codebook import Drawn

CONTROL_EVERY = 5  # every fifth row is drawn at random for the control sample


class Draw(NamedTuple):
    """One row that comes up.

    `also` are rows that the random draw of a control row met first, and that had come up already:
    with them, the control sample is a simple random sample of all rows, in any order of the others.
    """

    row: int
    drawn: Drawn
    chance: float = 1.0
    control: bool = False
    also: tuple[int, ...] = ()


def draw_rows(
    order: Sequence[int],
    drawn: Drawn,
    pool: Collection[int] = (),
    labelled: Collection[int] = (),
    seed: int = 0,
) -> list[Draw]:
    """The rows to code, one after another, until all of `order` have come up.

    Args:
        order: rows without a label, the first to code first; shuffled if `drawn` at random.
        pool: all rows that are not in the control sample yet, with or without a label; each
            `CONTROL_EVERY`-th row is one of them at random. Empty: no control sample.
        labelled: rows of the pool that have a label already.
        seed: of the control sample.
    """
    rows, left, draws, seen = iter(order), {*order}, list[Draw](), {*labelled}
    shuffled = np.random.default_rng(seed).permutation(np.array(sorted(pool), dtype=np.int64))
    control, unseen = iter(shuffled.tolist()), {*pool} - seen

    def come_up(row: int, drawn: Drawn, chance: float, *met: int, control: bool = False) -> None:
        draws.append(Draw(row, drawn, chance, control, met))
        seen.add(row)
        left.discard(row)
        unseen.discard(row)

    while left:
        if len(draws) % CONTROL_EVERY == CONTROL_EVERY - 1 and unseen:
            met = list[int]()
            while (row := next(control)) in seen:
                met.append(row)
            come_up(row, "random", 1 / len(unseen), *met, control=True)
        else:
            row = next(row for row in rows if row in left)
            come_up(row, drawn, 1 / len(left) if drawn == "random" else 1.0)
    return draws
