"""Templates of texts that are joined from several columns, such as “{subject}. {body}”.

The name of a joined column is its template.
"""

import re

SEPARATOR = "[SEP]"  # between the two texts of a pair
COLUMN = re.compile(r"\{([^{}]+)\}")


def template_columns(name: str) -> tuple[str, ...]:
    """The columns that a template joins; none if the name is no template."""
    return tuple(COLUMN.findall(name))


def split_texts(text: str) -> list[str]:
    """The columns or templates of the texts that [SEP] separates: one, or two of a pair.

    Each of two is a template, so that one of its cells may be empty: “{title}” for “title”.
    """
    parts = [part.strip() for part in text.split(SEPARATOR)]
    if len(parts) == 1:
        return parts
    return [f"{{{part}}}" if part and not COLUMN.search(part) else part for part in parts]


def source_columns(text: str) -> tuple[str, ...]:
    """The columns of a template or of a pair of texts; else the column itself."""
    return tuple(c for part in split_texts(text) for c in template_columns(part) or (part,))
