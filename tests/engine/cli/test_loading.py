"""Every command that loads a checkpoint reports its oddities."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.cli import main
from engine.models.heads import Heads
from tests.engine.models import small

SENTENCES = (
    "note: config.json asks for custom code (auto_map); it was ignored.",
    "note: 1 tensor of the file not used (vision.weight).",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with an unused tensor, and code that is not run."""
    model = small.folder(tmp_path_factory.mktemp("odd") / "model", Heads(mlm=True, outputs=3))
    tensors = load_file(model / "model.safetensors") | {"vision.weight": torch.zeros(2)}
    save_file(tensors, model / "model.safetensors", {"format": "pt"})
    config = json.loads((model / "config.json").read_text("utf-8")) | {"auto_map": {"x": "y"}}
    (model / "config.json").write_text(json.dumps(config), "utf-8")
    (model / "manifest.json").unlink(missing_ok=True)
    return model


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.csv"
    path.write_text(f"text,label\na b,{small.LABELS[0]}\nc d,{small.LABELS[1]}\n", "utf-8")
    return str(path)


def test_every_command_reports_ignored_parts_on_stderr(folder, rows, tmp_path, capsys, in_process):
    model = ["--model", str(folder)]
    for command in (
        ["fill", "a [MASK]", *model],
        ["attention", "a b", "--out", str(tmp_path / "a.npy"), *model],
        ["predict", rows, "--out", str(tmp_path / "said.csv"), *model],
        ["evaluate", rows, *model],
        ["export", str(folder), "--to", str(tmp_path / "exported")],
    ):
        assert main(command) == 0, command
        printed = capsys.readouterr()
        for sentence in SENTENCES:
            assert sentence in printed.err, command
            assert sentence not in printed.out


def test_json_lists_the_ignored_parts(folder, rows, capsys):
    model = ["--model", str(folder), "--json"]
    for command in (["fill", "a [MASK]", *model], ["evaluate", rows, *model]):
        assert main(command) == 0
        loading = json.loads(capsys.readouterr().out)["loading"]
        assert loading == {
            "missing": [],
            "unexpected": ["vision.weight"],
            "notes": [SENTENCES[0].removeprefix("note: ")],
        }


def test_an_ordinary_checkpoint_gives_no_note(tmp_path, capsys):
    model = small.folder(tmp_path / "model", Heads(mlm=True, outputs=3))
    assert main(["fill", "a [MASK]", "--model", str(model)]) == 0
    assert "note:" not in capsys.readouterr().err
