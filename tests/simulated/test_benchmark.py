"""The benchmark of training comes to its table on a GPU, as far as a simulated one can tell."""

import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.simulated.device import counted

FOLDER = Path(__file__).parents[2] / "benchmarks"
NAMES = {path.stem for path in (FOLDER / "peers").glob("*.py")} | {"training"}


@pytest.mark.parametrize(
    "row, precision", [("finetuning-base", "fp32"), ("pretraining-base", "fp16")]
)
def test_a_dry_run_ends_with_a_table(
    row: str,
    precision: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ("--device=cuda", "--dry", "--pairs=1", "--threads=1", f"--precision={precision}")
    monkeypatch.setattr(sys, "argv", ["training.py", *options, f"--rows={row}"])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("BERT_STUDIO_HOME", "GOMP_SPINCOUNT", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "1")  # the sides set them, and after the test they are as before
    for folder in (FOLDER / "peers", FOLDER):
        monkeypatch.syspath_prepend(folder)
    try:
        with counted() as counts:
            import_module("training").main()
    finally:
        for name in NAMES & set(sys.modules):
            del sys.modules[name]
    said = capsys.readouterr().out
    assert said.startswith("Dry run, no figure counts. Simulated device") and f"### {row}" in said
    assert "| BERT Studio | " in said and f"GFLOP/s in {precision}." in said
    assert ("| plain loop, fused AdamW, sdpa | " in said) == (row == "pretraining-base")
    assert counts.launches["_fused_adamw_"] > 1 and counts.products.total() > 10
    trainer = find_spec("accelerate") is not None and precision == "fp32"
    assert ("| Trainer" in said) == trainer and ("Left out" in said) != trainer
