"""Times of many formats ascend; a date that may be read in two ways is refused."""

import numpy as np
import pytest

from engine.data.columns.times import parse_times
from engine.errors import StudioError

ASCENDING = (
    ["2019", "2020", "2021.5"],
    ["1585699200", "1585699260"],
    ["2024-02-29", "2024-03-01T00:00:00", "2024-03-01 10:00"],
    ["2024-02-29T23:30:00-02:00", "2024-03-01T02:00:00Z"],
    ["29.02.2024", "01.03.2024"],
    ["29.02.24 9:05", "01.03.24 7:00"],
    ["13/02/2024", "01/03/2024"],
    ["02/13/2024 11:59 PM", "03/01/2024 12:05 AM"],
    ["2024/02/29", "2024/03/01"],
    ["29 Feb 2024", "1 Mar 2024"],
    ["February 29, 2024", "March 1, 2024"],
    ["Mon Apr 06 22:19:45 2009", "Tue Apr 07 01:00:00 2009"],
    ["Mon Apr 06 22:19:45 +0000 2009", "Tue Apr 07 01:00:00 +0200 2009"],
    ["Mon Apr 06 22:19:45 UTC 2009", "Tue Apr 07 01:00:00 UTC 2009"],
    ["Thu, 29 Feb 2024 12:00:00 +0100", "Thu, 29 Feb 2024 12:00:00 +0000"],
    ["03/03/2024", "04/04/2024"],
    ["1 May 2024 11:00 AM", "1 May 2024 10:00 PM"],
)


@pytest.mark.parametrize("cells", ASCENDING, ids=lambda cells: cells[0])
def test_times_ascend(cells):
    assert (np.diff(parse_times([f" {cell} " for cell in cells])) > 0).all()


@pytest.mark.parametrize(
    "cells, problem",
    [
        (["03/04/2024", "05/04/2024"], "“03/04/2024” and all other dates"),
        (["2024-02-29", "yesterday"], "“yesterday” does not fit"),
        (["one", "two"], "“one” does not fit"),
        (["311223", "010124"], "“010124” does not fit"),
        (["1 May 2024 10:00 PM", "Wed, 1 May 2024 11:00 AM"], "“Wed, 1 May 2024 11:00 AM” does"),
        (["2024-02-29", "2024-02-30"], "“2024-02-30” does not fit"),
    ],
)
def test_unreadable_times_are_refused(cells, problem):
    with pytest.raises(StudioError, match=problem):
        parse_times(cells)
