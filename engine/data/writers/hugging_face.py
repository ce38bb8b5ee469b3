"""The folder of `save_to_disk` of the `datasets` library, with a part for each split.

Read by `load_from_disk`. The rows are Arrow streams; features are named as all versions read them:
“Sequence” instead of the “List” of version 4.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from engine.data.writers.export import Export
from engine.data.writers.writer import Writer
from engine.phrases import phrase

DATA = "data-00000-of-00001.arrow"


def _write(folder: Path, export: Export) -> None:
    for split, part in export.splits.items():
        target = folder / split
        target.mkdir()
        _write_split(target, part.without_split(), split)
    _write_json(folder / "dataset_dict.json", {"splits": [*export.splits]})


def _write_split(folder: Path, export: Export, split: str) -> None:
    schema, tables = export.table(nested=True)
    features = {field.name: _feature(field.type) for field in schema}
    info = json.dumps({"info": {"features": features}})
    with (
        pa.OSFile(str(folder / DATA), "wb") as file,
        pa.ipc.new_stream(file, schema.with_metadata({"huggingface": info})) as out,
    ):
        for table in tables:
            out.write_table(table)
    description = {"citation": "", "description": "", "homepage": "", "license": ""}
    _write_json(folder / "dataset_info.json", description | {"features": features})
    state: dict[str, Any] = {
        "_data_files": [{"filename": DATA}],
        "_fingerprint": export.spec.fingerprint[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": split,
    }
    _write_json(folder / "state.json", state)


def _feature(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind.fields}
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        return [_feature(kind.value_type)]  # a “Sequence” of objects would be an object of lists
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "Sequence"}
    dtype = "float64" if pa.types.is_float64(kind) else str(kind)
    return {"dtype": dtype, "_type": "Value"}


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2), encoding="utf-8")


HUGGING_FACE = Writer(
    "hf",
    "Hugging Face",
    phrase("The folder of datasets.load_from_disk, with a part for each split."),
    "",
    _write,
)
