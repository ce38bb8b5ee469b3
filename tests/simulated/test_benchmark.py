"""The training benchmark prints its table on a simulated GPU."""

import tempfile
from importlib.util import find_spec

import pytest

from benchmarks import synthetic
from benchmarks.training.compare import main
from tests.simulated.device import count_operations


@pytest.mark.long
@pytest.mark.parametrize(
    "row, precision", [("finetuning-base", "fp32"), ("pretraining-base", "fp16")]
)
def test_a_dry_run_ends_with_a_table(row, precision, tmp_path, monkeypatch, capsys):
    options = ["--device=cuda", "--dry", "--pairs=1", "--threads=1", f"--precision={precision}"]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(synthetic, "PIECES", 500)
    for name in ("BERT_STUDIO_HOME", "GOMP_SPINCOUNT", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "1")  # the sides set them; restored after the test
    with count_operations() as counts:
        main([*options, f"--rows={row}"])
    output = capsys.readouterr().out
    assert (
        output.startswith("Dry run, no figure counts. Simulated device") and f"### {row}" in output
    )
    assert "| BERT Studio | " in output and f"GFLOP/s in {precision}." in output
    assert ("| plain loop, fused AdamW, sdpa | " in output) == row.startswith("pretraining")
    assert counts.launches["_fused_adamw_"] > 1 and counts.products.total() > 10
    trainer = find_spec("accelerate") is not None and precision == "fp32"
    assert ("| Trainer" in output) == trainer and ("Left out" in output) != trainer
