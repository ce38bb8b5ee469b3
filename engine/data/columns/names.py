"""How column names are compared."""

import re


def plain_name(name: str) -> str:
    """A column name without case, spaces and signs, as lists of usual names have it."""
    return re.sub(r"[\W_]+", "", name.lower())
