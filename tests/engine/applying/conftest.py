"""A model of each task, made when a test asks for it first."""

from collections.abc import Callable

import pytest

from tests.engine.fine_tuned import FineTuned, fine_tuned


@pytest.fixture(scope="session")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], FineTuned]:
    """The model of a task by its kind; all tests of a session share it."""
    made: dict[str, FineTuned] = {}

    def give(kind: str) -> FineTuned:
        if kind not in made:
            made[kind] = fine_tuned(tmp_path_factory.mktemp(kind), kind)
        return made[kind]

    return give
