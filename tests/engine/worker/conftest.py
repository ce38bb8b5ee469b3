"""The checkpoint of the tests of Explore."""

from tests.engine.explore.conftest import tiny, tiny_folder

__all__ = ["tiny", "tiny_folder"]
