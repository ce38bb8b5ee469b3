"""Tables with a yes/no column for each choice: the columns become one label."""

import re
from collections.abc import Iterator

from engine.data.columns.choices import named_endings
from engine.data.columns.label_sets import parse_flag
from engine.data.columns.names import plain_name
from engine.data.formats.rows import Content, Remarks, Row
from engine.data.formats.word_rows import look_ahead
from engine.phrases import join, phrase

FLAG = re.compile(r"(label|correct|iscorrect|gold|target|answerlabel)(\d{1,2}|[a-j])")
LABEL = "label"


def join_choice_labels(content: Content, remarks: Remarks) -> Content:
    """Join label1, label2, … next to as many choices to the letter of the correct one."""
    names = {plain_name(column): column for column in reversed(content.columns)}
    endings = named_endings(names)
    flags = [names[name] for name in names if FLAG.fullmatch(name) and names[name] not in endings]
    flags.sort(key=content.columns.index)
    if not endings or len(flags) != len(endings) or LABEL in content.columns:
        return content
    sample, content = look_ahead(content)
    indices = [content.columns.index(name) for name in flags]
    correct = [_correct(row, indices, flags) for row in sample]
    if None in correct or not any(len(found or ()) == 1 for found in correct):
        return content
    others = [n for n in range(len(content.columns)) if n not in indices]
    named = join(", ", [f"“{name[:60]}”" for name in flags])
    remarks.add_note(phrase("{columns} were read as one column, “label”.", columns=named))
    rows = content.rows or (Row(*row) for batch in content.batches or () for row in batch.rows())

    def joined() -> Iterator[Row]:
        for row in rows:
            found = _correct(row, indices, flags) or []
            if len(found) > 1:
                remark = phrase("Row with several correct choices, read without a label")
                remarks.count(remark, row.line)
            label = chr(ord("A") + found[0]) if len(found) == 1 else ""
            yield Row(row.line, (*(row.cells[n] for n in others), label))

    return Content((*(content.columns[n] for n in others), LABEL), joined())


def _correct(row: Row, indices: list[int], names: list[str]) -> list[int] | None:
    """Indices of the choices marked as correct; None if a cell is neither yes, no nor empty."""
    found = [parse_flag(row.cells[n] or "0", name) for n, name in zip(indices, names, strict=True)]
    return None if None in found else [n for n, flag in enumerate(found) if flag]
