"""The texts of the review: the summary, changes, warnings, the estimate, commands."""

import shlex
from dataclasses import replace
from pathlib import Path

from app.pages.train.choices import Data
from app.pages.train.estimate import disk_text, verdict
from app.pages.train.summary import command, list_advanced_changes, summary, warnings
from engine.config.dataset import FileData
from engine.config.tasks.pretraining import Pretraining
from engine.config.training import HardwareSpec
from engine.data.lengths import Lengths
from tests.app.pages.train.examples import (
    CONTINUE,
    GB,
    MODEL,
    PAIR,
    SCRATCH,
    SENTENCE,
    choose,
    data,
    dataset,
    estimate,
    with_training,
)


def test_the_summary_names_task_weights_and_duration_and_shows_names_literally():
    assert summary(choose(SENTENCE)) == (
        "Fine-tune “little” on “films” (2 label(s), all weights)."
        " 10 epoch(s) over 900 rows, batch size 32, learning rate 5e-4."
        " Validated on 100 rows; the best checkpoint is kept."
    )
    quick = choose(PAIR).with_quick_trial(True)
    assert "10 % of the training data (90 rows)" in summary(quick)
    steps = with_training(choose(CONTINUE), steps=70)
    assert "70 steps, batch size 32, learning rate 0.001." in summary(steps)
    assert "new BERT (small)" in summary(choose(SCRATCH))
    plain = replace(choose(SENTENCE), data=Data("a.csv", FileData(path=Path("a.csv"))))
    assert "The last checkpoint is kept." in summary(plain)
    for settings, text in [
        ({"lora_rank": 8}, "2 label(s), LoRA, rank 8)"),
        ({"frozen_layers": 3}, "2 label(s), lowest 3 layers frozen)"),
    ]:
        assert text in summary(with_training(choose(SENTENCE), **settings))
    hostile = "<b>{labels}</b>%n&amp;"
    choices = replace(choose(SENTENCE), data=replace(data(), name=hostile))
    assert hostile in summary(choices)


def test_the_command_can_be_pasted_into_a_shell():
    file = Path("films-little.json")
    assert command("train", file) == "bert-studio train films-little.json --into films-little"
    hostile = Path("$(rm -rf ~); `x` 'y'.json")
    words = ["bert-studio", "cluster", str(hostile), "--into", str(hostile.with_suffix(""))]
    assert shlex.split(command("cluster", hostile)) == words


def test_advanced_changes_are_listed_with_their_defaults():
    choices = choose(CONTINUE)
    assert list_advanced_changes(choices) == []
    simple = with_training(choices, batch_size=16, seed=1, train_fraction=0.1)
    assert list_advanced_changes(simple) == []
    changed = replace(
        with_training(choices, warmup_ratio=0.2),
        hardware=HardwareSpec(threads=1),
        tasks={"pretraining": Pretraining(mlm_probability=0.3)},
    )
    assert list_advanced_changes(changed) == [
        "Warm-up ratio 0.2 (default 0.1)",
        "CPU threads 1 (default 0)",
        "Masking probability 0.3 (default 0.15)",
    ]
    assert list_advanced_changes(replace(choose(SENTENCE), typical_length=48)) == []
    trial = choose(SENTENCE).with_quick_trial(True)
    assert trial.quick_trial and list_advanced_changes(trial) == []
    half = with_training(choose(SENTENCE), train_fraction=0.5)
    assert not half.quick_trial
    (change,) = list_advanced_changes(half)
    assert "0.5 (default 1)" in change


def test_only_doubtful_choices_cause_warnings():
    assert warnings(choose(SENTENCE), Lengths((10, 20)), estimate()) == []
    spec = dataset().model_copy(update={"rows": {"train": 9}, "labels": {"a": 3, "b": 900}})
    doubtful = replace(choose(SENTENCE), data=replace(data(), spec=spec))
    cautions = warnings(doubtful, Lengths((10, 500)), estimate(9 * GB, 1e6))
    texts = [caution.text for caution in cautions]
    mild = [caution.text.split()[0] for caution in cautions if not caution.is_serious]
    assert mild == ["Few", "This"], "remarks; one starts without a second thought"
    for word in ("no validation", "“a”", "50 %", "memory", "long time"):
        assert any(word in text for text in texts)
    assert "“b”" not in " ".join(texts)
    spec = dataset().model_copy(update={"rows": {"train": 90, "validation": 20}})
    (remark,) = warnings(replace(choose(SENTENCE), data=replace(data(), spec=spec)))
    assert not remark.is_serious and remark.text == (
        "20 validation row(s) with a label: if 80 % are correct, the 95 % interval is 58 % to "
        "92 %. Smaller differences between models are noise."
    )
    assert warnings(choose(CONTINUE)) == []
    bare = MODEL.info.model_copy(update={"task_heads": ("pooler",)})
    headless = replace(choose(CONTINUE), model=replace(MODEL, info=bare))
    (remark,) = warnings(headless)
    assert "no head" in remark.text and not remark.is_serious
    (few,) = warnings(choose(SENTENCE), Lengths((500, *[10] * 19)))
    assert "5 %" in few.text and not few.is_serious
    enough = estimate().model_copy(update={"checkpoint": GB, "checkpoints": 4, "disk_free": 4 * GB})
    assert not any("checkpoints" in text for text, _ in warnings(choose(SENTENCE), None, enough))
    scarce = enough.model_copy(update={"disk_free": 3 * GB})
    found = warnings(choose(SENTENCE), None, scarce)
    (text,) = [text for text, _ in found if "checkpoints" in text]
    assert "need up to 4.0 GB, but this disk has only 3.0 GB free" in text


def test_the_verdict_follows_the_free_memory():
    for gigabytes, word in [(1, "fits"), (7, "tight"), (9, "too large")]:
        assert verdict(estimate(gigabytes * GB)) == word


def test_disk_space_includes_checkpoints_snapshots_and_a_cache():
    fields = {"checkpoint": GB, "checkpoints": 4, "snapshot": GB // 4, "snapshots": 12}
    snapshots = estimate().model_copy(update=fields)
    text = "Needs up to 7.0 GB of disk (4 checkpoints of 1.0 GB, 12 snapshots of 250 MB)."
    assert disk_text(snapshots) == text
    assert "snapshots" not in disk_text(snapshots.model_copy(update={"snapshots": 0}))
    cached = {"checkpoint": GB, "checkpoints": 2, "cache": GB // 2}
    text = "Needs up to 2.5 GB of disk (2 checkpoints of 1.0 GB, a cache of 500 MB)."
    assert disk_text(estimate().model_copy(update=cached)) == text
