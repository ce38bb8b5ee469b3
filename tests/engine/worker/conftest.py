"""The checkpoint that Explore's tests ask about."""

from tests.engine.explore.conftest import tiny, tiny_folder

__all__ = ["tiny", "tiny_folder"]
