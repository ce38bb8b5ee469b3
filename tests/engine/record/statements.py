"""A fixture: each SQL statement is compiled once for all records."""

from collections.abc import Iterator
from functools import partial

import pytest
from sqlalchemy import create_engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from engine.record import checking, opening


@pytest.fixture(scope="session", autouse=True)
def shared_statements() -> Iterator[None]:
    """Compile each statement once, not again for the record of each test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SQLiteDialect_pysqlite, "__hash__", lambda dialect: 0)
        patch.setattr(SQLiteDialect_pysqlite, "__eq__", lambda dialect, other: True)
        for module in (checking, opening):
            shared = partial(create_engine, execution_options={"compiled_cache": {}})
            patch.setattr(module, "create_engine", shared)
        yield
