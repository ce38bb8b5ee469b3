"""Work that is done in threads while its results are used."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # results that are made while one is used


def ahead(make: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`make` of each item, in their order; it pays where `make` gives up the interpreter's lock.

    `items` are taken in the caller's thread. What `make` raises is raised at its place.
    """
    coming: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(AHEAD) as threads:
        for item in items:
            coming.append(threads.submit(make, item))
            if len(coming) > AHEAD:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
